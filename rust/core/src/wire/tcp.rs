//! TCP and its options (RFC 9293, RFC 7323, RFC 2018).

use crate::notes::NoteKind;
use crate::packet::{Layer, Stop, Tcp};

use super::checksum;
use super::decoder::{Decoder, Found};
use super::digest::digest;
use super::view::{bytes, View};

const HEADER: usize = 20;
/// RFC 7323 section 2.3.
const LARGEST_SHIFT: u8 = 14;

#[inline]
pub(super) fn tcp(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    d.packet.payload_bytes = None;
    let Some(h) = v.array::<HEADER>(0) else {
        return cut_header(d, v);
    };
    d.packet.src_port = Some(u16::from_be_bytes([h[0], h[1]]));
    d.packet.dst_port = Some(u16::from_be_bytes([h[2], h[3]]));
    let header = usize::from(h[12] >> 4) * 4;
    if let Some(stop) = bad_offset(d, header, v.wire()) {
        return d.damaged(stop, Layer::Transport);
    }
    d.packet.payload_bytes = Some(bytes(v.wire() - header));
    d.packet.payload_digest = digest(v.skip(header));
    d.packet.payload_captured_bytes = bytes(v.data().len().saturating_sub(header));
    let mut tcp = Tcp {
        seq: u32::from_be_bytes([h[4], h[5], h[6], h[7]]),
        ack: u32::from_be_bytes([h[8], h[9], h[10], h[11]]),
        flags: u16::from_be_bytes([h[12], h[13]]) & 0x0fff,
        window: u16::from_be_bytes([h[14], h[15]]),
        urgent: u16::from_be_bytes([h[18], h[19]]),
        ..Tcp::default()
    };
    if header > HEADER {
        options(d, v.clip(header).skip(HEADER), &mut tcp);
    }
    d.packet.tcp = Some(tcp);
    checksum::verify(d, v, header);
    Found::Row
}

/// The reason why a data offset is invalid.
#[inline]
fn bad_offset(d: &Decoder<'_>, header: usize, wire: usize) -> Option<Stop> {
    if header < HEADER {
        Some(Stop::BadHeader)
    } else if header <= wire {
        None
    } else if d.packet.ip_fragment {
        Some(Stop::Fragment)
    } else {
        Some(Stop::LengthLies)
    }
}

/// Fewer than 20 bytes: the ports if they are there, and the payload's length if the data offset is.
fn cut_header(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    if let (Some(src), Some(dst)) = (v.be16(0), v.be16(2)) {
        d.packet.src_port = Some(src);
        d.packet.dst_port = Some(dst);
    }
    if let Some(offset) = v.u8(12) {
        let header = usize::from(offset >> 4) * 4;
        match bad_offset(d, header, v.wire()) {
            Some(stop) => return d.damaged(stop, Layer::Transport),
            None => d.packet.payload_bytes = Some(bytes(v.wire() - header)),
        }
    }
    let lack = v.lack(HEADER);
    let stop = if lack == Stop::LengthLies && d.packet.ip_fragment { Stop::Fragment } else { lack };
    d.damaged(stop, Layer::Transport)
}

/// Every option up to the end of the header, the end of the capture, or the first malformed one.
#[inline]
fn options(d: &mut Decoder<'_>, mut v: View<'_>, tcp: &mut Tcp) {
    const END: u8 = 0;
    const NO_OPERATION: u8 = 1;
    // The layout of most segments: two no-operations, then timestamps.
    if v.be32(0) == Some(0x0101_080a) {
        if let (Some(value), Some(echo)) = (v.be32(4), v.be32(8)) {
            tcp.timestamps = Some((value, echo));
            v = v.skip(12);
        }
    }
    // At most 40 bytes, and each step reads at least one.
    while v.wire() > 0 {
        let length = match v.u8(0) {
            Some(END) => return,
            Some(NO_OPERATION) => {
                v = v.skip(1);
                continue;
            }
            Some(_) => v.u8(1).map(usize::from),
            None => None,
        };
        let Some(length) = length else {
            return cut(d, tcp, v.lack(2));
        };
        if length < 2 {
            return cut(d, tcp, Stop::BadHeader);
        }
        if length > v.wire() {
            return cut(d, tcp, Stop::LengthLies);
        }
        let option = v.clip(length);
        if !read_option(d, option, tcp) {
            tcp.options_cut = true;
            if option.whole() {
                d.note(NoteKind::TcpOptionMalformed);
            }
        }
        if !option.whole() {
            return cut(d, tcp, Stop::SnaplenCut);
        }
        v = v.skip(length);
    }
}

