//! Common parts of the decoders' tests: building frames, and checks for all decoders.

use crate::container::Record;
use crate::frame::Frame;
use crate::notes::{NoteKind, Notes};
use crate::packet::Packet;
use crate::urb::UrbEvent;

use super::{Sink, State};

/// The results of some records.
#[derive(Default)]
pub struct Found {
    pub packets: Vec<Packet>,
    /// Each with its body.
    pub frames: Vec<(Frame, Vec<u8>)>,
    pub urbs: Vec<UrbEvent>,
}

impl Sink for Found {
    fn packet(&mut self, packet: &Packet) {
        self.packets.push(*packet);
    }

    fn frame(&mut self, frame: &mut Frame, body: &[u8]) {
        self.frames.push((*frame, body.to_vec()));
    }

    fn urb(&mut self, event: &UrbEvent) {
        self.urbs.push(*event);
    }
}

/// A record of `link_type` with `wire` bytes on the wire.
pub fn record(link_type: u16, data: &[u8], wire: usize) -> Record<'_> {
    Record {
        time_ns: Some(1),
        wire_bytes: wire as u32,
        data,
        link_type,
        interface: 0,
        fcs_bytes: None,
        outgoing: None,
        offset: 24,
        radio: None,
    }
}

/// What a record holds, and the notes made.
pub fn found(record: &Record<'_>) -> (Found, Notes) {
    let (mut notes, mut found) = (Notes::default(), Found::default());
    super::decode(record, 1, &mut State::default(), &mut notes, &mut found);
    (found, notes)
}

/// What a record holds if an earlier frame of its interface had a right frame check sequence.
pub fn found_where_fcs_is_computed(record: &Record<'_>) -> (Found, Notes) {
    let (mut state, mut notes, mut found) = (State::default(), Notes::default(), Found::default());
    let mut ack = vec![0xd4, 0, 0, 0, 2, 0, 0, 0, 0, 1];
    ack.extend(crc32fast::hash(&ack).to_le_bytes());
    let earlier = Record { data: &ack, wire_bytes: 14, link_type: 105, fcs_bytes: Some(4), ..*record };
    super::decode(&earlier, 1, &mut state, &mut notes, &mut Found::default());
    super::decode(record, 2, &mut state, &mut notes, &mut found);
    (found, notes)
}

/// The packets of a record and the notes made.
pub fn decode(record: &Record<'_>) -> (Vec<Packet>, Notes) {
    let (found, notes) = found(record);
    (found.packets, notes)
}

/// The one 802.11 frame of a whole record, and its body.
#[track_caller]
pub fn frame(link_type: u16, data: &[u8]) -> (Frame, Vec<u8>) {
    let mut frames = found(&record(link_type, data, data.len())).0.frames;
    assert_eq!(frames.len(), 1);
    frames.remove(0)
}

/// The packets of a whole frame.
pub fn packets(link_type: u16, data: &[u8]) -> Vec<Packet> {
    decode(&record(link_type, data, data.len())).0
}

/// The one packet of a whole frame.
#[track_caller]
pub fn one(link_type: u16, data: &[u8]) -> Packet {
    let got = packets(link_type, data);
    assert_eq!(got.len(), 1);
    got[0]
}

/// How often a note was made for a whole frame.
pub fn noted(link_type: u16, data: &[u8], kind: NoteKind) -> u64 {
    decode(&record(link_type, data, data.len())).1.get(kind).count
}

/// Cut the frame at every byte, by a snap length and at the sender: no panic, and a
/// longer capture agrees with everything that a shorter one gives for a packet or an 802.11 frame.
#[track_caller]
pub fn cut_everywhere(link_type: u16, data: &[u8]) {
    let (whole, _) = found(&record(link_type, data, data.len()));
    for n in 0..data.len() {
        let (short, _) = found(&record(link_type, &data[..n], data.len()));
        for (short, whole) in short.packets.iter().zip(&whole.packets) {
            agree(short, whole, n);
        }
        for ((short, body), (whole, whole_body)) in short.frames.iter().zip(&whole.frames) {
            frames_agree(short, whole, n);
            assert!(whole_body.starts_with(body), "body at {n} bytes");
        }
        let _ = packets(link_type, &data[..n]);
    }
}

#[track_caller]
fn frames_agree(short: &Frame, whole: &Frame, n: usize) {
    macro_rules! same {
        ($($field:ident),*) => { $(if short.$field.is_some() {
            assert_eq!(short.$field, whole.$field, "{} at {n} bytes", stringify!($field));
        })* };
    }
    same!(control, duration, address_1, address_2, address_3, address_4, seq_ctl, qos, fcs_ok, time_ns);
    if short.control.is_some() {
        assert_eq!((short.radio, short.mpdu_bytes), (whole.radio, whole.mpdu_bytes), "at {n} bytes");
    }
}

