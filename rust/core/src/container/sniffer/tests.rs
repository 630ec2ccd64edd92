use proptest::prelude::*;

use crate::container::build::*;
use crate::container::format_of;
use crate::error::ErrorKind;

/// The fields of a version record.
#[derive(Clone, Copy)]
struct Dos {
    major: u16,
    date: u16,
    network: u8,
    /// 1: literal; 2: compressed.
    format: u8,
    unit: u8,
    reserved: u16,
}

/// 30 January 2008, microseconds.
const ETHERNET: Dos = Dos { major: 4, date: 28 << 9 | 1 << 5 | 30, network: 1, format: 1, unit: 5, reserved: 0 };
const SERIAL: Dos = Dos { network: 7, ..ETHERNET };
const DAY: i64 = 13_908 * 86_400 * 1_000_000_000;
const END: &[u8] = b"\x03\0\0\0\0\0";

fn dos_record(kind: u16, body: &[u8]) -> Vec<u8> {
    [&u16s(false, &[kind, body.len() as u16, 0])[..], body].concat()
}

/// A frame record of type 4 with its fields as given.
fn frame(ticks: u64, days: u8, captured: u16, wire: u16, status: u8, data: &[u8]) -> Vec<u8> {
    let mut body = ticks.to_le_bytes()[..5].to_vec();
    body.push(days);
    body.extend(u16s(false, &[captured]));
    body.extend([status, 0]);
    body.extend(u16s(false, &[wire, 0]));
    body.extend_from_slice(data);
    dos_record(4, &body)
}

fn sound(i: u32) -> Vec<u8> {
    let data = payload(i);
    frame(u64::from(i) * 1000, 0, data.len() as u16, 0, 0, &data)
}

fn frames(range: std::ops::Range<u32>) -> Vec<u8> {
    range.flat_map(sound).collect()
}

impl Dos {
    fn header(&self) -> Vec<u8> {
        let mut body = u16s(false, &[self.major, 0, 0, self.date]);
        body.extend([4, self.network, self.format, self.unit, 0, 0]);
        body.extend(u16s(false, &[self.reserved, 0]));
        [&b"TRSNIFF data    \x1a"[..], &dos_record(1, &body)].concat()
    }

    fn file(&self, n: u32) -> Vec<u8> {
        self.with(&[frames(0..n), END.to_vec()].concat())
    }

    fn with(&self, records: &[u8]) -> Vec<u8> {
        [&self.header()[..], records].concat()
    }
}

/// Literal blocks of `size` bytes.
fn stored(bytes: &[u8], size: usize) -> Vec<u8> {
    bytes.chunks(size).flat_map(|c| [&(-(c.len() as i16)).to_le_bytes()[..], c].concat()).collect()
}

/// Blocks of `size` bytes, with the codes for runs and for repeated strings.
fn packed(bytes: &[u8], size: usize) -> Vec<u8> {
    bytes
        .chunks(size)
        .flat_map(|c| {
            let block = pack(c);
            [&(block.len() as i16).to_le_bytes()[..], &block].concat()
        })
        .collect()
}

fn pack(bytes: &[u8]) -> Vec<u8> {
    let (mut out, mut items, mut at) = (Vec::new(), Vec::<(bool, Vec<u8>)>::new(), 0);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let run = rest.iter().take(4000).take_while(|b| **b == rest[0]).count();
        let string = (3..=at.min(4000))
            .filter_map(|back| {
                let seen = &bytes[at - back..at];
                let same = seen.iter().zip(rest).take_while(|(a, b)| a == b).count().min(271);
                (same >= 3).then_some((same, back))
            })
            .max();
        let (item, taken) = match (run, string) {
            (19.., _) => (vec![0x10 | ((run - 19) & 0xf) as u8, ((run - 19) >> 4) as u8, rest[0]], run),
            (3..=18, None) => (vec![(run - 3) as u8, rest[0]], run),
            (_, Some((same @ 16.., back))) => {
                (vec![0x20 | ((back - 3) & 0xf) as u8, ((back - 3) >> 4) as u8, (same - 16) as u8], same)
            }
            (_, Some((same, back))) => {
                (vec![(same as u8) << 4 | ((back - 3) & 0xf) as u8, ((back - 3) >> 4) as u8], same)
            }
            _ => (vec![], 1),
        };
        items.push(if item.is_empty() { (false, vec![rest[0]]) } else { (true, item) });
        at += taken;
    }
    for group in items.chunks(16) {
        let flags = group.iter().enumerate().fold(0_u16, |f, (i, (coded, _))| f | u16::from(*coded) << (15 - i));
        out.extend(flags.to_le_bytes());
        out.extend(group.iter().flat_map(|(_, item)| item.clone()));
    }
    out
}

