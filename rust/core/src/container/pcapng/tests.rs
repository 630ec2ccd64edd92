use crate::container::build::*;
use crate::container::open;
use crate::error::ErrorKind;
use crate::limits;
use crate::notes::Notes;

/// Half of a valid file, then `blocks`, then the other half.
fn with(blocks: &[u8]) -> Vec<u8> {
    let mut file = pcapng(false, 11);
    file.extend_from_slice(blocks);
    file.extend((11..22).flat_map(|i| epb(false, 0, ticks(i), &payload(i), &[])));
    file
}

fn texts(bytes: Vec<u8>) -> Vec<(String, String)> {
    let mut source = open(Box::new(std::io::Cursor::new(bytes))).unwrap();
    let mut notes = Notes::default();
    while source.next_record(&mut notes).unwrap().is_some() {}
    source.texts()
}

#[test]
fn both_byte_orders() {
    for big_endian in [false, true] {
        let (rows, notes) = read_bytes(&pcapng(big_endian, 3)).unwrap();
        assert_eq!((rows.len(), notes), (3, vec![]));
        assert_eq!(rows[1].time_ns, Some(1_700_000_000_001_000_000));
        assert_eq!((rows[1].data.clone(), rows[1].wire_bytes, rows[1].offset), (payload(1), 41, 48 + 72));
    }
}

#[test]
fn sections_of_either_byte_order_number_their_interfaces_on() {
    let three = [idb(true, 127, 0, &[]), idb(true, 101, 0, &[]), idb(true, 113, 0, &[])].concat();
    let second = [shb(true, &[]), three, epb(true, 2, ticks(0), b"abcd", &[])].concat();
    let file = [pcapng(false, 2), second, pcapng(false, 1)].concat();
    let (rows, notes) = read_bytes(&file).unwrap();
    let seen: Vec<_> = rows.iter().map(|r| (r.interface, r.link_type)).collect();
    assert_eq!((seen, notes), (vec![(0, 1), (0, 1), (3, 113), (4, 1)], vec![]));
}

#[test]
fn simple_and_obsolete_packets() {
    let spb = block(false, 3, &[&u32s(false, &[90])[..], &[7; 64]].concat());
    let head = [shb(false, &[]), idb(false, 1, 64, &[])].concat();
    let (rows, notes) = read_bytes(&[head, spb].concat()).unwrap();
    assert_eq!((rows[0].time_ns, rows[0].wire_bytes, rows[0].data.len()), (None, 90, 64));
    assert_eq!(notes, [("no_time", 1, 48)]);
    let fixed = [u16s(true, &[0, 5]), u32s(true, &[(ticks(0) >> 32) as u32, ticks(0) as u32, 4, 90])].concat();
    let pb = block(true, 2, &[&fixed[..], b"abcd"].concat());
    let (rows, notes) = read_bytes(&[shb(true, &[]), idb(true, 1, 0, &[]), pb].concat()).unwrap();
    assert_eq!((rows[0].time_ns, rows[0].wire_bytes), (Some(1_700_000_000_000_000_000), 90));
    assert_eq!(notes.iter().map(|n| (n.0, n.1)).collect::<Vec<_>>(), [("tap_dropped", 5)]);
}

#[test]
fn packet_options_tell_direction_and_check_sequence() {
    let flags = |f: u32| option(false, 2, &u32s(false, &[f]));
    let fcs = idb(false, 1, 0, &option(false, 13, &[4]));
    let mut file = [shb(false, &[]), fcs].concat();
    for f in [0, 1, 2, 2 << 5 | 2] {
        file.extend(epb(false, 0, ticks(0), b"abcd", &flags(f)));
    }
    let seen: Vec<_> = rows(&file).iter().map(|r| (r.outgoing, r.fcs_bytes)).collect();
    assert_eq!(seen, [(None, Some(4)), (Some(false), Some(4)), (Some(true), Some(4)), (Some(true), Some(2))]);
}

