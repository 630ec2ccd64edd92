use proptest::prelude::*;

use crate::container::build::*;
use crate::container::{format_of, open};
use crate::error::ErrorKind;
use crate::notes::Notes;
use crate::phy::{Phy, Radio};

/// The fields of a NetXRay file header.
#[derive(Clone, Copy)]
struct NetXRay {
    version: &'static [u8; 8],
    network: u8,
    plus: u8,
    unit: u8,
    capture_type: u8,
    real_tick: u32,
    start_ticks: u64,
    frames: u32,
    first: u32,
    end: u32,
}

/// Microseconds, Ethernet, no end in the header.
const TWO: NetXRay = NetXRay {
    version: b"002.001\0",
    network: 0,
    plus: 0,
    unit: 0,
    capture_type: 0,
    real_tick: 0,
    start_ticks: 0,
    frames: 0,
    first: 128,
    end: 0,
};
const OLD: NetXRay = NetXRay { version: b"\0\0\0\0\0\0\0\0", ..TWO };
const ONE: NetXRay = NetXRay { version: b"001.100\0", ..TWO };
const AIR: NetXRay = NetXRay { network: 9, ..TWO };

impl NetXRay {
    fn header(&self) -> Vec<u8> {
        let mut h = vec![0; 128];
        let mut put = |at: usize, bytes: &[u8]| h[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, if self.version == OLD.version { b"VL\0\0" } else { b"XCP\0" });
        put(4, self.version);
        put(12, &u32s(false, &[T0, self.frames]));
        put(24, &u32s(false, &[self.first, self.end]));
        put(44, &[self.network, self.plus, 0, 0, self.unit]);
        put(52, &self.start_ticks.to_le_bytes());
        put(76, &self.real_tick.to_le_bytes());
        put(84, &[self.capture_type]);
        h
    }

    fn record_bytes(&self) -> usize {
        match self.version[2] {
            0 => 16,
            b'1' => 28,
            _ => 40,
        }
    }

    /// A record with its fields as given; `more` is what a 2.x header has after the lengths.
    fn raw(&self, ticks: u64, wire: u16, captured: u16, more: &[u8], data: &[u8]) -> Vec<u8> {
        let mut out = ticks.to_le_bytes().to_vec();
        out.extend(u16s(false, &[wire, captured]));
        out.extend_from_slice(more);
        out.resize(self.record_bytes(), 0);
        out.extend_from_slice(data);
        out
    }

    fn record(&self, i: u32) -> Vec<u8> {
        let data = payload(i);
        self.raw(u64::from(i) * 1000, data.len() as u16, data.len() as u16, &[], &data)
    }

    fn records(&self, range: std::ops::Range<u32>) -> Vec<u8> {
        range.flat_map(|i| self.record(i)).collect()
    }

    fn file(&self, n: u32) -> Vec<u8> {
        [self.header(), self.records(0..n)].concat()
    }

    /// The file of one record at `ticks`.
    fn at(&self, ticks: u64) -> Vec<u8> {
        [self.header(), self.raw(ticks, 40, 40, &[], &[7; 40])].concat()
    }
}

/// Nanoseconds since T0.
fn since(bytes: &[u8]) -> i64 {
    rows(bytes)[0].time_ns.expect("a time") - i64::from(T0) * 1_000_000_000
}

#[test]
fn every_generation() {
    for (file, ms) in [(OLD, 1000), (NetXRay { version: b"001.000\0", ..ONE }, 1000), (ONE, 1), (TWO, 1)] {
        let bytes = file.file(5);
        let (rows, notes) = read_bytes(&bytes).unwrap();
        assert_eq!((rows.len(), notes), (5, vec![]));
        let third = &rows[2];
        assert_eq!(third.time_ns, Some(i64::from(T0) * 1_000_000_000 + 2_000_000 * ms));
        assert_eq!((&third.data, third.wire_bytes, third.link_type), (&payload(2), 42, 1));
        assert_eq!(rows[0].offset, 128);
        assert_eq!(format_of(&bytes), Some("netxray"));
    }
}