#[test]
fn plain_records() {
    let bytes = ETHERNET.file(5);
    let (rows, notes) = read_bytes(&bytes).unwrap();
    assert_eq!((rows.len(), notes), (5, vec![("local_time", 1, 29)]));
    assert_eq!((rows[2].time_ns, rows[2].wire_bytes, &rows[2].data), (Some(DAY + 2_000_000), 42, &payload(2)));
    assert_eq!((rows[0].link_type, rows[0].offset, rows[0].outgoing), (1, 41, None));
    assert_eq!(format_of(&bytes), Some("sniffer"));
    assert_eq!(rows, self::rows(&bytes[..bytes.len() - END.len()]), "the end need not be marked");
}

#[test]
fn lengths_and_other_frame_records() {
    let sliced = ETHERNET.with(&frame(1, 0, 60, 1514, 0, &[7; 60]));
    assert_eq!((rows(&sliced)[0].wire_bytes, rows(&sliced)[0].data.len()), (1514, 60));
    let padded = ETHERNET.with(&[frame(1, 0, 60, 0, 0, &[7; 64]), sound(1)].concat());
    let got = rows(&padded);
    assert_eq!((got.len(), got[0].data.len()), (2, 60));
    let six = [&[1, 0, 0, 0, 0, 0, 40, 0, 0, 0, 40, 0][..], &[0; 22], &[7; 40]].concat();
    let got = rows(&ETHERNET.with(&dos_record(12, &six)));
    assert_eq!((got[0].data.len(), got[0].time_ns), (40, Some(DAY + 1000)));
}

#[test]
fn clocks() {
    let since = |unit, ticks, days| {
        rows(&Dos { unit, ..ETHERNET }.with(&frame(ticks, days, 4, 0, 0, &[7; 4])))[0].time_ns.map(|t| t - DAY)
    };
    assert_eq!(since(0, 2, 0), Some(30_000));
    assert_eq!(since(1, 1_000_000, 0), Some(838_096_000));
    assert_eq!(since(1, 3, 0), Some(2514), "cut as the ticks are");
    assert_eq!(since(3, 1, 0), Some(500));
    assert_eq!(since(4, 1, 0), Some(2000));
    assert_eq!(since(6, 1, 2), Some(2 * 86_400 * 1_000_000_000 + 100));
    let latest = rows(&Dos { unit: 0, date: 0xfd9f, ..ETHERNET }.with(&frame((1 << 40) - 1, 255, 4, 0, 0, &[7; 4])));
    assert!(latest[0].time_ns > Some(50_000 * 86_400 * 1_000_000_000));
    let e = read_bytes(&Dos { unit: 7, ..ETHERNET }.file(1)).unwrap_err();
    assert_eq!((e.kind, e.offset), (ErrorKind::UnsupportedFormat, Some(34)));
    let (rows, notes) = read_bytes(&Dos { date: 0, ..ETHERNET }.file(2)).unwrap();
    assert_eq!((rows[1].time_ns, notes[0].0), (Some(1_000_000), "no_date"));
}

#[test]
fn compressed_records() {
    let whole = ETHERNET.file(200);
    let file = Dos { format: 2, ..ETHERNET };
    let records = &whole[41..];
    assert!(packed(records, 4000).len() < records.len() / 3);
    for (name, blocks) in [
        ("stored", stored(records, 1000)),
        ("packed", packed(records, 4000)),
        ("both", [packed(&records[..777], 400), stored(&records[777..], 4000)].concat()),
        ("with empty blocks", [&[0; 6][..], &packed(records, 2000)].concat()),
    ] {
        let (got, notes) = read_bytes(&file.with(&blocks)).unwrap();
        assert_eq!((got, notes), (rows(&whole), vec![("local_time", 1, 29)]), "{name}");
    }
    assert_eq!(rows(&gzip(&file.with(&packed(records, 4000)))), rows(&whole));
}