#[test]
fn damage_costs_only_itself() {
    let raw = |kind: u32, total: u32, n: usize, trailer: u32| {
        [&u32s(false, &[kind, total])[..], &vec![0xee; n], &u32s(false, &[trailer])].concat()
    };
    let over = |captured: u32| {
        let numbers = [0, (ticks(0) >> 32) as u32, ticks(0) as u32, captured, captured];
        block(false, 6, &[&u32s(false, &numbers)[..], &[0xee; 40]].concat())
    };
    let cases: Vec<(&str, Vec<u8>, usize)> = vec![
        ("block_damaged", raw(0xbad, 0, 20, 32), 22),
        ("block_damaged", raw(0xbad, 8, 20, 8), 22),
        ("block_damaged", raw(0xbad, 35, 23, 35), 22),
        ("block_damaged", raw(0xbad, u32::MAX - 3, 20, u32::MAX - 3), 22),
        ("block_damaged", raw(0xbad, 600, 20, 600), 22),
        ("block_damaged", raw(0xbad, 1 << 20, 20, 1 << 20), 22),
        ("block_damaged", vec![0xee; 37], 22),
        ("zero_run", vec![0; 70_000], 22),
        ("block_trailer", raw(0xbad, 32, 20, 99), 22),
        ("packet_over_block", over(100_000), 23),
        ("packet_over_block", over(u32::MAX), 23),
        ("unknown_interface", epb(false, 7, ticks(0), b"abcd", &[]), 22),
        ("block_short", block(false, 6, &[0; 16]), 22),
        ("block_short", block(false, 3, &[]), 22),
        ("block_short", block(false, 1, &[0; 4]), 22),
        ("block_short", block(false, 5, &[0; 8]), 22),
        ("unknown_interface", block(false, 5, &u32s(false, &[9, 0, 0])), 22),
        ("options_damaged", epb(false, 0, ticks(0), b"abcd", b"\x01\0\xff\xff"), 23),
        ("block_skipped", block(false, 0xbad, b"whatever"), 22),
        ("block_skipped", block(false, 10, b"secrets"), 22),
        ("section_unreadable", [&shb(false, &[])[..12], b"\x02\0\0\0", &shb(false, &[])[16..]].concat(), 11),
    ];
    for (note, blocks, kept) in cases {
        let (rows, notes) = read_bytes(&with(&blocks)).unwrap();
        let found: Vec<_> =
            notes.iter().filter(|n| n.0 != "captured_over_wire" && n.0 != "wire_length_implausible").collect();
        assert_eq!(rows.len(), kept, "{note} {blocks:x?}");
        assert_eq!((found[0].0, found[0].2), (note, pcapng(false, 11).len() as u64), "{notes:?}");
    }
}

#[test]
fn files_that_cannot_be_read() {
    let kind = |bytes: &[u8]| read_bytes(bytes).unwrap_err().kind;
    let sound = pcapng(false, 2);
    let no_interface = [shb(false, &[]), epb(false, 0, ticks(0), b"abcd", &[])].concat();
    assert_eq!(kind(&no_interface), ErrorKind::CorruptCapture);
    assert_eq!(kind(&sound[..20]), ErrorKind::CorruptCapture);
    assert_eq!(kind(&[&sound[..4], &[0xfc, 0xff, 0xff, 0x7f], &sound[8..]].concat()), ErrorKind::CorruptCapture);
    assert_eq!(kind(&[&sound[..8], &[9; 4], &sound[12..]].concat()), ErrorKind::CorruptCapture);
    assert_eq!(kind(&[&sound[..12], &[0, 0, 1, 0], &sound[16..]].concat()), ErrorKind::UnsupportedFormat);
}

#[test]
fn texts_are_kept_capped_and_decoded() {
    let shb_options = [
        option(false, 2, b"Raspberry Pi"),
        option(false, 3, b"Linux\xff"),
        option(false, 4, b"dumpcap"),
        option(false, 1, b"lab 3"),
    ]
    .concat();
    let if_options = [option(false, 2, b"wlan0"), option(false, 3, b"monitor"), option(false, 11, b"\0tcp")].concat();
    let comment = option(false, 1, &vec![b'x'; 60_000]);
    let file = [shb(false, &shb_options), idb(false, 127, 0, &if_options), epb(false, 0, ticks(0), b"abcd", &comment)]
        .concat();
    let mut source = open(Box::new(std::io::Cursor::new(file.clone()))).unwrap();
    let mut notes = Notes::default();
    while source.next_record(&mut notes).unwrap().is_some() {}
    let shown = source.interfaces();
    assert_eq!(
        (shown[0].name.as_deref(), shown[0].description.as_deref(), shown[0].link_type),
        (Some("wlan0"), Some("monitor"), 127)
    );
    let kept = texts(file);
    let find = |name: &str| kept.iter().find(|t| t.0 == name).map(|t| t.1.as_str());
    assert_eq!(find("shb_hardware"), Some("Raspberry Pi"));
    assert_eq!(find("shb_os"), Some("Linux\u{fffd}"));
    assert_eq!(find("shb_userappl"), Some("dumpcap"));
    assert_eq!(find("comment"), Some("lab 3"));
    assert_eq!(find("if_filter of interface 0"), Some("tcp"));
    assert_eq!(find("comment of packet 1").map(str::len), Some(limits::TEXT_BYTES));
}

