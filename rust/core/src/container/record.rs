//! The output of every container: records, interfaces, texts.

use std::borrow::Cow;

use crate::error::Result;
use crate::notes::Notes;
use crate::phy::Radio;

/// One captured record, borrowed from the reader's buffer.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// Nanoseconds since 1970; None if the timestamp cannot be represented.
    pub time_ns: Option<i64>,
    /// Length on the wire according to the capture.
    pub wire_bytes: u32,
    /// The captured bytes.
    pub data: &'a [u8],
    /// LINKTYPE_ value of the interface (without the FCS bits).
    pub link_type: u16,
    /// Index of the interface over the whole file (pcapng sections counted on).
    pub interface: u32,
    /// Bytes of the check sequence at the end of the frame on the wire, according to the container;
    /// a snap length may have cut them off.
    pub fcs_bytes: Option<u8>,
    /// pcapng EPB flags: the packet was sent (true) or received (false).
    pub outgoing: Option<bool>,
    /// Offset of the record's header in the decompressed stream.
    pub offset: u64,
    /// The radio parameters of an 802.11 frame in the container.
    pub radio: Option<&'a Radio>,
}

/// A stream of records. Its memory is constant: one block buffer and the largest record.
pub trait RecordSource: Send {
    /// The next record, or None at the end. Once a record could be read, damage is noted and not an error.
    fn next_record<'a>(&'a mut self, notes: &mut Notes) -> Result<Option<Record<'a>>>;

    /// Format and compression.
    fn sniffed(&self) -> Sniffed;

    /// The interfaces so far (limited for display).
    fn interfaces(&self) -> Vec<Interface>;

    /// Texts of the file itself: hardware, operating system, application, comments (limited).
    fn texts(&self) -> Vec<(String, String)>;
}

/// The format recognised by the first bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sniffed {
    /// "pcap", "pcapng", "netxray" ...
    pub format: Cow<'static, str>,
    /// "gzip", "zstd", "lz4", or "" for none.
    pub compression: &'static str,
}

/// An interface of a capture file.
#[derive(Debug, Clone, Default)]
pub struct Interface {
    pub link_type: u16,
    pub name: Option<String>,
    pub description: Option<String>,
    pub snaplen: u32,
    /// Packets that the tap dropped, according to the file's statistics (pcapng ISB).
    pub dropped: Option<u64>,
}