#[test]
fn damaged_blocks_cost_only_themselves() {
    let records = frames(0..300);
    let whole = rows(&ETHERNET.with(&records));
    let mut file = Dos { format: 2, ..ETHERNET }.with(&packed(&records, 4000));
    let second = 41 + 2 + usize::from(file[41]) + (usize::from(file[42]) << 8);
    file[second + 2..second + 40].fill(0xff);
    let (got, notes) = read_bytes(&file).unwrap();
    assert!(
        got.len() > 150
            && got.iter().filter(|r| whole.iter().any(|w| w.data == r.data && w.time_ns == r.time_ns)).count()
                >= got.len() - 1
    );
    assert_eq!(got.last().map(|r| r.time_ns), whole.last().map(|r| r.time_ns));
    assert!(notes.iter().any(|n| n.0 == "compressed_damaged"), "{notes:?}");
}

#[test]
fn records_without_packets_are_skipped() {
    let about = [dos_record(6, &[7; 300]), dos_record(13, &[]), dos_record(17, &[1, 2, 3])].concat();
    assert_eq!(rows(&ETHERNET.with(&[about.clone(), frames(0..3)].concat())).len(), 3);
    let v2 = Dos { major: 2, ..ETHERNET }.with(&[dos_record(8, b"session\n"), frames(0..3)].concat());
    assert_eq!(rows(&v2).len(), 3);
    let between = ETHERNET.with(&[frames(0..3), about, frames(3..6), END.to_vec(), vec![0xee; 9]].concat());
    let (rows, notes) = read_bytes(&between).unwrap();
    let names: Vec<_> = notes.iter().map(|n| (n.0, n.1)).collect();
    assert_eq!((rows.len(), names), (6, vec![("trailing_bytes", 1), ("block_skipped", 3), ("local_time", 1)]));
    let flood = ETHERNET.with(&[dos_record(6, &[]).repeat((1 << 20) + 3000), sound(0)].concat());
    let (rows, notes) = read_bytes(&flood).unwrap();
    assert_eq!(rows.len(), 0);
    assert!(notes.iter().any(|n| n.0 == "empty_run"));
}

#[test]
fn serial_lines() {
    let ppp = frame(1, 0, 4, 0, 0x80, &[0xff, 3, 0, 0x21]);
    let hdlc = frame(2, 0, 4, 0, 0, &[0x0f, 0, 8, 0]);
    let lapb = frame(3, 0, 2, 0, 0, &[1, 3]);
    let got = rows(&SERIAL.with(&[ppp.clone(), hdlc, lapb.clone()].concat()));
    assert_eq!(got.iter().map(|r| r.link_type).collect::<Vec<_>>(), [9, 104, 207]);
    assert_eq!((got[0].outgoing, got[1].outgoing), (Some(true), Some(false)));
    let about = |bytes: &[u8]| [dos_record(7, bytes), lapb.clone()].concat();
    assert_eq!(rows(&SERIAL.with(&about(&[0, 0, 0, 0, 4])))[0].link_type, 9);
    assert_eq!(rows(&SERIAL.with(&about(&[0, 0, 0, 0, 1])))[0].link_type, 207);
    assert_eq!(rows(&SERIAL.with(&about(&[0])))[0].link_type, 207);
    for (file, about, name) in [
        (SERIAL, about(&[0, 0, 0, 0, 0]), "SDLC"),
        (SERIAL, about(&[0, 0, 0, 0, 2]), "Frame Relay"),
        (SERIAL, about(&[0, 0xfa, 0, 0, 3]), "ISDN"),
        (Dos { major: 5, ..SERIAL }, about(&[0, 0, 0, 0, 3, 0, 1]), "ISDN"),
        (Dos { major: 1, reserved: 2, ..SERIAL }, ppp.clone(), "ISDN"),
        (Dos { major: 2, ..SERIAL }, about(b"HDLC\nX.25\nCLNP"), "X.25"),
        (Dos { major: 3, ..SERIAL }, ppp, "Frame Relay"),
        (Dos { network: 0, ..ETHERNET }, vec![], "Token Ring"),
        (Dos { network: 2, ..ETHERNET }, vec![], "ARCNET"),
        (Dos { network: 9, ..ETHERNET }, vec![], "FDDI"),
        (Dos { network: 10, ..ETHERNET }, vec![], "ATM"),
        (Dos { network: 5, ..ETHERNET }, vec![], "network 5"),
    ] {
        let e = read_bytes(&file.with(&about)).unwrap_err();
        assert_eq!(e.kind, ErrorKind::UnsupportedLinkType);
        assert!(e.what.contains(name) && e.offset.is_some() && !e.next.is_empty(), "{e}");
    }
}

