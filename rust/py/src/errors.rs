//! The only place where a Rust error becomes a Python exception.

use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyMemoryError, PyOSError};
use pyo3::prelude::*;
use wlanlens_core::crypto::keys::BadKey;
use wlanlens_core::error::{Error, ErrorKind};

/// Raise the class of `wlanlens.errors` that fits; I/O errors stay `OSError` with their errno.
pub fn to_py(py: Python<'_>, e: Error) -> PyErr {
    if let Some(io) = e.io {
        if io.kind() == std::io::ErrorKind::OutOfMemory {
            return PyMemoryError::new_err(e.what);
        }
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

/// What a reader written in Python raised, as an error of the core. `format` names the reader.
pub fn of_reader(py: Python<'_>, format: &str, e: &PyErr) -> Error {
    let value = e.value(py);
    let text = |name: &str| value.getattr(name).and_then(|v| v.extract::<String>()).unwrap_or_default();
    let family = py.import("wlanlens.errors").and_then(|m| m.getattr("WlanlensError"));
    if family.and_then(|class| value.is_instance(&class)).unwrap_or(false) {
        let kind = match &*value.get_type().name().map_or_else(|_| String::new(), |name| name.to_string()) {
            "UnknownFormat" => ErrorKind::UnknownFormat,
            "UnsupportedFormat" => ErrorKind::UnsupportedFormat,
            "UnsupportedLinkType" => ErrorKind::UnsupportedLinkType,
            _ => ErrorKind::CorruptCapture,
        };
        let offset = value.getattr("offset").and_then(|v| v.extract::<Option<u64>>()).unwrap_or(None);
        return Error { offset, ..Error::new(kind, text("what")).next(text("next")) };
    }
    if e.is_instance_of::<PyOSError>(py) {
        if let Ok(code) = value.getattr("errno").and_then(|v| v.extract::<i32>()) {
            return Error::from(std::io::Error::from_raw_os_error(code));
        }
    }
    Error::new(ErrorKind::CorruptCapture, format!("the reader of {format} failed: {e}"))
}

fn raise<'py>(py: Python<'py>, class: &str, arguments: impl PyCallArgs<'py>) -> PyErr {
    let made = py.import("wlanlens.errors").and_then(|m| m.getattr(class)).and_then(|c| c.call1(arguments));
    match made {
        Ok(instance) => PyErr::from_value(instance),
        Err(broken) => broken,
    }
}
