use crate::container::build::*;
use crate::error::ErrorKind;
use crate::limits;

fn variants() -> impl Iterator<Item = Pcap> {
    [false, true]
        .into_iter()
        .flat_map(|big_endian| [0xa1b2_c3d4, 0xa1b2_3c4d].map(|magic| Pcap { magic, big_endian, ..Pcap::default() }))
}

#[test]
fn constant_bytes() {
    let bytes = b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\x00\x00\x04\0\x01\0\0\0\
                  \x00\xf1\x53\x65\x07\0\0\0\x03\0\0\0\x05\0\0\0abc";
    let expected = Row {
        time_ns: Some(1_700_000_000_000_007_000),
        wire_bytes: 5,
        data: b"abc".to_vec(),
        link_type: 1,
        interface: 0,
        fcs_bytes: None,
        outgoing: None,
        offset: 24,
    };
    assert_eq!(read_bytes(bytes).unwrap(), (vec![expected], vec![]));
}

#[test]
fn both_byte_orders_and_both_resolutions() {
    for p in variants() {
        let (rows, notes) = read_bytes(&p.file(3)).unwrap();
        assert_eq!((rows.len(), notes), (3, vec![]));
        let unit = if p.magic == 0xa1b2_3c4d { 1 } else { 1000 };
        assert_eq!(rows[2].time_ns, Some(i64::from(T0) * 1_000_000_000 + 2000 * unit));
        assert_eq!(rows[2].data, payload(2));
    }
}

#[test]
fn old_versions_swap_the_lengths() {
    let file = |version, numbers| {
        let p = Pcap { version, ..Pcap::default() };
        [p.header(), p.raw(numbers, &[9; 40])].concat()
    };
    for (version, captured_first) in [((2, 0), false), ((2, 2), false), ((543, 0), false), ((2, 4), true)] {
        let numbers = if captured_first { [T0, 1, 40, 90] } else { [T0, 1, 90, 40] };
        let r = rows(&file(version, numbers));
        assert_eq!((r[0].data.len(), r[0].wire_bytes), (40, 90), "{version:?}");
    }
    for numbers in [[T0, 1, 90, 40], [T0, 1, 40, 90]] {
        let r = rows(&file((2, 3), numbers));
        assert_eq!((r[0].data.len(), r[0].wire_bytes), (40, 90), "2.3 {numbers:?}");
    }
}

#[test]
fn other_versions_and_link_types_are_refused_by_name() {
    for (version, name) in [((9, 9), "9.9"), ((1, 4), "1.4"), ((2, 5), "2.5"), ((543, 1), "543.1")] {
        let e = read_bytes(&Pcap { version, ..Pcap::default() }.file(2)).unwrap_err();
        assert_eq!(e.kind, ErrorKind::UnsupportedFormat);
        assert!(e.what.contains(name), "{e}");
    }
    let e = read_bytes(&Pcap { network: 0x46c5_e1f5, ..Pcap::default() }.file(2)).unwrap_err();
    assert_eq!(e.kind, ErrorKind::UnsupportedLinkType);
    for magic in [0xa1b2_34cd, 0xa12b_3c4d, 0x1c00_01ac] {
        assert_eq!(
            read_bytes(&Pcap { magic, ..Pcap::default() }.file(2)).unwrap_err().kind,
            ErrorKind::UnsupportedFormat
        );
    }
}

#[test]
fn upper_bits_of_the_network_field() {
    let fcs = |network| {
        let r = rows(&Pcap { network, ..Pcap::default() }.file(2));
        assert_eq!(r[0].link_type, 1);
        r[0].fcs_bytes
    };
    assert_eq!(fcs(1), None);
    assert_eq!(fcs(0x3000_0001), None);
    assert_eq!(fcs(0x0400_0001), Some(0));
    assert_eq!(fcs(0x2400_0001), Some(4));
    assert_eq!(fcs(0x4400_0001), Some(4));
    assert_eq!(fcs(0xf400_0001), None);
}