#[test]
fn a_file_must_begin_with_its_version() {
    let mut file = ETHERNET.file(2);
    file[17] = 4;
    let e = read_bytes(&file).unwrap_err();
    assert_eq!((e.kind, e.offset), (ErrorKind::CorruptCapture, Some(17)));
}

#[test]
fn damage_costs_only_itself() {
    let damaged =
        |middle: &[u8]| ETHERNET.with(&[frames(0..11), middle.to_vec(), frames(11..22), END.to_vec()].concat());
    let at = ETHERNET.with(&frames(0..11)).len() as u64;
    let (rows, notes) = read_bytes(&damaged(&[0xee; 37])).unwrap();
    assert_eq!((rows.len(), notes[0]), (22, ("bytes_skipped", 37, at)));
    let (rows, notes) = read_bytes(&damaged(&[0; 500])).unwrap();
    assert_eq!((rows.len(), notes[0].0, notes[0].2), (22, "zero_run", at));
    let (rows, notes) = read_bytes(&damaged(&frame(10_500, 0, 60, 0, 0, &[7; 40]))).unwrap();
    assert_eq!((rows.len(), rows[11].data.len(), notes[0].0), (23, 40, "packet_over_block"));
    let (rows, notes) = read_bytes(&damaged(&frame(10_500, 0, 40, 20, 0, &[7; 40]))).unwrap();
    assert_eq!((rows.len(), notes[0].0), (23, "captured_over_wire"));
    let (rows, notes) = read_bytes(&damaged(&dos_record(4, &[7; 9]))).unwrap();
    assert_eq!((rows.len(), notes[0].0), (22, "block_short"));
    let (rows, notes) = read_bytes(&damaged(&frame(10_500, 0, 0, 60, 0, &[]))).unwrap();
    assert_eq!((rows.len(), notes[0].0), (23, "empty_records"));
    let (rows, _) = read_bytes(&damaged(&frame(10_500, 200, 40, 0, 0, &[7; 40]))).unwrap();
    assert_eq!(rows.len(), 23, "half a year ahead, but whole");
    let mut long = sound(0);
    long[2..4].fill(0xff);
    let (rows, notes) = read_bytes(&damaged(&long)).unwrap();
    assert_eq!((rows.len(), notes[0].0), (22, "bytes_skipped"));
}

#[test]
fn cut_at_every_byte() {
    let plain = ETHERNET.file(4);
    let all = rows(&plain);
    for whole in [plain.clone(), Dos { format: 2, ..ETHERNET }.with(&packed(&plain[41..], 100))] {
        for n in 0..whole.len() {
            match read_bytes(&whole[..n]) {
                Ok((rows, notes)) => {
                    assert_eq!(rows[..], all[..rows.len()]);
                    let said = |name| notes.iter().any(|n| n.0 == name);
                    let boundary = rows.last().map_or(41, |r| r.offset as usize + 20 + r.data.len());
                    assert!(
                        n == boundary
                            || said("cut_file")
                            || said("compressed_cut")
                            || said("no_packets")
                            || !rows.is_empty(),
                        "{n} {notes:?}"
                    );
                }
                Err(e) => assert!(n < 41, "{n} {e}"),
            }
        }
    }
}

proptest! {
    #[test]
    fn hostile_headers_never_panic(head in prop::collection::vec(any::<u8>(), 24), tail in prop::collection::vec(any::<u8>(), 0..400), version: bool) {
        let mut file = [&b"TRSNIFF data    \x1a"[..], &head, &tail].concat();
        if version {
            file[17..23].copy_from_slice(&[1, 0, 18, 0, 0, 0]);
            file[34] %= 7;
            file[32] = [1, 7, 8][usize::from(file[32] % 3)];
        }
        let _any = read_bytes(&file);
    }

    #[test]
    fn mutated_files_never_panic(at in 17_usize..900, value: u8, n in 41_usize..900, compressed: bool) {
        let plain = ETHERNET.file(9);
        let mut file = if compressed { Dos { format: 2, ..ETHERNET }.with(&packed(&plain[41..], 200)) } else { plain };
        let length = file.len();
        file[at % length] = value;
        file.truncate(n);
        let _any = read_bytes(&file);
    }

    #[test]
    fn packing_and_unpacking_are_inverse(bytes in prop::collection::vec(0_u8..3, 0..3000)) {
        let mut out = Vec::new();
        prop_assert!(super::blocks::expand(&pack(&bytes), &mut out).is_some());
        prop_assert_eq!(out, bytes);
    }
}
