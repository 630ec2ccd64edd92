//! Containers: from a stream of bytes to records, whatever file format and compression carried them.

use std::borrow::Cow;
use std::io::Read;

use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::notes::Notes;
use crate::phy::Radio;

mod bytes;
mod compress;
mod framed;
mod handed;
mod input;
mod magic;
mod netxray;
mod pcap;
mod pcapng;
mod resync;
mod sniffer;
mod usbmon_text;

use compress::Compression;
pub use handed::{Batch, Handed, HandedSource, Supplier, Time};
pub use input::Input;
use netxray::NetXRaySource;
use pcap::PcapSource;
use pcapng::NgSource;
use sniffer::SnifferSource;
use usbmon_text::UsbmonText;

/// One captured record, borrowed from the reader's buffer.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// Nanoseconds since 1970; None when the stamp cannot be represented.
    pub time_ns: Option<i64>,
    /// Length on the wire as the capture claims it.
    pub wire_bytes: u32,
    /// The captured bytes.
    pub data: &'a [u8],
    /// LINKTYPE_ value of the interface (already stripped of the FCS bits).
    pub link_type: u16,
    /// Index of the interface over the whole file (pcapng sections counted on).
    pub interface: u32,
    /// The container says that so many bytes at the end of the frame on the wire are its check sequence;
    /// a snap length may have cut them off.
    pub fcs_bytes: Option<u8>,
    /// pcapng EPB flags: the packet went out (true) or came in (false).
    pub outgoing: Option<bool>,
    /// Offset of the record's header in the decompressed stream.
    pub offset: u64,
    /// What the container itself says of an 802.11 frame's reception.
    pub radio: Option<&'a Radio>,
}

/// A stream of records. Memory is flat: one block buffer and the largest record.
pub trait RecordSource: Send {
    /// The next record, or None at the end. Damage is noted, not raised, once a record could be read.
    fn next_record<'a>(&'a mut self, notes: &mut Notes) -> Result<Option<Record<'a>>>;

    /// Format and compression.
    fn sniffed(&self) -> Sniffed;

    /// The interfaces seen so far (capped for display).
    fn interfaces(&self) -> Vec<Interface>;

    /// Texts of the file itself: hardware, operating system, application, comments (capped).
    fn texts(&self) -> Vec<(String, String)>;
}

/// What was recognised in the first bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sniffed {
    /// "pcap", "pcapng", "netxray" ...
    pub format: Cow<'static, str>,
    /// "gzip", "zstd", "lz4", or "" for none.
    pub compression: &'static str,
    pub readable: bool,
}

/// Recognise a capture by its first bytes, decompressed where needed; None: no known format.
///
/// `format` is "" when `head` is too short to see what the compression holds.
pub fn sniff(head: &[u8]) -> Option<Sniffed> {
    let Some(compression) = Compression::sniff(head) else {
        return sniff_plain(head, "");
    };
    let inner = compression.peek(head, limits::SNIFF_BYTES);
    let unseen = Sniffed { format: "".into(), compression: compression.name(), readable: true };
    match inner.len() {
        0 => Some(unseen),
        _ => sniff_plain(&inner, compression.name()),
    }
}

fn sniff_plain(head: &[u8], compression: &'static str) -> Option<Sniffed> {
    if pcap::is_pcap(head) {
        return Some(Sniffed { format: "pcap".into(), compression, readable: pcap::is_readable(head) });
    }
    if pcapng::is_section_header(head) {
        return Some(Sniffed { format: "pcapng".into(), compression, readable: true });
    }
    if usbmon_text::is_usbmon_text(head) {
        return Some(Sniffed { format: "usbmon_text".into(), compression, readable: true });
    }
    if netxray::is_netxray(head) {
        return Some(Sniffed { format: "netxray".into(), compression, readable: netxray::is_readable(head) });
    }
    if sniffer::is_sniffer(head) {
        return Some(Sniffed { format: "sniffer".into(), compression, readable: sniffer::is_readable(head) });
    }
    magic::foreign(head).map(|f| Sniffed { format: f.format.into(), compression, readable: false })
}

/// An interface of a capture file.
#[derive(Debug, Clone, Default)]
pub struct Interface {
    pub link_type: u16,
    pub name: Option<String>,
    pub description: Option<String>,
    pub snaplen: u32,
    /// Packets that the tap dropped, as the file's statistics say (pcapng ISB).
    pub dropped: Option<u64>,
}

/// The formats that are read here, and how each is recognised.
const FORMATS: [(&str, fn(&[u8]) -> bool); 5] = [
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

/// Open a stream of unknown format, sniffed by content.
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

/// The error about an input of no format that is read; `formats` names those that are.
pub fn refuse(input: &Input, formats: &str) -> Error {
    magic::refuse(input.head(), input.compression(), formats)
}

#[cfg(test)]
mod build;
#[cfg(test)]
mod tests;
