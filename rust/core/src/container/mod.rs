//! Containers: from a stream of bytes to records, for any supported file format and compression.

use std::io::Read;

use crate::error::{Error, ErrorKind, Result};
use crate::limits;

mod bytes;
mod compress;
mod framed;
mod magic;
mod netxray;
mod pcap;
mod pcapng;
mod record;
mod resync;
mod sniffer;
mod usbmon_text;

use bytes::{Bytes, Plain};
use compress::{Compression, Decompressed};
use netxray::NetXRaySource;
use pcap::PcapSource;
use pcapng::NgSource;
use sniffer::SnifferSource;
use usbmon_text::UsbmonText;

pub use record::{Interface, Record, RecordSource, Sniffed};

/// Recognise a capture by its first bytes, decompressed where needed; None: no known format.
///
/// `format` is "" when `head` is too short to show the content of the compression.
pub fn sniff(head: &[u8]) -> Option<Sniffed> {
    let Some(compression) = Compression::sniff(head) else {
        return sniff_plain(head, "");
    };
    let inner = compression.peek(head, limits::SNIFF_BYTES);
    let unseen = Sniffed { format: "", compression: compression.name(), readable: true };
    match inner.len() {
        0 => Some(unseen),
        _ => sniff_plain(&inner, compression.name()),
    }
}

fn sniff_plain(head: &[u8], compression: &'static str) -> Option<Sniffed> {
    if pcap::is_pcap(head) {
        return Some(Sniffed { format: "pcap", compression, readable: pcap::is_readable(head) });
    }
    if pcapng::is_section_header(head) {
        return Some(Sniffed { format: "pcapng", compression, readable: true });
    }
    if usbmon_text::is_usbmon_text(head) {
        return Some(Sniffed { format: "usbmon_text", compression, readable: true });
    }
    if netxray::is_netxray(head) {
        return Some(Sniffed { format: "netxray", compression, readable: netxray::is_readable(head) });
    }
    if sniffer::is_sniffer(head) {
        return Some(Sniffed { format: "sniffer", compression, readable: sniffer::is_readable(head) });
    }
    magic::foreign(head).map(|f| Sniffed { format: f.format, compression, readable: false })
}

/// Open a stream and recognise its format by content.
///
/// Errors: `UnknownFormat` and `UnsupportedFormat` by the first bytes, `CorruptCapture` for a damaged file
/// header, `Io` when nothing can be read. Later damage is noted by the source, never raised.
pub fn open(input: Box<dyn Read + Send>) -> Result<Box<dyn RecordSource>> {
    let mut bytes = Bytes::new(Box::new(Plain(input)));
    peek(&mut bytes)?;
    let Some(compression) = Compression::sniff(bytes.data()) else {
        return open_plain(bytes, "");
    };
    if let Some((what, next)) = compress::zstd_refusal(bytes.data()) {
        return Err(Error::new(ErrorKind::UnsupportedFormat, what).at(0).next(next));
    }
    let name = compression.name();
    let mut inner = Bytes::new(Box::new(Decompressed::start(compression, bytes)?));
    peek(&mut inner)?;
    if inner.available() == 0 {
        return Err(match inner.oddities().first() {
            Some(_) => Error::new(ErrorKind::CorruptCapture, format!("the {name} data is damaged at its start")),
            None => Error::new(ErrorKind::UnknownFormat, format!("the {name} file is empty")),
        });
    }
    open_plain(inner, name)
}

/// Read enough bytes to recognise the format, or all there are.
fn peek(bytes: &mut Bytes) -> Result<()> {
    // Do not wait longer for a slow pipe than the most common formats need.
    bytes.fill(pcap::FILE_HEADER);
    let head = bytes.data();
    if !pcap::is_pcap(head) && !pcapng::is_section_header(head) {
        bytes.fill(limits::SNIFF_BYTES);
    }
    if bytes.available() > 0 {
        // A failure after the first bytes is reported by the reader of the records.
        return Ok(());
    }
    bytes.take_failure().map_or(Ok(()), |e| Err(Error::from(e)))
}

fn open_plain(bytes: Bytes, compression: &'static str) -> Result<Box<dyn RecordSource>> {
    let head = bytes.data();
    if pcap::is_pcap(head) {
        Ok(Box::new(PcapSource::open(bytes, compression)?))
    } else if pcapng::is_section_header(head) {
        Ok(Box::new(NgSource::open(bytes, compression)?))
    } else if usbmon_text::is_usbmon_text(head) {
        Ok(Box::new(UsbmonText::open(bytes, compression)))
    } else if netxray::is_netxray(head) {
        Ok(Box::new(NetXRaySource::open(bytes, compression)?))
    } else if sniffer::is_sniffer(head) {
        Ok(Box::new(SnifferSource::open(bytes, compression)?))
    } else {
        magic::refuse(head, compression)
    }
}

#[cfg(test)]
mod build;
#[cfg(test)]
mod tests;
