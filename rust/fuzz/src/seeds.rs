//! Small captures and frames built in code.

use std::io::Write;

pub mod air;
pub mod crypto;
mod mac_header;
pub mod sniffer;
pub mod usb;

type Pack = fn(&[u8]) -> Vec<u8>;
pub const PACKERS: [Pack; 3] = [gzip, zstd, lz4];

const T0: u32 = 1_700_000_000;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut e = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    e.write_all(bytes).and_then(|()| e.finish()).expect("a Vec takes all")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut e = lz4_flex::frame::FrameEncoder::new(Vec::new());
    e.write_all(bytes).expect("a Vec takes all");
    e.finish().expect("a Vec takes all")
}

fn words(big_endian: bool, words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| if big_endian { w.to_be_bytes() } else { w.to_le_bytes() }).collect()
}

fn halves(big_endian: bool, halves: &[u16]) -> Vec<u8> {
    halves.iter().flat_map(|w| if big_endian { w.to_be_bytes() } else { w.to_le_bytes() }).collect()
}

fn pcap_of(magic: u32, big_endian: bool, version: u16, link_type: u32, frames: &[Vec<u8>]) -> Vec<u8> {
    let e = big_endian;
    let mut out = [words(e, &[magic]), halves(e, &[2, version]), words(e, &[0, 0, 262_144, link_type])].concat();
    for (i, frame) in frames.iter().enumerate() {
        let n = frame.len() as u32;
        out.extend(words(e, &[T0, i as u32 * 1000, n, n]));
        if magic == 0xa1b2_cd34 {
            out.extend([0; 8]);
        }
        out.extend_from_slice(frame);
    }
    out
}

/// pcap in its variants, one file per link type that has a frame.
pub fn pcap() -> Vec<Vec<u8>> {
    let ethernet = frames().into_iter().find(|f| f.0 == 1).map(|f| f.1).unwrap_or_default();
    let mut out: Vec<Vec<u8>> =
        frames().into_iter().map(|(t, f)| pcap_of(0xa1b2_c3d4, false, 4, t.into(), &f)).collect();
    for (magic, big_endian, version) in
        [(0xa1b2_3c4d, true, 4), (0xa1b2_cd34, false, 4), (0xa1b2_c3d4, true, 3), (0xa1b2_c3d4, false, 2)]
    {
        out.push(pcap_of(magic, big_endian, version, 1, &ethernet));
    }
    out.push([pcap_of(0xa1b2_c3d4, false, 4, 1, &ethernet), pcap_of(0xa1b2_3c4d, true, 4, 1, &ethernet)].concat());
    out
}

fn block(e: bool, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let total = padded as u32 + 12;
    let mut out = words(e, &[kind, total]);
    out.extend_from_slice(body);
    out.resize(8 + padded, 0);
    out.extend(words(e, &[total]));
    out
}

fn option(e: bool, code: u16, value: &[u8]) -> Vec<u8> {
    let mut out = halves(e, &[code, value.len() as u16]);
    out.extend_from_slice(value);
    out.resize(4 + value.len().next_multiple_of(4), 0);
    out
}

fn section(e: bool, frames: &[Vec<u8>]) -> Vec<u8> {
    let head = [words(e, &[0x1a2b_3c4d]), halves(e, &[1, 0]), vec![0xff; 8], option(e, 3, b"Linux")].concat();
    let mut out = block(e, 0x0a0d_0d0a, &head);
    let taps = [option(e, 2, b"eth0"), option(e, 9, &[9]), option(e, 13, &[4]), option(e, 14, &[0; 8])].concat();
    out.extend(block(e, 1, &[&halves(e, &[1, 0])[..], &words(e, &[0]), &taps].concat()));
    out.extend(block(e, 1, &[&halves(e, &[127, 0])[..], &words(e, &[96])].concat()));
    for (i, frame) in frames.iter().enumerate() {
        let n = frame.len() as u32;
        let padded = [&frame[..], &[0; 3][..(4 - frame.len() % 4) % 4]].concat();
        let comment = [option(e, 1, b"hello"), option(e, 2, &words(e, &[2])), option(e, 4, &[1; 8])].concat();
        out.extend(match i % 3 {
            0 => block(e, 6, &[&words(e, &[0, 0x17, i as u32, n, n])[..], &padded, &comment].concat()),
            1 => block(e, 3, &[&words(e, &[n])[..], &padded].concat()),
            _ => block(e, 2, &[&halves(e, &[0, 1])[..], &words(e, &[0x17, i as u32, n, n]), &padded].concat()),
        });
    }
    out.extend(block(e, 5, &[&words(e, &[0, 0, 0])[..], &option(e, 5, &[9; 8])].concat()));
    out.extend(block(e, 4, b"names"));
    out
}

