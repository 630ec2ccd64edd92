//! The TCP checksum (RFC 9293 section 3.1, RFC 1071), believed only where the capture shows that it is computed.
//!
//! A host hands segments to its adapter without a checksum (offload), and merged or edited packets keep an old one. So a
//! wrong checksum shows damage only if packets like this one had right ones before. The rule uses the packets before this
//! one, in the order of the capture, so where batches end makes no difference.

use crate::notes::NoteKind;
use crate::packet::{Addr, Layer, Stop};

use super::decoder::Decoder;
use super::protocol;
use super::view::View;

/// Where the checksum is in the TCP header.
const FIELD: usize = 16;
/// Larger IP packets than this were merged or not yet cut, except on links with jumbo frames.
const ETHERNET_MTU: usize = 1500;

/// Verify the checksum of the segment `v`, whose header has `header` bytes. The row is marked as intact or as damaged.
#[inline]
pub(super) fn verify(d: &mut Decoder<'_>, v: View<'_>, header: usize) {
    let p = &d.packet;
    // Part of a datagram, or a header whose addresses are not the final ones, cannot be verified.
    let readable = p.stop == Stop::None || p.stop_layer == Layer::TcpOptions;
    if !readable || !v.whole() || !d.final_addresses || p.ip_fragment || p.intact == Some(false) {
        return;
    }
    let pseudo = pseudo_header(p.src, p.dst, v.wire());
    let right = fold(pseudo + u64::from(sum(v.data()))) == 0xffff;
    if !right && v.be16(FIELD).is_none_or(|field| not_computed(field, pseudo, v.wire())) {
        return d.note(NoteKind::ChecksumUnverified);
    }
    let class = match v.wire() {
        n if n > ETHERNET_MTU => 2,
        n => usize::from(n > header),
    };
    let source = p.src;
    let believed = d.state.checksums.class(d.interface, source, class).is_some_and(|c| c.observe(right));
    if right {
        d.packet.intact = Some(true);
    } else if believed {
        d.note(NoteKind::BadChecksum);
        d.packet.intact = Some(false);
        d.stop(Stop::BadChecksum, Layer::Transport);
    } else {
        d.note(NoteKind::ChecksumUnverified);
    }
}

/// Whether the field has a value that says that the adapter computes it: none, or the sum of the pseudo header, without the
/// length where the adapter also cuts the packet.
fn not_computed(field: u16, pseudo: u64, length: usize) -> bool {
    field == 0 || field == fold(pseudo) || field == fold(pseudo - length as u64)
}

/// Sum of the pseudo header: addresses, protocol, length (RFC 9293 section 3.1, RFC 8200 section 8.1).
fn pseudo_header(src: Addr, dst: Addr, length: usize) -> u64 {
    // 2^16 is 1 in one's complement arithmetic, so words of 32 bits have the same sum.
    let halves = |n: u64| (n >> 32) + (n & 0xffff_ffff);
    let words = |a: Addr| halves((a.bits >> 64) as u64) + halves(a.bits as u64);
    words(src) + words(dst) + u64::from(protocol::TCP) + length as u64
}

