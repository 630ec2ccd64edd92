//! Containers: from a stream of bytes to records, for any supported file format and compression.

use std::io::Read;

use crate::error::{Error, ErrorKind, Result};

mod bytes;
mod compress;
mod framed;
mod handed;
mod input;
mod magic;
mod netxray;
mod pcap;
mod pcapng;
mod record;
mod resync;
mod sniffer;
mod usbmon_text;

pub use handed::{Batch, Handed, HandedSource, Supplier, Time};
pub use input::Input;
use netxray::NetXRaySource;
use pcap::PcapSource;
use pcapng::NgSource;
use sniffer::SnifferSource;
use usbmon_text::UsbmonText;

pub use record::{Interface, Record, RecordSource, Sniffed};

/// Whether a file that begins with these bytes has the format.
type Recognises = fn(&[u8]) -> bool;

/// The formats that are read here, and how each is recognised.
const FORMATS: [(&str, Recognises); 5] = [
    ("pcap", pcap::is_pcap),
    ("pcapng", pcapng::is_section_header),
    ("usbmon_text", usbmon_text::is_usbmon_text),
    ("netxray", netxray::is_netxray),
    ("sniffer", sniffer::is_sniffer),
];

/// The format, of those that are read here, of a file that begins with `head`.
pub fn format_of(head: &[u8]) -> Option<&'static str> {
    FORMATS.iter().find(|(_, recognises)| recognises(head)).map(|f| f.0)
}

/// Open a stream and recognise its format by content.
///
/// Errors: `UnknownFormat` and `UnsupportedFormat` by the first bytes, `CorruptCapture` for a damaged file
/// header, `Io` when nothing can be read. Later damage is noted by the source, never raised.
pub fn open(stream: Box<dyn Read + Send>) -> Result<Box<dyn RecordSource>> {
    let input = Input::open(stream)?;
    match format_of(input.head()) {
        Some(format) => open_as(format, input),
        None => Err(refuse(&input, &FORMATS.map(|f| f.0).join(", "))),
    }
}

/// The records of an input in a format that is read here.
///
/// Errors: as those of `open`.
pub fn open_as(format: &str, input: Input) -> Result<Box<dyn RecordSource>> {
    let compression = input.compression();
    let bytes = input.into_bytes();
    Ok(match format {
        "pcap" => Box::new(PcapSource::open(bytes, compression)?),
        "pcapng" => Box::new(NgSource::open(bytes, compression)?),
        "usbmon_text" => Box::new(UsbmonText::open(bytes, compression)),
        "netxray" => Box::new(NetXRaySource::open(bytes, compression)?),
        "sniffer" => Box::new(SnifferSource::open(bytes, compression)?),
        _ => return Err(Error::new(ErrorKind::UnsupportedFormat, format!("no format {format:?} is read"))),
    })
}

/// The error for an input in a format that is not read; `formats` names those that are.
pub fn refuse(input: &Input, formats: &str) -> Error {
    magic::refuse(input.head(), input.compression(), formats)
}

#[cfg(test)]
mod build;
#[cfg(test)]
mod tests;
