//! IP packets in transfers of every framing, and in transfers that only look like one.

use super::super::testing::{cut_everywhere, ethernet, ipv4, ipv6, one, record, snap, tcp};
use super::*;
use crate::notes::Notes;
use crate::packet::{Packet, Stop};
use crate::wire::{decode, Sink};

const USBMON: u16 = 220;

/// A bulk record of device 5 on bus 1: in completions and out submissions with this data, `length` bytes long.
pub(crate) fn bulk(is_in: bool, data: &[u8], length: usize) -> Vec<u8> {
    let mut h = vec![0x40, 0, 0, 0, 0, 0x88, 0xff, 0xff];
    h.extend([if is_in { b'C' } else { b'S' }, 3, if is_in { 0x81 } else { 2 }, 5, 1, 0, b'-', 0]);
    h.extend(1_700_000_000u64.to_le_bytes());
    h.extend(5u32.to_le_bytes());
    h.extend([0; 4]);
    h.extend((length as u32).to_le_bytes());
    h.extend((data.len() as u32).to_le_bytes());
    h.extend([0; 24]);
    h.extend(data);
    h
}

/// An IPv4 packet with the right checksum; the payload distinguishes them.
pub(crate) fn sound(payload: &[u8]) -> Vec<u8> {
    let mut p = ipv4(6, &tcp(&[], payload));
    set_checksum(&mut p);
    p
}

/// Of an IPv4 header without options.
pub(crate) fn set_checksum(p: &mut [u8]) {
    p[10..12].fill(0);
    let sum: u32 = p[..20].chunks(2).map(|b| u32::from(u16::from_be_bytes([b[0], b[1]]))).sum();
    let folded = !((sum >> 16) + (sum & 0xffff)) as u16;
    p[10..12].copy_from_slice(&folded.to_be_bytes());
}

fn frame(payload: &[u8]) -> Vec<u8> {
    ethernet(0x0800, &sound(payload))
}

fn padded(mut data: Vec<u8>, to: usize) -> Vec<u8> {
    data.resize(data.len().next_multiple_of(to), 0);
    data
}

#[derive(Default)]
struct Seen {
    payloads: Vec<u32>,
    stops: Vec<Stop>,
    framings: Vec<Option<Framing>>,
    counts: Vec<u16>,
}

impl Sink for Seen {
    fn packet(&mut self, p: &Packet) {
        self.payloads.push(p.payload_bytes.unwrap_or(u32::MAX));
        self.stops.push(p.stop);
    }

    fn urb(&mut self, e: &UrbEvent) {
        self.framings.push(e.framing);
        self.counts.push(e.packets);
    }
}

/// Decode transfers in a row on one endpoint.
fn seen(is_in: bool, transfers: &[Vec<u8>]) -> (Seen, Notes) {
    let (mut state, mut notes, mut sink) = (Default::default(), Notes::default(), Seen::default());
    for (i, data) in transfers.iter().enumerate() {
        let bytes = bulk(is_in, data, data.len());
        decode(&record(USBMON, &bytes, bytes.len()), i as u64 + 1, &mut state, &mut notes, &mut sink);
    }
    (sink, notes)
}

#[track_caller]
fn check(is_in: bool, data: Vec<u8>, framing: Framing, payloads: &[u32]) {
    let bytes = bulk(is_in, &data, data.len());
    cut_everywhere(USBMON, &bytes);
    let (seen, _) = seen(is_in, &[data]);
    assert_eq!((seen.framings, seen.payloads), (vec![Some(framing)], payloads.to_vec()));
    assert!(seen.stops.iter().all(|s| *s == Stop::None));
    assert_eq!(seen.counts, [payloads.len() as u16]);
}

fn ncm16(signature: &[u8; 4], datagrams: &[Vec<u8>]) -> Vec<u8> {
    let entries = 12 + 8 + 4 * (datagrams.len() + 1);
    let mut data = Vec::new();
    let mut pointers = Vec::new();
    for d in datagrams {
        pointers.extend([(entries + data.len()) as u16, d.len() as u16]);
        data.extend(padded(d.clone(), 4));
    }
    pointers.extend([0, 0]);
    let mut out = b"NCMH\x0c\0\x01\0".to_vec();
    out.extend(((entries + data.len()) as u16).to_le_bytes());
    out.extend(12u16.to_le_bytes());
    out.extend(signature);
    out.extend((8 + 2 * pointers.len() as u16).to_le_bytes());
    out.extend([0, 0]);
    out.extend(pointers.iter().flat_map(|n| n.to_le_bytes()));
    [out, data].concat()
}