#[test]
fn captured_is_less_than_the_wire() {
    let file = [TWO.header(), TWO.raw(5, 1514, 60, &[], &[7; 60])].concat();
    assert_eq!((rows(&file)[0].wire_bytes, rows(&file)[0].data.len()), (1514, 60));
}

#[test]
fn clocks() {
    let of = |unit, capture_type, real_tick| NetXRay { unit, capture_type, real_tick, ..TWO };
    assert_eq!(since(&of(0, 0, 0).at(1_500_000)), 1_500_000_000);
    assert_eq!(since(&of(1, 0, 0).at(1_193_000)), 1_000_000_000);
    assert_eq!(since(&of(2, 0, 1_193_182).at(1)), 838);
    assert_eq!(since(&of(2, 0, 3_579_545).at(3_579_545)), 1_000_000_000);
    assert_eq!(since(&of(0, 2, 0).at(7)), 7);
    assert_eq!(since(&of(2, 2, 0).at(31_250_000)), 1_000_000_000);
    assert_eq!(since(&of(0, 3, 0).at(7)), 7000);
    assert_eq!(since(&of(2, 3, 0).at(1)), 800);
    assert_eq!(since(&of(0, 5, 0).at(7)), 7000);
    assert_eq!(since(&of(2, 6, 0).at(1)), 50);
    assert_eq!(since(&NetXRay { unit: 2, ..AIR }.at(1_193_182)), 1_000_000_000);
    for (unit, capture_type, real_tick) in [(3, 0, 0), (2, 0, 0), (1, 2, 0), (2, 5, 0), (0, 4, 0), (0, 9, 0)] {
        let e = read_bytes(&of(unit, capture_type, real_tick).at(1)).unwrap_err();
        assert_eq!((e.kind, e.offset), (ErrorKind::UnsupportedFormat, Some(48)), "{e}");
        assert!(!e.next.is_empty());
    }
}

#[test]
fn where_the_ticks_start() {
    let started = NetXRay { start_ticks: 1 << 40, ..TWO };
    assert_eq!(since(&started.at((1 << 40) + 7)), 7000);
    assert_eq!(since(&started.at((1 << 40) - 7)), -7000);
    for (version, expected) in [(b"002.001\0", 7), (b"002.002\0", 7 + 1000), (b"002.003\0", 7 + 1000)] {
        let pod = NetXRay { version, capture_type: 2, start_ticks: 1000, ..TWO };
        assert_eq!(since(&pod.at(1007)), expected, "pods of 2.002 count from 0");
        let card = NetXRay { version, start_ticks: 1000, ..TWO };
        assert_eq!(since(&card.at(1007)), 7000);
    }
    let (rows, notes) = read_bytes(&TWO.at(i64::MAX as u64)).unwrap();
    assert_eq!((rows[0].time_ns, notes[0].0), (None, "time_not_representable"));
}

#[test]
fn four_bytes_behind_the_frame() {
    let flagged = [0, 0, 0xff, 0xff];
    let one = |file: NetXRay, more: &[u8]| {
        let r = rows(&[file.header(), file.raw(0, 64, 64, more, &[7; 64])].concat());
        (r[0].wire_bytes, r[0].data.len(), r[0].fcs_bytes)
    };
    let card = NetXRay { real_tick: 1_193_000, ..TWO };
    assert_eq!(one(card, &flagged), (64, 64, Some(4)));
    assert_eq!(one(card, &[]), (64, 64, Some(0)));
    assert_eq!(one(TWO, &flagged), (60, 60, Some(0)), "junk");
    assert_eq!(one(AIR, &flagged), (60, 60, Some(0)));
    assert_eq!(one(OLD, &[]), (64, 64, None));
    let short = [TWO.header(), TWO.raw(0, 2, 2, &flagged, &[7; 2])].concat();
    assert_eq!((rows(&short)[0].wire_bytes, rows(&short)[0].data.len()), (0, 0));
}

