//! 802.11 frames of every type, and every capture header before them.

use super::crypto;
use super::mac_header::{header, AP};
use super::{connection, halves, words};

const STATION: [u8; 6] = [2, 0xbb, 0, 0, 0, 2];
const SNAP_IP: &[u8] = b"\xaa\xaa\x03\0\0\0\x08\0";
const SNAP_EAPOL: &[u8] = b"\xaa\xaa\x03\0\0\0\x88\x8e";

fn element(id: u8, value: &[u8]) -> Vec<u8> {
    [&[id, value.len() as u8][..], value].concat()
}

fn beacon(fc: u16, fixed: usize) -> Vec<u8> {
    let mut out = header(fc, [0xff; 6], AP, 1);
    out.extend(vec![1; fixed]);
    for (id, value) in [
        (0_u8, &b"net"[..]),
        (1, &[0x82, 0x84, 0x8b, 0x96]),
        (3, &[6]),
        (5, &[0, 1, 0, 0]),
        (45, &[0x6f; 26]),
        (61, &[6; 22]),
        (191, &[0x32; 12]),
        (192, &[1, 42, 0, 0, 0]),
        (255, &[35, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22]),
        (255, &[108, 0, 0, 1, 1, 0, 0, 0, 0, 0]),
        (221, &[0, 0x50, 0xf2, 1, 1, 0, 0, 0x50, 0xf2, 2, 1, 0, 0, 0x50, 0xf2, 2, 1, 0, 0, 0x50, 0xf2, 2]),
    ] {
        out.extend(element(id, value));
    }
    out.extend(crypto::RSN);
    out
}

fn control(fc: u16, body: &[u8]) -> Vec<u8> {
    [&halves(false, &[fc, 44])[..], &STATION, &AP, body].concat()
}

/// Control frames, Block Acks with each kind of bitmap among them.
fn controls() -> Vec<Vec<u8>> {
    let start = halves(false, &[10 << 4]);
    let block_ack = |kind: u16, rest: &[u8]| control(0x94, &[&halves(false, &[kind << 1])[..], rest].concat());
    let short = |fc: u16| [&halves(false, &[fc, 44])[..], &STATION].concat();
    vec![
        short(0xc4),
        short(0xd4),
        control(0xb4, &[]),
        control(0xa4, &[]),
        control(0xe4, &[]),
        control(0x84, &[&halves(false, &[2 << 1])[..], &start].concat()),
        control(0x84, &[&halves(false, &[3 << 1 | 1 << 12, 0, 10 << 4, 1 << 12, 20 << 4])[..]].concat()),
        block_ack(0, &[&start[..], &[0xff; 128]].concat()),
        block_ack(1, &[&start[..], &[0xff; 8]].concat()),
        block_ack(2, &[&start[..], &[0x0f; 8]].concat()),
        block_ack(2, &[&halves(false, &[10 << 4 | 4])[..], &[0xff; 32]].concat()),
        block_ack(2, &[&halves(false, &[10 << 4 | 10])[..], &[0xff; 128]].concat()),
        block_ack(3, &[&halves(false, &[0])[..], &start, &[0xff; 8]].concat()),
        block_ack(11, &[&halves(false, &[1, 10 << 4])[..], &[0xff; 8], &halves(false, &[1 << 11 | 2])].concat()),
        block_ack(11, &[&halves(false, &[2045])[..], &[0; 4], &STATION].concat()),
        control(0x54, &[1, 0, 0, 1, 2, 3]),
        control(0x24, &[0; 20]),
        control(0x74, &[&[0, 0, 0, 0][..], &control(0x84, &start)].concat()),
        [&halves(false, &[0x0c, 0])[..], &[7; 30]].concat(),
    ]
}