#[track_caller]
fn agree(short: &Packet, whole: &Packet, n: usize) {
    macro_rules! same {
        ($($field:ident),*) => { $(if short.$field.is_some() {
            assert_eq!(short.$field, whole.$field, "{} at {n} bytes", stringify!($field));
        })* };
    }
    if short.ip_version != 0 {
        assert_eq!((short.ip_version, short.src, short.dst), (whole.ip_version, whole.src, whole.dst), "at {n} bytes");
        assert_eq!(short.ip_fragment, whole.ip_fragment, "at {n} bytes");
    }
    same!(ip_id, ip_ttl, ip_dscp, ip_ecn, src_port, dst_port, payload_bytes, vlan, outgoing, mpdu);
    if let (Some(s), Some(w)) = (short.tcp, whole.tcp) {
        assert_eq!((s.seq, s.ack, s.flags, s.window, s.urgent), (w.seq, w.ack, w.flags, w.window, w.urgent));
        assert!(s.mss.is_none() || s.mss == w.mss);
        assert!(s.wscale.is_none() || s.wscale == w.wscale);
        assert!(s.timestamps.is_none() || s.timestamps == w.timestamps);
        assert!(!s.sack_permitted || w.sack_permitted);
        let blocks = usize::from(s.sack_blocks);
        assert!(s.sack_blocks <= w.sack_blocks && s.sack[..blocks] == w.sack[..blocks]);
    }
    assert!(short.tcp.is_none() || whole.tcp.is_some());
}

/// An Ethernet frame of `kind` around `payload`.
pub fn ethernet(kind: u16, payload: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2][..], &kind.to_be_bytes(), payload].concat()
}

/// 10.0.0.1 > 10.0.0.2, identification 0x1234, TTL 64, DSCP 10, ECT(0).
pub fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let total = (20 + payload.len()) as u16;
    let [high, low] = total.to_be_bytes();
    let head = [0x45, 0x2a, high, low, 0x12, 0x34, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    [&head[..], payload].concat()
}

/// 2001:db8::1 > 2001:db8::2, hop limit 64, DSCP 10, ECT(0).
pub fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let mut head = vec![0x62, 0xa0, 0, 0];
    head.extend((payload.len() as u16).to_be_bytes());
    head.extend([next, 64]);
    for last in [1, 2] {
        head.extend([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    [&head[..], payload].concat()
}

/// Port 40000 > 5001, seq 1000, ack 2000, PSH and ACK, window 500, with these options (a multiple of 4) and payload.
pub fn tcp(options: &[u8], payload: &[u8]) -> Vec<u8> {
    assert_eq!(options.len() % 4, 0);
    let mut head = vec![0x9c, 0x40, 0x13, 0x89, 0, 0, 3, 0xe8, 0, 0, 7, 0xd0];
    head.extend([((5 + options.len() / 4) << 4) as u8, 0x18, 1, 0xf4, 0, 0, 0, 0]);
    [&head[..], options, payload].concat()
}

/// Fill in the checksum of a TCP packet without IP options.
pub fn set_tcp_checksum(packet: &mut [u8]) {
    let (addresses, tcp) = if packet[0] >> 4 == 4 { (12..20, 20) } else { (8..40, 40) };
    packet[tcp + 16..tcp + 18].fill(0);
    let mut words = [&packet[addresses], &packet[tcp..]].concat();
    words.resize(words.len().next_multiple_of(2), 0);
    let sum: u64 = words.chunks_exact(2).map(|w| u64::from(u16::from_be_bytes([w[0], w[1]]))).sum();
    let sum = !(((sum + 6 + (packet.len() - tcp) as u64) % 0xffff) as u16);
    packet[tcp + 16..tcp + 18].copy_from_slice(&sum.to_be_bytes());
}

/// No-operation twice and timestamps 100, 200.
pub const TIMESTAMPS: [u8; 12] = [1, 1, 8, 10, 0, 0, 0, 100, 0, 0, 0, 200];

/// An IPv4 packet after an LLC and SNAP header.
pub fn snap(packet: &[u8]) -> Vec<u8> {
    [&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0][..], packet].concat()
}

/// An 802.11 frame with this frame control (as little endian), three addresses of ones, twos and threes, sequence
/// number 0x123, what follows them in the header, and the body.
pub fn dot11(control: u16, rest: &[u8], body: &[u8]) -> Vec<u8> {
    [&control.to_le_bytes()[..], &[0, 0], &[1; 6], &[2; 6], &[3; 6], &[0x30, 0x12], rest, body].concat()
}