#[test]
fn patched_record_headers() {
    for (magic, extra) in [(0xa1b2_cd34, 8), (0xa1b2_cd34, 12), (0xa1b2_cd34, 0), (0xa1b2_c3d4, 8), (0xa1b2_c3d4, 4)] {
        let p = Pcap { magic, ..Pcap::default() };
        let mut file = p.header();
        for i in 0..5 {
            let data = payload(i);
            let mut tail = vec![0; extra];
            if extra >= 8 {
                tail[6] = 4;
            }
            tail.extend_from_slice(&data);
            file.extend(p.raw([T0, i, data.len() as u32, data.len() as u32], &tail));
        }
        let (rows, notes) = read_bytes(&file).unwrap();
        assert_eq!((rows.len(), notes), (5, vec![]), "{magic:x} {extra}");
        assert_eq!(rows[4].data, payload(4));
        assert_eq!(rows[4].outgoing, (extra >= 8).then_some(true));
    }
}

#[test]
fn lengths_that_lie() {
    let p = Pcap::default();
    let with = |numbers, data: &[u8]| [p.file(11), p.raw(numbers, data), p.records(11)].concat();
    for (numbers, kept, note) in [
        ([T0, 0, u32::MAX, u32::MAX], 22, "bytes_skipped"),
        ([T0, 0, 262_145, 262_145], 22, "bytes_skipped"),
        ([T0, 0, 60, 40], 23, "captured_over_wire"),
        ([T0, 0, 60, u32::MAX], 23, "wire_length_implausible"),
        ([T0, 1_000_001, 60, 60], 23, "fraction_over_a_second"),
        ([T0, u32::MAX, 60, 60], 23, "time_not_representable"),
        ([T0, 0, 70, 60], 22, "bytes_skipped"),
    ] {
        let (rows, notes) = read_bytes(&with(numbers, &[0xee; 60])).unwrap();
        assert_eq!((rows.len(), notes[0].0, notes.len()), (kept, note, 1), "{numbers:?}");
        assert_eq!(notes[0].2, p.file(11).len() as u64);
    }
    let big = with([T0, 0, 262_145, 262_145], &vec![0xee; 262_145]);
    let (rows, notes) = read_bytes(&big).unwrap();
    assert_eq!((rows.len(), rows[11].data.len(), notes[0].0), (23, limits::RECORD_BYTES, "oversized_record"));
}

#[test]
fn snap_lengths() {
    for (snaplen, notes) in [(0, 0), (u32::MAX, 0), (68, 0), (45, 1)] {
        let p = Pcap { snaplen, ..Pcap::default() };
        let (rows, found) = read_bytes(&p.file(22)).unwrap();
        assert_eq!((rows.len(), found.len()), (22, notes), "{snaplen}");
    }
}

#[test]
fn a_carry_is_kept() {
    let p = Pcap::default();
    let file = [p.header(), p.raw([T0, 1_000_046, 40, 40], &[1; 40]), p.records(2)].concat();
    assert_eq!(rows(&file)[0].time_ns, Some(i64::from(T0 + 1) * 1_000_000_000 + 46_000));
}

#[test]
fn unsigned_seconds() {
    let p = Pcap::default();
    let file = [p.header(), p.raw([0xffff_fff0, 0, 40, 40], &[1; 40])].concat();
    assert_eq!(rows(&file)[0].time_ns, Some(4_294_967_280_000_000_000));
}

#[test]
fn garbage_and_zeros_cost_only_themselves() {
    let p = Pcap::default();
    for garbage in [vec![0xee; 37], vec![0xff; 3], vec![0; 16], vec![0; 5000], vec![0x41; 300_000]] {
        let file = [p.file(11), garbage.clone(), p.records(11)].concat();
        let (rows, notes) = read_bytes(&file).unwrap();
        assert_eq!(
            rows.iter().filter(|r| r.data.first() >= Some(&0xe0)).count(),
            22,
            "{} of {}",
            garbage.len(),
            garbage[0]
        );
        assert_eq!((notes.len(), notes[0].2), (1, p.file(11).len() as u64), "{notes:?}");
    }
    // Random bytes that begin with a record of one byte in 1970 hide neither that record nor the following ones.
    let (rows, notes) = read_bytes(&[p.file(11), b"\x01\0\0\0".repeat(9), p.records(11)].concat()).unwrap();
    assert_eq!((rows.len(), notes), (23, vec![("bytes_skipped", 19, p.file(11).len() as u64 + 17)]));
    let tail = [p.file(22), vec![0; 1 << 20]].concat();
    let (rows, notes) = read_bytes(&tail).unwrap();
    assert_eq!((rows.len(), notes), (22, vec![("zero_run", 1 << 20, p.file(22).len() as u64)]));
    let noise = [p.file(22), vec![0xee; 1 << 20]].concat();
    assert_eq!(notes_of(&noise), ["bytes_skipped", "rest_unreadable"]);
}