fn radio(more: &[u8]) -> Option<Radio> {
    let file = [AIR.header(), AIR.raw(0, 40, 40, more, &[7; 40])].concat();
    let mut source = open(Box::new(std::io::Cursor::new(file))).unwrap();
    source.next_record(&mut Notes::default()).unwrap().unwrap().radio.copied()
}

#[test]
fn what_the_adapter_heard() {
    let heard = |channel, rate| {
        let mut more = [0; 28];
        more[12..14].copy_from_slice(&[channel, rate]);
        let p = radio(&more).unwrap().ppdu;
        (p.phy, p.rate_mbps, p.channel_mhz)
    };
    assert_eq!(heard(0, 0), (None, None, None), "the adapter did not tell");
    assert_eq!(heard(6, 22), (Some(Phy::B), Some(11.0), Some(2437)));
    assert_eq!(heard(14, 11), (Some(Phy::B), Some(5.5), Some(2484)));
    assert_eq!(heard(1, 108), (Some(Phy::G), Some(54.0), Some(2412)));
    assert_eq!(heard(36, 12), (Some(Phy::A), Some(6.0), Some(5180)));
    assert_eq!(heard(36, 22), (None, Some(11.0), Some(5180)), "no such rate there");
    assert_eq!(heard(200, 108), (None, Some(54.0), None));
    assert_eq!(rows(&TWO.file(1))[0].link_type, 1);
    assert_eq!(rows(&AIR.file(1))[0].link_type, 105);
}

#[test]
fn serial_lines() {
    let wan = |capture_type| NetXRay { network: 3, capture_type, ..TWO };
    let ppp =
        [wan(3).header(), wan(3).raw(0, 4, 4, &[0; 28], &[7; 4]), wan(3).raw(0, 4, 4, &[1; 28], &[7; 4])].concat();
    let got = rows(&ppp);
    assert_eq!((got[0].link_type, got[0].outgoing, got[1].outgoing), (9, Some(false), Some(true)));
    assert_eq!(rows(&wan(19).file(1))[0].link_type, 104);
    assert_eq!(rows(&NetXRay { network: 3, ..ONE }.file(1))[0].link_type, 1, "through NDISWAN");
    assert_eq!(rows(&NetXRay { network: 1, plus: 2, ..TWO }.file(1))[0].link_type, 1, "the other numbering");
}

#[test]
fn what_is_not_read_is_named() {
    let e = |file: NetXRay| read_bytes(&file.file(2)).unwrap_err();
    for (file, name) in [
        (NetXRay { network: 1, ..TWO }, "Token Ring"),
        (NetXRay { network: 2, ..ONE }, "FDDI"),
        (NetXRay { network: 8, ..TWO }, "ATM"),
        (NetXRay { network: 77, ..TWO }, "network 78"),
        (NetXRay { network: 3, capture_type: 4, ..TWO }, "Frame Relay"),
        (NetXRay { network: 3, capture_type: 6, ..TWO }, "HDLC"),
        (NetXRay { network: 3, capture_type: 7, ..TWO }, "SDLC"),
        (NetXRay { network: 3, capture_type: 99, ..TWO }, "WAN type 99"),
    ] {
        let e = e(file);
        assert_eq!(e.kind, ErrorKind::UnsupportedLinkType);
        assert!(e.what.contains(name) && e.offset.is_some() && !e.next.is_empty(), "{e}");
    }
    for file in [NetXRay { version: b"009.9\x1b<\0", ..TWO }, NetXRay { plus: 7, ..TWO }] {
        let e = e(file);
        assert_eq!(e.kind, ErrorKind::UnsupportedFormat);
        assert!(!e.what.contains('\x1b') && e.offset.is_some() && !e.next.is_empty(), "{e}");
    }
}