/// An exchange in the order of a capture: management, the handshake, open and encrypted data, its ACKs.
pub fn mpdus() -> Vec<Vec<u8>> {
    let mut out = vec![
        beacon(0x80, 12),
        beacon(0x50, 12),
        beacon(0x40, 0),
        beacon(0x00, 4),
        beacon(0x20, 10),
        [header(0xb0, AP, STATION, 2), vec![0, 0, 1, 0, 0, 0]].concat(),
        [header(0xd0, AP, STATION, 3), vec![3, 0, 1, 2, 0x10, 0, 0, 0xa0, 0]].concat(),
        [header(0xd0, STATION, AP, 3), vec![3, 1, 1, 0, 0, 2, 0x10, 0, 0]].concat(),
        [header(0xd0, STATION, AP, 4), vec![3, 2, 0, 8, 1, 0]].concat(),
        [header(0xc0, STATION, AP, 5), vec![7, 0]].concat(),
    ];
    out.extend(crypto::handshake(AP, STATION).into_iter().enumerate().map(|(i, eapol)| {
        let (fc, to, from) = if i % 2 == 0 { (0x0208, STATION, AP) } else { (0x0108, AP, STATION) };
        [&header(fc, to, from, 10 + i as u16)[..], SNAP_EAPOL, &eapol].concat()
    }));
    for (i, ip) in connection().iter().enumerate() {
        let seq = 20 + i as u16;
        let body = [SNAP_IP, ip].concat();
        let qos = [&header(0x0188, AP, STATION, seq)[..], &[0, 0]].concat();
        out.push(control(0xb4, &[]));
        out.push([&halves(false, &[0xc4, 44])[..], &STATION].concat());
        out.push([&qos[..], &body].concat());
        let mut again = [&qos[..], &body].concat();
        again[1] |= 8;
        out.push(again);
        out.push([&halves(false, &[0xd4, 0])[..], &STATION].concat());
        out.push([&header(0x0108, AP, STATION, 100 + seq)[..], &body].concat());
        out.push(crypto::ccmp(AP, STATION, 200 + seq, u64::from(seq), &body));
        out.push(crypto::wep(&header(0x4108, AP, STATION, 300 + seq), &body));
        // TKIP: the extended IV, then random bytes.
        out.push(
            [&header(0x4108, AP, STATION, 400 + seq)[..], &[0, 0x20, 1, 0x20, 0, 0, 0, 0], &body, &[9; 12]].concat(),
        );
        let (front, back) = body.split_at(body.len() / 2);
        out.push([&header(0x0508, AP, STATION, 500 + seq)[..], front].concat());
        let mut last = [&header(0x0108, AP, STATION, 500 + seq)[..], back].concat();
        last[22] |= 1;
        out.push(last);
    }
    let four = [&header(0x0388, AP, STATION, 700)[..], &STATION, &[0, 0], SNAP_IP, &connection()[3]].concat();
    let mesh =
        [&header(0x0388, AP, STATION, 701)[..], &STATION, &[0, 1], &[0, 31, 1, 0, 0, 0], SNAP_IP, &connection()[3]]
            .concat();
    let ht = [&header(0x8188, AP, STATION, 702)[..], &[0, 0], &[3, 0, 0, 0], SNAP_IP, &connection()[3]].concat();
    out.extend([
        four,
        mesh,
        ht,
        header(0x0148, AP, STATION, 703),
        [&header(0x01c8, AP, STATION, 704)[..], &[0, 0]].concat(),
    ]);
    out.extend(controls());
    out
}

/// A radiotap header of fields (bit, alignment, bytes).
fn radiotap(fields: &[(u32, usize, &[u8])]) -> Vec<u8> {
    let present = fields.iter().fold(0, |p, f| p | 1_u32 << f.0);
    let mut out = [&[0; 4][..], &words(false, &[present])].concat();
    for (_, align, bytes) in fields {
        out.resize(out.len().next_multiple_of(*align), 0);
        out.extend_from_slice(bytes);
    }
    let length = out.len() as u16;
    out[2..4].copy_from_slice(&length.to_le_bytes());
    out
}