fn rndis(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for f in frames {
        let length = (44 + f.len()).next_multiple_of(8) as u32;
        out.extend([1, length, 36, f.len() as u32, 0, 0, 0, 0, 0, 0, 0].iter().flat_map(|n| n.to_le_bytes()));
        out.extend(padded([&[0; 4][..], f].concat(), 8).split_off(4));
    }
    out
}

fn asix(frames: &[Vec<u8>]) -> Vec<u8> {
    let header = |f: &Vec<u8>| (f.len() as u32 | (!(f.len() as u32) << 16)).to_le_bytes();
    frames.iter().flat_map(|f| [header(f).to_vec(), padded(f.clone(), 2)].concat()).collect()
}

fn prism2(body: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 60];
    out[14] = 8;
    out[15] = 1;
    out[44..46].copy_from_slice(&(body.len() as u16).to_le_bytes());
    padded([out, body.to_vec()].concat(), 64)
}

#[test]
fn bare_ethernet() {
    check(true, frame(b"abc"), Framing::Ethernet, &[3]);
    check(false, padded(frame(b"abc"), 60), Framing::Ethernet, &[3]);
    check(true, ethernet(0x86dd, &ipv6(6, &tcp(&[], b"ab"))), Framing::Ethernet, &[2]);
    let tagged = ethernet(0x8100, &[&[0, 7, 8, 0][..], &sound(b"x")].concat());
    check(false, tagged, Framing::Ethernet, &[1]);
}

#[test]
fn ncm_of_both_widths() {
    check(true, ncm16(b"NCM0", &[frame(b"a"), frame(b"bc")]), Framing::Ncm, &[1, 2]);
    let with_crc = [frame(b"a"), vec![9; 4]].concat();
    check(false, ncm16(b"NCM1", &[with_crc]), Framing::Ncm, &[1]);
    check(true, ncm16(b"IPS\x03", &[sound(b"a"), sound(b"")]), Framing::Mbim, &[1, 0]);
    let f = frame(b"abc");
    let mut wide: Vec<u8> = b"ncmh\x10\0\0\0".to_vec();
    wide.extend([0u32, 16].iter().flat_map(|n| n.to_le_bytes()));
    wide.extend(b"ncm0\x20\0\0\0");
    wide.extend([0u32, 0, 48, f.len() as u32, 0, 0].iter().flat_map(|n| n.to_le_bytes()));
    check(true, [wide, f].concat(), Framing::Ncm, &[3]);
}

#[test]
fn ncm_that_runs_in_circles() {
    let good = ncm16(b"NCM0", &[frame(b"a"), frame(b"bc")]);
    let mut around = good.clone();
    around[18..20].copy_from_slice(&12u16.to_le_bytes());
    let (seen, _) = seen(true, &[good, around.clone(), around]);
    // The search still finds the packets, and the endpoint's framing stays known.
    assert_eq!(seen.framings, [Some(Framing::Ncm); 3]);
    assert!(seen.payloads.len() >= 4 && seen.payloads.len() <= 6);
}

#[test]
fn rndis_messages() {
    check(true, rndis(&[frame(b"a"), frame(b"bc"), frame(b"def")]), Framing::Rndis, &[1, 2, 3]);
    check(false, [rndis(&[frame(b"a")]), vec![0]].concat(), Framing::Rndis, &[1]);
}

#[test]
fn asix_headers() {
    check(true, asix(&[frame(b"a"), frame(b"bc")]), Framing::Asix, &[1, 2]);
    check(false, [asix(&[frame(b"a")]), vec![0, 0, 0xff, 0xff]].concat(), Framing::Asix, &[1]);
    let f = frame(b"abc");
    let out = [&(f.len() as u32).to_le_bytes()[..], &[0; 4], &f].concat();
    check(false, out, Framing::Ax88179, &[3]);
    let mut data = padded([&[0xee; 2][..], &frame(b"a")].concat(), 8);
    let table = data.len() + 64;
    data.extend(padded([&[0xee; 2][..], &frame(b"bcde")].concat(), 8));
    let table = table.min(data.len());
    for payload in [1u32, 4] {
        data.extend(((2 + 14 + 40 + payload) << 16).to_le_bytes());
    }
    data.extend((2 | (table as u32) << 16).to_le_bytes());
    check(true, data, Framing::Ax88179, &[1, 4]);
}