/// pcapng with every kind of block, in both byte orders.
pub fn pcapng() -> Vec<Vec<u8>> {
    let frames: Vec<Vec<u8>> = frames().into_iter().flat_map(|f| f.1).take(6).collect();
    let (le, be) = (section(false, &frames), section(true, &frames));
    vec![[&le[..], &be].concat(), le, be]
}

/// Every compression of a pcap and of a pcapng, in one frame and in two.
pub fn packed() -> Vec<Vec<u8>> {
    let plain = [pcap().remove(0), pcapng().remove(0)];
    let mut out = Vec::new();
    for pack in PACKERS {
        for file in &plain {
            let (front, back) = file.split_at(file.len() / 2);
            out.push(pack(file));
            out.push([pack(front), pack(back)].concat());
        }
    }
    out.push([&b"\x5a\x2a\x4d\x18\x05\0\0\0hello"[..], &zstd(&plain[0])].concat());
    out
}

/// An IPv4 TCP packet without checksums.
fn tcp(up: bool, seq: u32, ack: u32, flags: u8, options: &[u8], payload: usize) -> Vec<u8> {
    let (src, dst) = if up { ([10, 0, 0, 1], [10, 0, 0, 2]) } else { ([10, 0, 0, 2], [10, 0, 0, 1]) };
    let ports: [u16; 2] = if up { [40_000, 5001] } else { [5001, 40_000] };
    let offset = (20 + options.len()).div_ceil(4) as u8;
    let mut segment = halves(true, &ports);
    segment.extend(words(true, &[seq, ack]));
    segment.extend([offset << 4, flags]);
    segment.extend(halves(true, &[64_240, 0, 0]));
    segment.extend_from_slice(options);
    segment.resize(usize::from(offset) * 4, 1);
    segment.resize(usize::from(offset) * 4 + payload, b'x');
    let mut out = vec![0x45, 0];
    out.extend(halves(true, &[20 + segment.len() as u16, (seq & 0xffff) as u16, 0x4000]));
    out.extend([64, 6, 0, 0]);
    out.extend(src);
    out.extend(dst);
    out.extend(segment);
    out
}

fn timestamps(value: u32, echo: u32) -> Vec<u8> {
    [&[1, 1, 8, 10][..], &words(true, &[value, echo])].concat()
}

/// The IP packets of a connection with a loss, a SACK and a timeout.
fn connection() -> Vec<Vec<u8>> {
    let syn = [&[2, 4, 5, 0xb4, 4, 2][..], &timestamps(1, 0)[2..], &[1, 3, 3, 7]].concat();
    let ts = |v, e| timestamps(v, e);
    let sack = [&ts(9, 8)[..], &[1, 1, 5, 10], &words(true, &[1201, 1301])].concat();
    vec![
        tcp(true, 1000, 0, 2, &syn, 0),
        tcp(false, 9000, 1001, 0x12, &syn, 0),
        tcp(true, 1001, 9001, 0x10, &ts(2, 1), 0),
        tcp(true, 1001, 9001, 0x18, &ts(3, 1), 100),
        tcp(true, 1101, 9001, 0x18, &ts(3, 1), 100),
        tcp(true, 1201, 9001, 0x18, &ts(3, 1), 100),
        tcp(false, 9001, 1101, 0x10, &ts(9, 3), 0),
        tcp(false, 9001, 1101, 0x10, &sack, 0),
        tcp(true, 1101, 9001, 0x18, &ts(5, 9), 100),
        tcp(false, 9001, 1301, 0x10, &ts(10, 5), 0),
        tcp(true, 1301, 9001, 0x11, &ts(6, 10), 0),
        tcp(false, 9001, 1302, 0x11, &ts(11, 6), 0),
        tcp(true, 1302, 9002, 0x10, &ts(7, 11), 0),
    ]
}

const ETHERNET: &[u8] = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x08\0";