type Fields = [(u32, usize, &'static [u8])];

/// Fields that every header has.
const COMMON: &Fields = &[
    (0, 8, &[1, 2, 3, 4, 5, 6, 7, 0]),
    (1, 1, &[0x10]),
    (3, 2, &[0x6c, 9, 0xc0, 0]),
    (5, 1, &[0xce]),
    (6, 1, &[0xa0]),
    (11, 1, &[1]),
    (14, 2, &[0, 0]),
];

/// The fields of each PHY.
const PHYS: [&Fields; 9] = [
    &[(2, 1, &[22])],
    &[(2, 1, &[108]), (15, 2, &[0, 0]), (16, 1, &[1]), (17, 1, &[2])],
    &[(19, 1, &[0x7f, 0x04, 7])],
    &[(19, 1, &[0x7f, 0x05, 15]), (20, 4, &[1, 0, 0, 0, 0x0c, 0, 0, 0])],
    &[(20, 4, &[2, 0, 0, 0, 0, 0, 0, 0]), (21, 2, &[0xff, 1, 4, 4, 0x92, 0x93, 0, 0, 1, 0, 0, 0])],
    &[
        (22, 8, &[1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0x22, 3]),
        (23, 2, &[0xff, 0xff, 0xff, 0xff, 0, 0, 0xb2, 0x40, 4, 0x20, 2, 0]),
    ],
    &[
        (23, 2, &[0xfe, 0xff, 0xff, 0xff, 0, 0, 0xb2, 0x40, 4, 0x20, 2, 0]),
        (24, 2, &[0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4, 5, 6, 7, 8]),
        (25, 2, &[1, 2, 0xff, 3, 4, 5]),
        (27, 2, &[3, 0, 0x9b, 0x12]),
    ],
    &[(26, 1, &[0]), (27, 2, &[3, 0, 0x9b, 0x12])],
    &[(
        28,
        4,
        &[
            33, 0, 12, 0, 0xff, 0xff, 0xff, 0xff, 7, 1, 2, 3, 9, 9, 9, 9, 34, 0, 44, 0, 0xff, 0xff, 0xff, 0xff, 0, 0,
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x7f,
            1, 2, 3,
        ],
    )],
];

/// One radiotap header of each PHY, then two present words, a vendor's namespace, and transmitted.
fn radiotaps() -> Vec<Vec<u8>> {
    let mut out: Vec<Vec<u8>> = PHYS
        .iter()
        .map(|phy| {
            let mut fields: Vec<_> = COMMON.iter().chain(*phy).copied().collect();
            fields.sort_by_key(|f| f.0);
            radiotap(&fields)
        })
        .collect();
    out.push(
        [&[0, 0, 24, 0][..], &words(false, &[0xa000_0021, 0x20]), &[0; 4], &[7; 8], &[0xce, 0xcd, 0, 0][..0]].concat(),
    );
    let vendor =
        [&words(false, &[0xc000_0002, 0x2000_0007, 0x20])[..], &[0x10, 0, 0x50, 0x43, 0, 0, 4, 0], &[9; 4], &[0xce]]
            .concat();
    out.push([&[0, 0][..], &halves(false, &[4 + vendor.len() as u16]), &vendor].concat());
    out.push(radiotap(&[(2, 1, &[2]), (15, 2, &[1, 0]), (17, 1, &[4])]));
    out
}

fn prism() -> Vec<u8> {
    let mut out = words(false, &[0x44, 144]);
    out.extend(b"wlan0\0\0\0\0\0\0\0\0\0\0\0");
    for (did, value) in [
        (0x10044, 5),
        (0x20044, 6),
        (0x30044, 6),
        (0x40044, 40),
        (0x50044, 1),
        (0x60044, 0xd0),
        (0x70044, 0xa0),
        (0x80044, 22),
        (0x90044, 0),
        (0xa0044, 100),
    ] {
        out.extend(words(false, &[did]));
        out.extend(halves(false, &[0, 4]));
        out.extend(words(false, &[value]));
    }
    out
}

fn avs() -> Vec<u8> {
    let mut out = words(true, &[0x8021_1002, 64]);
    out.extend([0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 9]);
    out.extend(words(true, &[4, 6, 110, 0, 0, 2, (-50_i32) as u32, (-95_i32) as u32, 0, 2]));
    out
}

fn ppi() -> Vec<u8> {
    let common = [&[1, 2, 3, 4, 5, 6, 7, 0][..], &halves(false, &[1, 22, 2412, 0xa0]), &[0, 0, 0xce, 0xa0]].concat();
    let mac = [&words(false, &[0x3e, 1])[..], &[2, 0, 0, 0]].concat();
    let phy = [
        &words(false, &[0x3e, 1])[..],
        &[2, 7, 1, 40],
        &[0xce; 8],
        &halves(false, &[5180, 0x140]),
        &[0xce, 0xa0].repeat(4),
        &[0; 16],
    ]
    .concat();
    let fields: Vec<u8> = [(2_u16, common), (3, mac), (4, phy)]
        .iter()
        .flat_map(|(kind, body)| [&halves(false, &[*kind, body.len() as u16])[..], body].concat())
        .collect();
    [&[0, 0][..], &halves(false, &[8 + fields.len() as u16]), &words(false, &[105]), &fields].concat()
}

/// Link type and its capture headers.
pub fn headers() -> Vec<(u16, Vec<Vec<u8>>)> {
    vec![(105, vec![vec![]]), (127, radiotaps()), (119, vec![prism(), avs()]), (163, vec![avs()]), (192, vec![ppi()])]
}

/// Link type and records: every MPDU after a header, the headers in turn.
pub fn records() -> Vec<(u16, Vec<Vec<u8>>)> {
    let mpdus = mpdus();
    headers()
        .into_iter()
        .map(|(link_type, headers)| {
            let behind = mpdus.iter().enumerate().map(|(i, m)| [&headers[i % headers.len()][..], m].concat());
            (link_type, behind.collect())
        })
        .collect()
}