fn notes_of(bytes: &[u8]) -> Vec<&'static str> {
    let mut names = notes(bytes);
    names.sort_unstable();
    names
}

#[test]
fn a_wrong_length_near_the_end_is_no_cut() {
    let p = Pcap::default();
    let file = [p.file(11), p.raw([T0, 0, 2000, 2000], &[0xee; 60]), p.records(11)].concat();
    let (rows, notes) = read_bytes(&file).unwrap();
    assert_eq!((rows.len(), notes[0].0), (22, "bytes_skipped"));
}

#[test]
fn concatenated_files() {
    let second = Pcap { network: 101, big_endian: true, magic: 0xa1b2_3c4d, ..Pcap::default() };
    let (rows, notes) = read_bytes(&[Pcap::default().file(5), second.file(5)].concat()).unwrap();
    assert_eq!((rows.len(), notes[0].0), (10, "second_header"));
    assert_eq!(rows.iter().map(|r| (r.link_type, r.interface)).collect::<Vec<_>>()[4..6], [(1, 0), (101, 1)]);
}

#[test]
fn empty_records_are_counted_and_an_endless_run_ends() {
    let p = Pcap::default();
    let (rows, notes) = read_bytes(&[p.file(3), p.record(9, b"").repeat(1000), p.records(2)].concat()).unwrap();
    assert_eq!((rows.len(), notes), (1005, vec![("empty_records", 1000, p.file(3).len() as u64)]));
    let bomb = [p.file(3), p.record(9, b"").repeat(limits::EMPTY_RUN as usize + 10)].concat();
    assert!(notes_of(&bomb).contains(&"empty_run"));
}

#[test]
fn cut_at_every_byte() {
    for p in variants() {
        let file = p.file(4);
        let whole = rows(&file);
        for n in 0..file.len() {
            match read_bytes(&file[..n]) {
                Err(_) => assert!(n < 24, "{n}"),
                Ok((rows, notes)) => {
                    assert_eq!(rows[..], whole[..rows.len()]);
                    let ends: Vec<u64> = whole.iter().map(|r| r.offset).collect();
                    let clean = ends.contains(&(n as u64));
                    assert_eq!(notes.iter().any(|n| n.0 == "cut_file"), !clean, "{n}");
                }
            }
        }
    }
}

#[test]
fn seconds_that_run_over() {
    let file = |seconds: &[u32]| {
        let p = Pcap::default();
        let records = seconds.iter().map(|s| p.raw([*s, 1, 40, 40], &[9; 40]));
        [p.header(), records.collect::<Vec<_>>().concat()].concat()
    };
    let times = |seconds: &[u32]| {
        let (rows, notes) = read_bytes(&file(seconds)).unwrap();
        let wrapped = notes.iter().any(|n| n.0 == "time_wrapped");
        (rows.iter().map(|r| r.time_ns.unwrap() / 1_000_000_000).collect::<Vec<_>>(), wrapped)
    };
    let end = 1i64 << 32;
    // Forward, out of order at the border, and forward again.
    assert_eq!(times(&[u32::MAX, 0, u32::MAX, 5]), (vec![end - 1, end, end - 1, end + 5], true));
    // A clock without a battery, set later; and one that was wrong once.
    assert_eq!(times(&[3, T0, T0 + 1]), (vec![3, i64::from(T0), i64::from(T0) + 1], false));
    assert_eq!(times(&[T0, 0, T0 + 1]), (vec![i64::from(T0), 0, i64::from(T0) + 1], false));
    assert_eq!(times(&[0, u32::MAX]), (vec![0, end - 1], false));
}