#[test]
fn where_the_records_end() {
    let whole = TWO.file(5);
    let told = |end, frames| NetXRay { end, frames, ..TWO }.header();
    let file = |header: Vec<u8>| [&header[..], &whole[128..]].concat();
    let with_rest = [file(told(whole.len() as u32, 5)), vec![0xee; 100]].concat();
    let (rows, notes) = read_bytes(&with_rest).unwrap();
    assert_eq!((rows.len(), notes), (5, vec![("trailing_bytes", 1, whole.len() as u64)]));
    let (rows, notes) = read_bytes(&file(told(whole.len() as u32 + 500, 5))).unwrap();
    assert_eq!((rows.len(), notes), (5, vec![("cut_file", 1, whole.len() as u64)]));
    let (rows, notes) = read_bytes(&file(told(0, 9))).unwrap();
    assert_eq!((rows.len(), notes), (5, vec![("records_missing", 4, whole.len() as u64)]));
    let behind = [NetXRay { first: 140, ..TWO }.header(), vec![0xee; 12], TWO.records(0..3)].concat();
    assert_eq!(read_bytes(&behind).map(|r| (r.0.len(), r.1)).unwrap(), (3, vec![]));
    let (rows, notes) = read_bytes(&[NetXRay { first: u32::MAX, ..TWO }.header(), TWO.records(0..3)].concat()).unwrap();
    assert_eq!((rows.len(), notes[0].0), (0, "cut_file"));
    let (rows, notes) = read_bytes(&TWO.header()).unwrap();
    assert_eq!((rows.len(), notes[0].0), (0, "no_packets"));
}

#[test]
fn rings_come_in_order() {
    let (newer, older) = (TWO.records(50..80), TWO.records(20..50));
    let first = 128 + newer.len() as u32 + 30;
    let ring = NetXRay { first, end: 128 + newer.len() as u32, frames: 60, ..TWO };
    let file = [ring.header(), newer.clone(), vec![0xee; 30], older].concat();
    for bytes in [file.clone(), gzip(&file)] {
        let (rows, notes) = read_bytes(&bytes).unwrap();
        assert_eq!((rows.len(), &notes[..]), (60, &[][..]));
        let order: Vec<i64> = rows.iter().filter_map(|r| r.time_ns).collect();
        assert!(order.is_sorted() && rows[0].offset == u64::from(first));
    }
    let cut = &file[..file.len() - 10];
    let (rows, _) = read_bytes(cut).unwrap();
    assert!(rows.len() >= 29 && rows[28].data == payload(48));
    for n in 0..file.len() {
        let _no_panic = read_bytes(&file[..n]);
    }
    let far = NetXRay { first: 100 << 20, end: 1000, ..TWO };
    let e = read_bytes(&far.file(3)).unwrap_err();
    assert!(e.next.contains("editcap"), "{e}");
}