fn cut(d: &mut Decoder<'_>, tcp: &mut Tcp, stop: Stop) {
    tcp.options_cut = true;
    d.stop(stop, Layer::TcpOptions);
}

/// Read one option; false when its length is wrong for its kind or its value impossible.
#[inline]
fn read_option(d: &mut Decoder<'_>, v: View<'_>, tcp: &mut Tcp) -> bool {
    const MSS: u8 = 2;
    const WINDOW_SCALE: u8 = 3;
    const SACK_PERMITTED: u8 = 4;
    const SACK: u8 = 5;
    const TIMESTAMPS: u8 = 8;
    match (v.u8(0), v.wire()) {
        (Some(MSS), 4) => tcp.mss = v.be16(2).or(tcp.mss),
        (Some(WINDOW_SCALE), 3) => {
            if let Some(shift) = v.u8(2) {
                if shift > LARGEST_SHIFT {
                    d.note(NoteKind::WscaleTooLarge);
                }
                tcp.wscale = Some(shift.min(LARGEST_SHIFT));
            }
        }
        (Some(SACK_PERMITTED), 2) => tcp.sack_permitted = true,
        (Some(SACK), n) => return sack(d, v.skip(2), tcp) && n % 8 == 2,
        (Some(TIMESTAMPS), 10) => {
            if let (Some(value), Some(echo)) = (v.be32(2), v.be32(6)) {
                tcp.timestamps = Some((value, echo));
            }
        }
        (Some(MSS | WINDOW_SCALE | SACK_PERMITTED | TIMESTAMPS), _) => return false,
        _ => {}
    }
    true
}

