//! The state shared by the decoders of one record: the packet they fill, its notes, the nesting depth.

use crate::container::Record;
use crate::frame::Carries;
use crate::limits;
use crate::notes::{NoteKind, Notes};
use crate::packet::{flags, Layer, Packet, Stop};
use crate::phy::Radio;

use super::sink::Sink;
use super::state::State;
use super::view::View;

/// Whether the decoders ended with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Found {
    /// `packet` is a row: an IP packet, or damage below IP.
    Row,
    /// A valid record of a protocol without rows, or one whose rows were already emitted.
    Other,
}

/// A decoder of a link type or of an EtherType.
pub(super) type LinkDecoder = for<'a> fn(&mut Decoder<'_>, View<'a>) -> Found;

pub(super) struct Decoder<'a> {
    pub packet: Packet,
    notes: &'a mut Notes,
    pub sink: &'a mut dyn Sink,
    pub state: &'a mut State,
    offset: u64,
    /// Interface of the capture file, over the whole file.
    pub interface: u32,
    /// Length of the frame check sequence according to the container.
    pub fcs_bytes: Option<u8>,
    /// The radio parameters in the container's record header.
    pub radio: Option<&'a Radio>,
    depth: u32,
    /// The frame is damaged, and no checksum has verified any part of it yet.
    pub unproven: bool,
    /// The kind of the packets emitted so far, if any.
    pub carries: Carries,
    /// The IP header's addresses are those of the transport checksum: no option changes them on the way.
    pub final_addresses: bool,
    /// The payload of an encrypted frame was decrypted.
    pub opened: bool,
    pub ip_packet: bool,
    /// The IP headers so far, this one included.
    pub ip_headers: u32,
}

impl<'a> Decoder<'a> {
    #[inline]
    pub fn new(
        record: &Record<'a>,
        number: u64,
        state: &'a mut State,
        notes: &'a mut Notes,
        sink: &'a mut dyn Sink,
    ) -> Self {
        let packet = Packet {
            number,
            time_ns: record.time_ns,
            wire_bytes: record.wire_bytes,
            captured_bytes: u32::try_from(record.data.len()).unwrap_or(u32::MAX),
            outgoing: record.outgoing,
            ..Packet::default()
        };
        Decoder {
            packet,
            notes,
            sink,
            state,
            offset: record.offset,
            interface: record.interface,
            fcs_bytes: record.fcs_bytes,
            radio: record.radio,
            depth: 0,
            unproven: false,
            final_addresses: false,
            carries: Carries::Unknown,
            opened: false,
            ip_packet: false,
            ip_headers: 0,
        }
    }

    /// Count an anomaly; those in an unverified damaged frame are ignored.
    pub fn note(&mut self, kind: NoteKind) {
        if self.unproven {
            return;
        }
        self.notes.add(kind, self.packet.number, self.offset);
    }

    /// Decoding ends or a length is wrong; the first reason is kept.
    pub fn stop(&mut self, stop: Stop, layer: Layer) {
        if self.packet.stop == Stop::None {
            self.packet.stop = stop;
            self.packet.stop_layer = layer;
        }
    }

    /// The row ends here.
    pub fn damaged(&mut self, stop: Stop, layer: Layer) -> Found {
        self.stop(stop, layer);
        Found::Row
    }

    /// No row, whatever the frame contains.
    pub fn other(&mut self) -> Found {
        (self.packet.stop, self.packet.stop_layer) = (Stop::None, Layer::None);
        Found::Other
    }

    /// Begin another packet of the same record.
    pub fn restart(&mut self, packet: Packet) {
        self.packet = packet;
        self.depth = 0;
        self.ip_headers = 0;
    }

    /// Enter a nested header: true when there are too many.
    pub fn too_deep(&mut self) -> bool {
        self.depth = self.depth.saturating_add(1);
        self.depth > limits::NESTED_HEADERS
    }

    /// Emit the row, if there is one. Damage below a protocol without rows has a row too.
    #[inline]
    pub fn finish(&mut self, found: Found) {
        if found == Found::Other && self.packet.stop == Stop::None {
            return;
        }
        if self.packet.stop != Stop::None {
            self.note_stop();
        }
        if self.ip_headers > 1 {
            self.note(NoteKind::Tunnel);
        }
        self.ip_packet = true;
        self.carries = most_telling(self.carries, carries(&self.packet));
        self.sink.packet(&self.packet);
    }

    fn note_stop(&mut self) {
        self.note_of(self.packet.stop);
    }

    /// Count why decoding ended early.
    pub fn note_of(&mut self, stop: Stop) {
        match stop {
            Stop::SnaplenCut => self.note(NoteKind::SnaplenCut),
            Stop::LengthLies => self.note(NoteKind::LengthLies),
            Stop::BadHeader => self.note(NoteKind::BadHeader),
            Stop::TooDeep => self.note(NoteKind::TooDeep),
            Stop::Encrypted => self.note(NoteKind::Encrypted),
            // Noted when they were found.
            Stop::BadFcs | Stop::BadChecksum => {}
            // Both are ordinary traffic, described by the row's own column.
            Stop::None | Stop::UnknownType | Stop::Fragment => {}
        }
    }
}

/// Of the packets in an A-MSDU, TCP data comes before TCP ACKs, and these before the rest.
fn most_telling(a: Carries, b: Carries) -> Carries {
    match (a, b) {
        (Carries::Unknown, b) => b,
        (a, Carries::Unknown) => a,
        (a, b) => a.min(b),
    }
}

fn carries(p: &Packet) -> Carries {
    const UDP: u8 = 17;
    match (&p.tcp, p.protocol) {
        (Some(t), _) if p.payload_bytes.unwrap_or(0) == 0 && t.flags & (flags::SYN | flags::FIN) == 0 => {
            Carries::TcpAck
        }
        (Some(_), _) => Carries::TcpData,
        (None, Some(UDP)) => Carries::Udp,
        _ if p.ip_version != 0 => Carries::OtherIp,
        _ => Carries::Unknown,
    }
}