#[test]
fn damage_costs_only_itself() {
    for file in [OLD, ONE, TWO] {
        let damaged = |middle: &[u8]| [file.file(11), middle.to_vec(), file.records(11..22)].concat();
        let at = file.file(11).len() as u64;
        let (rows, notes) = read_bytes(&damaged(&[0xee; 37])).unwrap();
        assert_eq!((rows.len(), notes), (22, vec![("bytes_skipped", 37, at)]));
        let (rows, notes) = read_bytes(&damaged(&[0; 500])).unwrap();
        assert_eq!((rows.len(), notes[0].0, notes[0].2), (22, "zero_run", at));
        // An invalid time, in a record that is complete.
        let (rows, _) = read_bytes(&damaged(&file.raw(u64::MAX / 3, 40, 40, &[], &[7; 40]))).unwrap();
        assert_eq!(rows.len(), 23);
        // A length beyond the end.
        let (rows, notes) = read_bytes(&damaged(&file.raw(10_500, 65_000, 65_000, &[], &[7; 40]))).unwrap();
        assert_eq!((rows.len(), notes[0].0), (22, "bytes_skipped"));
    }
    let over = [TWO.file(11), TWO.raw(10_500, 20, 40, &[], &[7; 40]), TWO.records(11..22)].concat();
    let (rows, notes) = read_bytes(&over).unwrap();
    assert_eq!((rows.len(), notes[0].0), (23, "captured_over_wire"));
    let empty = [TWO.file(11), TWO.raw(10_500, 60, 0, &[], &[]), TWO.records(11..22)].concat();
    let (rows, notes) = read_bytes(&empty).unwrap();
    assert_eq!((rows.len(), notes[0].0), (23, "empty_records"));
    let paused = |i: u32| TWO.raw(u64::from(i / 3) * 90 * 86_400_000_000, 40, 40, &[], &payload(0));
    let pauses = [TWO.header(), (0..9).flat_map(paused).collect()].concat();
    assert_eq!(read_bytes(&pauses).map(|r| (r.0.len(), r.1)).unwrap(), (9, vec![]), "a pause of three months");
}

#[test]
fn cut_at_every_byte() {
    for file in [OLD, ONE, TWO, AIR, NetXRay { frames: 4, end: 600, ..TWO }] {
        let whole = file.file(4);
        let all = rows(&whole);
        for n in 0..whole.len() {
            match read_bytes(&whole[..n]) {
                Ok((rows, notes)) => {
                    assert_eq!(rows[..], all[..rows.len()]);
                    assert!(n >= 128 && (rows.len() < 4 || n == whole.len()));
                    let boundary = rows.last().map_or(128, |r| r.offset as usize + file.record_bytes() + r.data.len());
                    assert!(n == boundary || notes.iter().any(|n| n.0 == "cut_file"), "{n} {notes:?}");
                }
                Err(e) => assert!(n < 128, "{n} {e}"),
            }
        }
    }
}

#[test]
fn endless_records_without_a_byte_end() {
    let empty = TWO.raw(1, 60, 0, &[], &[]);
    let (rows, notes) = read_bytes(&[TWO.header(), empty.repeat((1 << 20) + 10)].concat()).unwrap();
    assert_eq!(rows.len(), 1 << 20);
    assert!(notes.iter().any(|n| n.0 == "empty_run"));
}

proptest! {
    #[test]
    fn hostile_headers_never_panic(header in prop::collection::vec(any::<u8>(), 124), tail in prop::collection::vec(any::<u8>(), 0..400), old: bool) {
        let magic = if old { b"VL\0\0" } else { b"XCP\0" };
        let _any = read_bytes(&[magic, &header[..], &tail].concat());
    }

    #[test]
    fn mutated_files_never_panic(at in 4_usize..900, value: u8, n in 0_usize..900, kind in 0_usize..4) {
        let mut file = [OLD, ONE, TWO, AIR][kind].file(9);
        let length = file.len();
        file[at % length] = value;
        file.truncate(n.max(128));
        let _any = read_bytes(&file);
    }

    #[test]
    fn what_is_written_is_read(ticks in 0_u64..1 << 50, wire in 1_u16.., captured in 1_u16..2000, kind in 1_usize..4) {
        let file = [OLD, ONE, TWO, AIR][kind];
        let captured = captured.min(wire);
        let bytes = [file.header(), file.raw(ticks, wire, captured, &[], &vec![7; captured.into()])].concat();
        let (rows, notes) = read_bytes(&bytes).unwrap();
        prop_assert_eq!((rows.len(), notes.len()), (1, 0));
        prop_assert_eq!(rows[0].time_ns, Some(i64::from(T0) * 1_000_000_000 + ticks as i64 * 1000));
        prop_assert_eq!((rows[0].wire_bytes, rows[0].data.len()), (wire.into(), captured.into()));
    }
}