#[test]
fn floods_are_capped() {
    let bomb = epb(false, 0, ticks(0), b"abcd", &[1, 0, 0, 0].repeat(262_144));
    assert_eq!(notes(&with(&bomb)), ["options_capped"]);
    let many: Vec<u8> = (0..300).flat_map(|i| epb(false, 0, ticks(i), b"abcd", &option(false, 1, b"hi"))).collect();
    assert_eq!(texts(with(&many)).len(), limits::TEXTS);
    let interfaces = idb(false, 1, 0, &[]).repeat(20_000);
    let file = [shb(false, &[]), interfaces, epb(false, 19_999, ticks(0), b"abcd", &[])].concat();
    assert_eq!(rows(&file)[0].interface, 19_999);
    let source = open(Box::new(std::io::Cursor::new(file))).unwrap();
    assert!(source.interfaces().len() <= limits::INTERFACES_SHOWN);
    let endless = block(false, 0x999, &[]).repeat(limits::EMPTY_RUN as usize + 10);
    assert!(notes(&with(&endless)).contains(&"empty_run"));
}

#[test]
fn drops_are_counted_once_and_believed_with_measure() {
    let isb =
        |drops: u64| block(false, 5, &[&u32s(false, &[0, 0, 0])[..], &option(false, 5, &drops.to_le_bytes())].concat());
    let (_, found) = read_bytes(&with(&[isb(3), isb(17)].concat())).unwrap();
    assert_eq!(found, [("tap_dropped", 17, 28)]);
    assert_eq!(notes(&with(&isb(u64::MAX))), ["drops_implausible"]);
    let mut source = open(Box::new(std::io::Cursor::new(with(&isb(17))))).unwrap();
    let mut n = Notes::default();
    while source.next_record(&mut n).unwrap().is_some() {}
    assert_eq!(source.interfaces()[0].dropped, Some(17));
}

#[test]
fn clocks_that_count_from_elsewhere() {
    let at = |options: &[u8], ticks: u64| {
        let file = [shb(false, &[]), idb(false, 1, 0, options), epb(false, 0, ticks, b"abcd", &[])].concat();
        let (rows, notes) = read_bytes(&file).unwrap();
        (rows[0].time_ns, notes.first().map(|n| n.0))
    };
    let resolution = |r: u8| option(false, 9, &[r]);
    let offset = |s: i64| option(false, 14, &s.to_le_bytes());
    assert_eq!(at(&resolution(9), 1_700_000_000_000_000_007), (Some(1_700_000_000_000_000_007), None));
    assert_eq!(at(&resolution(0x7f), 1 << 63), (None, Some("time_not_representable")));
    assert_eq!(at(&resolution(0xff), 1 << 63), (None, Some("time_not_representable")));
    assert_eq!(at(&offset(i64::MAX), 5), (None, Some("time_not_representable")));
    assert_eq!(at(&offset(-1), 0), (Some(-1_000_000_000), Some("time_before_1970")));
    assert_eq!(at(&[], u64::MAX), (None, Some("time_not_representable")));
}

#[test]
fn cut_at_every_byte() {
    for big_endian in [false, true] {
        let file = pcapng(big_endian, 4);
        let whole = rows(&file);
        for n in 0..file.len() {
            match read_bytes(&file[..n]) {
                Err(_) => assert!(n < 28, "{n}"),
                Ok((rows, notes)) => {
                    assert_eq!(rows[..], whole[..rows.len()]);
                    let clean = n == 28 || whole.iter().any(|r| r.offset == n as u64);
                    assert_eq!(notes.iter().any(|n| n.0 == "cut_file"), !clean, "{n}");
                }
            }
        }
    }
}
