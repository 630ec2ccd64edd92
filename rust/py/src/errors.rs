//! The only place where a Rust error becomes a Python exception.

use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use wlanlens_core::crypto::keys::BadKey;
use wlanlens_core::error::{Error, ErrorKind};

/// Raise the class of `wlanlens.errors` that fits; I/O errors stay `OSError` with their errno.
pub fn to_py(py: Python<'_>, e: Error) -> PyErr {
    if let Some(io) = e.io {
        return match io.raw_os_error() {
            Some(code) => PyOSError::new_err((code, io.to_string())),
            None => PyOSError::new_err(io.to_string()),
        };
    }
    let class = match e.kind {
        ErrorKind::UnknownFormat => "UnknownFormat",
        ErrorKind::UnsupportedFormat => "UnsupportedFormat",
        ErrorKind::UnsupportedLinkType => "UnsupportedLinkType",
        ErrorKind::CorruptCapture | ErrorKind::Io => "CorruptCapture",
    };
    raise(py, class, (e.what, e.offset, e.next))
}

/// Raise `BadKey`: the line, the fault, the correct form.
pub fn bad_key(py: Python<'_>, e: &BadKey) -> PyErr {
    raise(py, "BadKey", (e.line, e.what, e.form))
}

fn raise<'py>(py: Python<'py>, class: &str, arguments: impl PyCallArgs<'py>) -> PyErr {
    let made = py.import("wlanlens.errors").and_then(|m| m.getattr(class)).and_then(|c| c.call1(arguments));
    match made {
        Ok(instance) => PyErr::from_value(instance),
        Err(broken) => broken,
    }
}