/// One's complement sum of 16-bit words in network order.
#[inline]
fn sum(data: &[u8]) -> u16 {
    // Words of any size may be added, in the host's order (RFC 1071 section 2): four sums side by side are fast.
    let mut lanes = [0u64; 4];
    let mut words = data.chunks_exact(16);
    for w in &mut words {
        for (lane, word) in lanes.iter_mut().zip(w.chunks_exact(4)) {
            *lane += word.first_chunk().map_or(0, |w| u64::from(u32::from_ne_bytes(*w)));
        }
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        let mut padded = [0; 16];
        padded[..rest.len()].copy_from_slice(rest);
        for (lane, word) in lanes.iter_mut().zip(padded.chunks_exact(4)) {
            *lane += word.first_chunk().map_or(0, |w| u64::from(u32::from_ne_bytes(*w)));
        }
    }
    let total = lanes.iter().fold(0u64, |a, l| a + (l & 0xffff_ffff) + (l >> 32));
    u16::from_be_bytes(fold(total).to_ne_bytes())
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ethernet, ipv4, ipv6, record, set_tcp_checksum, tcp, Found, TIMESTAMPS};
    use super::super::{decode, State};
    use crate::limits;
    use crate::notes::{NoteKind, Notes};
    use crate::packet::{Packet, Stop};

    /// A packet with this payload, its source, and what is done to it after its checksum was computed.
    fn packet(payload: &[u8], host: u8, change: impl Fn(&mut [u8])) -> Vec<u8> {
        let mut p = ipv4(6, &tcp(&TIMESTAMPS, payload));
        p[15] = host;
        set_tcp_checksum(&mut p);
        change(&mut p);
        p
    }

    fn good(payload: &[u8]) -> Vec<u8> {
        packet(payload, 1, |_| {})
    }

    fn bad(payload: &[u8]) -> Vec<u8> {
        packet(payload, 1, |p| p[24] ^= 0x40)
    }

    fn run(packets: &[Vec<u8>]) -> (Vec<Packet>, Notes) {
        run_at(packets, |p| (0, p.len()))
    }

    fn run_at(packets: &[Vec<u8>], of: impl Fn(&[u8]) -> (u32, usize)) -> (Vec<Packet>, Notes) {
        let (mut state, mut notes, mut found) = (State::default(), Notes::default(), Found::default());
        for p in packets {
            let (interface, captured) = of(p);
            let mut r = record(101, &p[..captured], p.len());
            r.interface = interface;
            decode(&r, 1, &mut state, &mut notes, &mut found);
        }
        (found.packets, notes)
    }

    fn intact(packets: &[Vec<u8>]) -> Vec<Option<bool>> {
        run(packets).0.iter().map(|p| p.intact).collect()
    }

    #[test]
    fn believed_after_three_right_ones() {
        let x: &[u8] = b"odd";
        let mut list = vec![bad(x), good(x), good(x), bad(x)];
        list.extend(vec![good(x); 12]);
        list.extend([bad(x), good(x)]);
        let (rows, notes) = run(&list);
        let seen: Vec<_> = rows.iter().map(|p| p.intact).collect();
        assert_eq!(seen[..4], [None, Some(true), Some(true), None]);
        assert_eq!(seen[16..], [Some(false), Some(true)]);
        assert_eq!((rows[16].stop, rows[16].src_port), (Stop::BadChecksum, Some(40000)));
        assert_eq!(rows[0].stop, Stop::None);
        assert_eq!((notes.get(NoteKind::BadChecksum).count, notes.get(NoteKind::ChecksumUnverified).count), (1, 2));
    }

    #[test]
    fn a_sender_of_whom_many_fail_is_not_believed() {
        let list: Vec<_> = (0..60).map(|n| if n % 3 == 0 { bad(b"x") } else { good(b"x") }).collect();
        assert!(intact(&list).iter().all(|i| *i != Some(false)));
    }

    #[test]
    fn damaged_options_are_verified_too() {
        let mut list = vec![good(b"x"); 9];
        list.push(packet(b"x", 1, |p| p[43] = 99));
        let rows = run(&list).0;
        assert_eq!((rows[9].intact, rows[9].stop), (Some(false), Stop::LengthLies));
    }

    #[test]
    fn each_sender_and_interface_for_itself() {
        let own = |p: &mut [u8]| p[36] ^= 0x11;
        let mut list = vec![good(b"x"); 9];
        list.extend(vec![packet(b"x", 9, own); 9]);
        assert!(intact(&list)[9..].iter().all(Option::is_none));
        // At another interface nothing is known.
        list = vec![good(b"x"); 9];
        list.extend(vec![bad(b"x"); 2]);
        let (rows, _) = run_at(&list, |p| (u32::from(p[24] != 0), p.len()));
        assert_eq!(rows.last().unwrap().intact, None);
    }

    #[test]
    fn a_class_of_packets_that_always_fails_is_unknown() {
        // Payload was replaced after the capture: packets without payload are right.
        let mut list = vec![good(b""); 50];
        list.extend(vec![packet(b"secret", 1, |p| p[52..].fill(0)); 50]);
        assert!(intact(&list)[50..].iter().all(Option::is_none));
        // Merged packets keep the checksum of the first.
        let mut list = vec![good(&[5; 1400]); 50];
        list.extend(vec![packet(&[5; 4200], 1, |p| p[36] ^= 3); 9]);
        assert!(intact(&list)[50..].iter().all(Option::is_none));
    }

    #[test]
    fn values_that_say_that_the_adapter_computes_it() {
        let partial = |with_length: bool| {
            packet(b"data", 1, |p| {
                p[36..38].fill(0);
                let length = if with_length { p.len() - 20 } else { 0 };
                let words = p[12..20].chunks_exact(2).map(|w| u64::from(u16::from_be_bytes([w[0], w[1]])));
                let sum = super::fold(words.sum::<u64>() + 6 + length as u64);
                p[36..38].copy_from_slice(&sum.to_be_bytes());
            })
        };
        for odd in [partial(true), partial(false), packet(b"data", 1, |p| p[36..38].fill(0))] {
            let mut list = vec![good(b"data"); 9];
            list.push(odd);
            assert_eq!(intact(&list)[9], None);
        }
    }

    #[test]
    fn what_was_not_captured_is_not_verified() {
        let list = vec![good(b"data"); 9];
        let (rows, notes) = run_at(&list, |p| (0, p.len() - 1));
        assert!(rows.iter().all(|p| p.intact.is_none()));
        assert_eq!(notes.get(NoteKind::ChecksumUnverified).count, 0);
        // Padding after the packet does not count.
        let mut frame = ethernet(0x800, &good(b""));
        frame.extend([7; 6]);
        let (mut notes, mut found) = (Notes::default(), Found::default());
        decode(&record(1, &frame, frame.len()), 1, &mut State::default(), &mut notes, &mut found);
        assert_eq!(found.packets[0].intact, Some(true));
    }

    #[test]
    fn ipv6_and_addresses_that_are_not_the_final_ones() {
        let mut p = ipv6(6, &tcp(&[], b"odd"));
        set_tcp_checksum(&mut p);
        let rows = |p: &[u8]| {
            let (mut notes, mut found) = (Notes::default(), Found::default());
            decode(&record(101, p, p.len()), 1, &mut State::default(), &mut notes, &mut found);
            (found.packets[0].intact, notes.get(NoteKind::ChecksumUnverified).count)
        };
        assert_eq!(rows(&p), (Some(true), 0));
        let routed = ipv6(43, &[&[6, 0, 0, 0, 0, 0, 0, 0][..], &tcp(&[], b"odd")].concat());
        assert_eq!(rows(&routed), (None, 0));
    }

    #[test]
    fn the_number_of_senders_is_bounded() {
        let mut checksums = super::super::checked_senders::Checksums::default();
        for n in 0..2 * limits::CHECKED_SENDERS as u32 {
            let found = checksums.class(0, crate::packet::Addr::v4(n.to_be_bytes()), 1).is_some();
            assert_eq!(found, (n as usize) < limits::CHECKED_SENDERS);
        }
        assert!(checksums.class(0, crate::packet::Addr::v4([0, 0, 0, 1]), 0).is_some());
    }

    #[test]
    fn sums_of_any_length() {
        let data: Vec<u8> = (0..1000u32).map(|i| ((i * 7919) >> 3) as u8).collect();
        for n in 0..200 {
            let mut padded = data[..n].to_vec();
            padded.resize(n.next_multiple_of(2), 0);
            let plain: u64 = padded.chunks_exact(2).map(|w| u64::from(u16::from_be_bytes([w[0], w[1]]))).sum();
            assert_eq!(super::sum(&data[..n]), super::fold(plain), "{n} bytes");
        }
    }
}