/// Whole connections over Ethernet, as pcap.
pub fn connections() -> Vec<Vec<u8>> {
    let frames: Vec<Vec<u8>> = connection().iter().map(|p| [ETHERNET, p].concat()).collect();
    let rto: Vec<Vec<u8>> = [&frames[..4], &frames[3..4], &frames[3..4], &frames[4..]].concat();
    vec![pcap_of(0xa1b2_c3d4, false, 4, 1, &frames), pcap_of(0xa1b2_c3d4, false, 4, 1, &rto)]
}

/// Link type and frames: one entry per wire format.
pub fn frames() -> Vec<(u16, Vec<Vec<u8>>)> {
    let ip = connection();
    let before = |head: &[u8]| -> Vec<Vec<u8>> { ip.iter().map(|p| [head, p].concat()).collect() };
    let ip6 = |payload: &[u8], next: u8| {
        let mut out = vec![0x60, 0, 0, 0];
        out.extend(halves(true, &[payload.len() as u16]));
        out.extend([next, 64]);
        out.extend([0xfd; 32]);
        out.extend_from_slice(payload);
        out
    };
    let hop = [&[6, 0, 1, 4, 0, 0, 0, 0][..], &ip[3][20..]].concat();
    let v6 = vec![ip6(&ip[3][20..], 6), ip6(&hop, 0), ip6(&[&[6, 0, 0, 1, 0, 0, 0, 1][..], &ip[3][20..]].concat(), 44)];
    let mut ethernet = before(ETHERNET);
    ethernet.extend(v6.iter().map(|p| [&ETHERNET[..12], b"\x86\xdd", p].concat()));
    for tags in [
        &b"\x81\0\0\x07\x08\0"[..],
        b"\x88\xa8\0\x07\x81\0\0\x08\x08\0",
        b"\x88\x64\x11\0\0\x01\0\x5a\0\x21",
        b"\x88\x47\0\0\x11\x40",
    ] {
        ethernet.push([&ETHERNET[..12], tags, &ip[3]].concat());
    }
    let llc = [&ETHERNET[..12], b"\0\x50\xaa\xaa\x03\0\0\0\x08\0", &ip[3]].concat();
    ethernet.push(llc);
    let data =
        b"\x08\x01\0\0\x02\xaa\0\0\0\x01\x02\xbb\0\0\0\x02\xff\xff\xff\xff\xff\xff\x10\0\xaa\xaa\x03\0\0\0\x08\0";
    let qos = b"\x88\x01\0\0\x02\xaa\0\0\0\x01\x02\xbb\0\0\0\x02\xff\xff\xff\xff\xff\xff\x10\0\x80\0";
    let subframe =
        [&ETHERNET[..12], &halves(true, &[8 + ip[3].len() as u16]), b"\xaa\xaa\x03\0\0\0\x08\0", &ip[3]].concat();
    let amsdu = [&qos[..], &subframe, &[0; 2], &subframe].concat();
    let mut dot11 = before(data);
    dot11.push(amsdu.clone());
    let radiotap = b"\0\0\x17\0\x2f\0\0\0\x01\0\0\0\0\0\0\0\x10\x16\x85\x09\xa0\0\xce";
    let mut over_radiotap = before(&[&radiotap[..], data].concat());
    over_radiotap.push([&radiotap[..], &amsdu].concat());
    vec![
        (1, ethernet),
        (0, before(&[2, 0, 0, 0])),
        (9, before(b"\xff\x03\0\x21")),
        (101, [&ip[..], &v6].concat()),
        (105, dot11),
        (113, before(b"\0\0\0\x01\0\x06\x02\0\0\0\0\x01\0\0\x08\0")),
        (127, over_radiotap),
        (192, before(&[&b"\0\0\x08\0\x69\0\0\0"[..], data].concat())),
        (276, before(b"\x08\0\0\0\0\0\0\x01\0\x01\0\x06\x02\0\0\0\0\x01\0\0")),
    ]
}

/// A pcap in microseconds of records with their times in microseconds and their lengths on the wire.
pub fn pcap_at(link_type: u16, records: &[(u64, u32, Vec<u8>)]) -> Vec<u8> {
    let mut out = pcap_of(0xa1b2_c3d4, false, 4, link_type.into(), &[]);
    for (us, wire, data) in records {
        let (s, us) = (u64::from(T0) + us / 1_000_000, us % 1_000_000);
        out.extend(words(false, &[s as u32, us as u32, data.len() as u32, *wire]));
        out.extend_from_slice(data);
    }
    out
}