#[test]
fn a_frame_goes_on_in_the_next_transfer() {
    let stream = asix(&[frame(b"a"), frame(&[7; 200]), frame(b"bc")]);
    let (first, rest) = stream.split_at(160);
    let (seen_asix, notes) = seen(true, &[first.to_vec(), rest.to_vec()]);
    assert_eq!(seen_asix.payloads, [1, 200, 2]);
    assert_eq!((seen_asix.counts, notes.get(NoteKind::UsbFrameSplit).count), (vec![2, 1], 1));
    // Bare Ethernet in short buffers.
    let long = frame(&[7; 1000]);
    let (a, rest) = long.split_at(512);
    let (seen_bare, notes) = seen(true, &[frame(b"x"), a.to_vec(), rest.to_vec(), frame(b"y")]);
    assert_eq!((seen_bare.payloads, seen_bare.counts), (vec![1, 1000, 1], vec![1, 1, 0, 1]));
    assert!(seen_bare.stops.iter().all(|s| *s == Stop::None));
    assert_eq!(notes.get(NoteKind::UsbFrameSplit).count, 1);
}

#[test]
fn realtek_descriptors() {
    let received = |f: Vec<u8>| {
        let head = [&(f.len() as u32 + 4).to_le_bytes()[..], &[0; 20]].concat();
        padded([head, f, vec![1; 4]].concat(), 8)
    };
    check(true, [received(frame(b"a")), received(frame(b"bc"))].concat(), Framing::R8152, &[1, 2]);
    let sent = |f: Vec<u8>| padded([&(f.len() as u32 | 3 << 30).to_le_bytes()[..], &[0; 4], &f].concat(), 4);
    check(false, [sent(frame(b"a")), sent(frame(b"bc"))].concat(), Framing::R8152, &[1, 2]);
    // RTL8150: four bytes after the frame.
    check(true, [frame(b"a"), vec![0x3c, 0x10, 0, 0]].concat(), Framing::Ethernet, &[1]);
}

#[test]
fn prism2_descriptor() {
    check(false, prism2(&snap(&sound(b"abc"))), Framing::Prism2, &[3]);
    check(true, prism2(&snap(&sound(b""))), Framing::Prism2, &[0]);
    // A management frame, a frame encrypted by the host, an answer to a command.
    for (at, value) in [(14, 0x80), (15, 0x41), (1, 0x80)] {
        let mut other = prism2(&[0; 30]);
        other[at] = value;
        assert_eq!(seen(true, &[prism2(&snap(&sound(b"a"))), other]).0.payloads, [1]);
    }
}

#[test]
fn bare_ip_and_qmap() {
    check(true, sound(b"a"), Framing::Ip, &[1]);
    check(false, ipv6(6, &tcp(&[], b"ab")), Framing::Ip, &[2]);
    let qmap = |p: Vec<u8>| [&[3, 1, 0, (p.len() + 3) as u8][..], &p, &[0; 3]].concat();
    check(true, [qmap(sound(b"a")), qmap(sound(b"bc"))].concat(), Framing::Qmap, &[1, 2]);
}

#[test]
fn search_without_a_known_framing() {
    let header = |n: usize| vec![0xa5; n];
    check(true, [header(37), sound(b"a"), header(50), sound(b"bc")].concat(), Framing::Found, &[1, 2]);
    check(true, [header(10), ethernet(0x86dd, &ipv6(6, &tcp(&[], b"ab")))].concat(), Framing::Found, &[2]);
    let far = [header(limits::USB_SEARCH_BYTES), sound(b"a")].concat();
    assert!(seen(true, &[far]).0.payloads.is_empty());
    // A wrong checksum, a length that does not fit, an impossible transport header.
    for (at, value) in [(10, 0), (3, 200), (20 + 12, 0x10)] {
        let mut bad = sound(b"a");
        bad[at] = value;
        assert!(seen(true, &[[header(37), bad].concat()]).0.payloads.is_empty(), "byte {at}");
    }
}

#[test]
fn files_on_a_usb_stick_are_no_packets() {
    let command = [&b"USBC"[..], &[0; 27]].concat();
    assert_eq!(seen(false, &[frame(b"a"), command.clone(), frame(b"a")]).0.payloads, [1]);
    let block = padded([vec![0; 16], frame(b"a")].concat(), 512);
    assert!(seen(false, &[command, block]).0.payloads.is_empty());
}

#[test]
fn a_known_framing_stays_after_an_unverified_transfer() {
    // ARP has no row; an IP header with a wrong checksum has one, once the framing is known.
    let arp = ethernet(0x0806, &[0; 28]);
    let mut wrong = frame(b"abc");
    wrong[24] ^= 1;
    let transfers = [wrong.clone(), frame(b"a"), arp, wrong];
    let (seen, _) = seen(true, &transfers);
    assert_eq!((seen.payloads, seen.counts), (vec![1, 3], vec![0, 1, 0, 1]));
}

#[test]
fn a_snap_length_keeps_the_first_headers() {
    let whole = bulk(true, &rndis(&[frame(&[7; 1000]), frame(b"a")]), 1200);
    let p = one(USBMON, &whole[..64 + 44 + 14 + 40]);
    assert_eq!((p.payload_bytes, p.stop), (Some(1000), Stop::None));
}