/// The blocks that were captured; one that is empty or runs backwards is dropped.
fn sack(d: &mut Decoder<'_>, v: View<'_>, tcp: &mut Tcp) -> bool {
    for at in (0..v.wire()).step_by(8) {
        let (Some(left), Some(right)) = (v.be32(at), v.be32(at + 4)) else {
            break;
        };
        let length = right.wrapping_sub(left);
        if length == 0 || length > u32::MAX / 2 {
            d.note(NoteKind::SackBlockInvalid);
            continue;
        }
        let Some(slot) = tcp.sack.get_mut(usize::from(tcp.sack_blocks)) else {
            return false;
        };
        *slot = (left, right);
        tcp.sack_blocks += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, decode, ipv4, noted, one, record, tcp, TIMESTAMPS};
    use crate::notes::NoteKind;
    use crate::packet::{flags, Layer, Stop};

    /// SACK with blocks, padded to four bytes.
    fn sack(blocks: &[(u32, u32)]) -> Vec<u8> {
        let mut o = vec![1, 1, 5, (2 + 8 * blocks.len()) as u8];
        for (left, right) in blocks {
            o.extend(left.to_be_bytes());
            o.extend(right.to_be_bytes());
        }
        o
    }

    #[test]
    fn every_field() {
        let p = one(101, &ipv4(6, &tcp(&TIMESTAMPS, b"data")));
        let t = p.tcp.unwrap();
        assert_eq!((p.src_port, p.dst_port, p.payload_bytes), (Some(40000), Some(5001), Some(4)));
        assert_eq!((t.seq, t.ack, t.flags), (1000, 2000, flags::ACK | flags::PSH));
        assert_eq!((t.window, t.urgent, t.timestamps), (500, 0, Some((100, 200))));
        assert_eq!((t.mss, t.wscale, t.sack_permitted, t.sack_blocks, t.options_cut), (None, None, false, 0, false));
    }

    #[test]
    fn options_of_a_syn() {
        let mut options = vec![2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 9, 0, 0, 0, 0, 1, 3, 3, 7, 30, 4, 0, 0];
        let packet = ipv4(6, &tcp(&options, &[]));
        let t = one(101, &packet).tcp.unwrap();
        assert_eq!((t.mss, t.wscale, t.sack_permitted), (Some(1460), Some(7), true));
        assert_eq!((t.timestamps, t.options_cut), (Some((9, 0)), false));
        cut_everywhere(101, &packet);
        options[19] = 255;
        let packet = ipv4(6, &tcp(&options, &[]));
        assert_eq!(one(101, &packet).tcp.unwrap().wscale, Some(14));
        assert_eq!(noted(101, &packet, NoteKind::WscaleTooLarge), 1);
    }

    #[test]
    fn sack_blocks() {
        let blocks = [(100, 200), (300, 400), (u32::MAX - 9, 10), (700, 800)];
        for n in 1..=4 {
            let packet = ipv4(6, &tcp(&sack(&blocks[..n]), &[]));
            let t = one(101, &packet).tcp.unwrap();
            assert_eq!(&t.sack[..usize::from(t.sack_blocks)], &blocks[..n]);
            cut_everywhere(101, &packet);
        }
        let packet = ipv4(6, &tcp(&[&TIMESTAMPS[..], &sack(&blocks[..3])].concat(), &[]));
        let t = one(101, &packet).tcp.unwrap();
        assert_eq!((t.sack_blocks, t.timestamps), (3, Some((100, 200))));
    }

    #[test]
    fn sack_blocks_that_lie() {
        let packet = ipv4(6, &tcp(&sack(&[(200, 100), (300, 400), (5, 5)]), &[]));
        let t = one(101, &packet).tcp.unwrap();
        assert_eq!((t.sack_blocks, t.sack[0]), (1, (300, 400)));
        assert_eq!(noted(101, &packet, NoteKind::SackBlockInvalid), 2);
        let ragged = ipv4(6, &tcp(&[5, 11, 0, 0, 0, 1, 0, 0, 0, 9, 0, 1], &[]));
        let p = one(101, &ragged);
        let t = p.tcp.unwrap();
        assert_eq!((t.sack_blocks, t.sack[0], t.options_cut, p.stop), (1, (1, 9), true, Stop::None));
        assert_eq!(noted(101, &ragged, NoteKind::TcpOptionMalformed), 1);
    }

    #[test]
    fn option_lengths_that_lie() {
        for (length, stop) in [(0, Stop::BadHeader), (1, Stop::BadHeader), (255, Stop::LengthLies)] {
            let p = one(101, &ipv4(6, &tcp(&[2, 4, 5, 0xb4, 8, length, 0, 0], b"x")));
            let t = p.tcp.unwrap();
            assert_eq!((p.stop, p.stop_layer, t.options_cut), (stop, Layer::TcpOptions, true));
            assert_eq!((t.mss, t.seq, p.payload_bytes), (Some(1460), 1000, Some(1)));
        }
    }

    #[test]
    fn a_snap_length_within_the_options() {
        let packet = ipv4(6, &tcp(&TIMESTAMPS, &[7; 1448]));
        let p = decode(&record(101, &packet[..44], packet.len())).0[0];
        assert_eq!((p.stop, p.stop_layer, p.payload_bytes), (Stop::SnaplenCut, Layer::TcpOptions, Some(1448)));
        let t = p.tcp.unwrap();
        assert_eq!((t.seq, t.timestamps, t.options_cut), (1000, None, true));
        cut_everywhere(101, &packet[..60]);
    }

    #[test]
    fn a_snap_length_within_the_header() {
        let packet = ipv4(6, &tcp(&TIMESTAMPS, &[7; 1448]));
        let cut = |n: usize| decode(&record(101, &packet[..20 + n], packet.len())).0[0];
        assert_eq!((cut(3).src_port, cut(3).payload_bytes, cut(3).stop), (None, None, Stop::SnaplenCut));
        assert_eq!((cut(4).src_port, cut(4).payload_bytes), (Some(40000), None));
        assert_eq!((cut(13).payload_bytes, cut(13).stop_layer), (Some(1448), Layer::Transport));
        assert!(cut(19).tcp.is_none() && cut(20).tcp.is_some());
    }

    #[test]
    fn data_offsets_that_lie() {
        for offset in [0, 1, 4, 15] {
            let mut packet = ipv4(6, &tcp(&[], &[]));
            packet[32] = offset << 4;
            let p = one(101, &packet);
            let stop = if offset < 5 { Stop::BadHeader } else { Stop::LengthLies };
            assert_eq!((p.src_port, p.tcp.is_none(), p.payload_bytes), (Some(40000), true, None));
            assert_eq!((p.stop, p.stop_layer), (stop, Layer::Transport));
        }
    }
}
