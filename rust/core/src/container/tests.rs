use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::build::*;
use super::{format_of, open};
use crate::error::ErrorKind;
use crate::notes::{NoteKind, Notes};

type Pack = fn(&[u8]) -> Vec<u8>;
const PACKS: [(&str, Pack); 3] = [("gzip", gzip), ("zstd", zstd), ("lz4", lz4)];

#[test]
fn every_compression_by_content() {
    let plain = Pcap::default().file(500);
    let whole = rows(&plain);
    for (name, pack) in PACKS {
        let packed = pack(&plain);
        assert_eq!(read_bytes(&packed).unwrap(), (whole.clone(), vec![]), "{name}");
        let sniffed = open(Box::new(io::Cursor::new(packed.clone()))).unwrap().sniffed();
        assert_eq!((&*sniffed.format, sniffed.compression), ("pcap", name));
        let (front, back) = plain.split_at(1001);
        assert_eq!(rows(&[pack(front), pack(back)].concat()), whole, "{name}: two members");
        let ng = pack(&pcapng(true, 50));
        assert_eq!(rows(&ng).len(), 50, "{name}");
    }
    let skippable = [&b"\x5a\x2a\x4d\x18\x05\0\0\0hello"[..], &zstd(&plain)].concat();
    assert_eq!(rows(&skippable), whole);
    let skippable = [&lz4(&plain)[..], b"\x50\x2a\x4d\x18\x05\0\0\0hello"].concat();
    assert_eq!(rows(&skippable), whole);
}

#[test]
fn damaged_compression_keeps_what_came_out() {
    // Several blocks of every format: zstd's hold 128 KiB.
    let plain = Pcap::default().file(6000);
    let whole = rows(&plain);
    for (name, pack) in PACKS {
        let packed = pack(&plain);
        let (kept, notes) = read_bytes(&packed[..packed.len() * 9 / 10]).unwrap();
        assert!(!kept.is_empty(), "{name}");
        assert!(notes.iter().any(|n| n.0 == "compressed_cut"), "{name} {notes:?}");
        assert_eq!(kept[..], whole[..kept.len()]);
        let (kept, notes) = read_bytes(&[packed.clone(), vec![0xab; 100]].concat()).unwrap();
        assert_eq!((kept.len(), notes), (6000, vec![("trailing_bytes", 1, plain.len() as u64)]), "{name}");
        let mut wrong = packed.clone();
        let sum = packed.len() - if name == "gzip" { 8 } else { 4 };
        wrong[sum] ^= 1;
        let (kept, notes) = read_bytes(&wrong).unwrap();
        assert_eq!((kept.len(), notes), (6000, vec![("checksum_wrong", 1, plain.len() as u64)]), "{name}");
    }
    let padded = [gzip(&plain), vec![0; 1000]].concat();
    assert_eq!(read_bytes(&padded).unwrap(), (whole, vec![]));
}

#[test]
fn compressed_files_cut_at_every_byte() {
    let plain = Pcap::default().file(4);
    let whole = rows(&plain);
    for (name, pack) in PACKS {
        let packed = pack(&plain);
        for n in 0..packed.len() {
            if let Ok((kept, notes)) = read_bytes(&packed[..n]) {
                assert_eq!(kept[..], whole[..kept.len()]);
                assert!(notes.iter().any(|n| n.0 == "compressed_cut"), "{name} {n} {notes:?}");
            }
        }
    }
}

#[test]
fn gzip_headers_with_every_field() {
    let plain = Pcap::default().file(3);
    let packed = gzip(&plain);
    let header = b"\x1f\x8b\x08\x1e\0\0\0\0\0\xff\x04\0xtraname\0comment\0\xab\xcd";
    assert_eq!(rows(&[&header[..], &packed[10..]].concat()).len(), 3);
    for n in 0..header.len() {
        assert!(read_bytes(&header[..n]).is_err());
    }
}

#[test]
fn one_layer_only() {
    let plain = Pcap::default().file(3);
    for (outer, pack) in PACKS {
        for (inner, again) in PACKS {
            let e = read_bytes(&pack(&again(&plain))).unwrap_err();
            assert_eq!(e.kind, ErrorKind::UnsupportedFormat);
            assert!(e.what.contains(inner) && e.what.contains(outer) && e.what.contains("one layer"), "{e}");
        }
        let e = read_bytes(&pack(b"hello, world\n")).unwrap_err();
        assert_eq!(e.kind, ErrorKind::UnknownFormat);
        assert!(e.what.contains(outer), "{e}");
        assert_eq!(read_bytes(&pack(b"")).unwrap_err().kind, ErrorKind::UnknownFormat);
    }
}

#[test]
fn foreign_formats_are_named_with_a_command() {
    for (head, word) in [
        (&b"snoop\0\0\0\0\0\0\x02\0\0\0\x04"[..], "editcap"),
        (b"GMBU\0\x02", "editcap"),
        (b"RTSS\0\x01", "editcap"),
        (b"iptrace 2.0", "editcap"),
        (b"TR\0d\0", "editcap"),
        (b"\x01\x10\x4c\0\x01\x05Trace Display Trace File", "editcap"),
        (b"\xfd7zXZ\0", "xz -d"),
        (b"BZh91AY", "bunzip2"),
        (b"PK\x03\x04", "unzip"),
        (b"7z\xbc\xaf\x27\x1c", "7z x"),
    ] {
        assert_eq!(format_of(head), None);
        let e = read_bytes(head).unwrap_err();
        assert_eq!(e.kind, ErrorKind::UnsupportedFormat);
        assert!(e.next.contains(word), "{e}");
    }
    let erf = [&b"\0\0\0\0\x00\xf1\x53\x65\x02\x04\x00\x20\0\0\0\x40"[..], &[0; 16]].concat().repeat(2);
    assert!(read_bytes(&erf).unwrap_err().what.contains("ERF"));
    for head in [&b""[..], b"hello", b"<!doctype html><script>", &[0; 512], &[0x77; 600]] {
        assert_eq!(format_of(head), None);
        let e = read_bytes(head).unwrap_err();
        assert_eq!(e.kind, ErrorKind::UnknownFormat);
        assert!(!e.to_string().contains("script"));
    }
    let tar = [&[b'a'; 257][..], b"ustar\0"].concat();
    assert!(read_bytes(&gzip(&tar)).unwrap_err().what.contains("tar archive inside gzip"));
}

/// Never ends; reads no further than needed.
struct Endless(u8);

impl Read for Endless {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        into.fill(self.0);
        Ok(into.len())
    }
}

#[test]
fn endless_input_ends() {
    assert_eq!(read(Endless(0)).unwrap_err().kind, ErrorKind::UnknownFormat);
    let begin = Instant::now();
    for (fill, note) in [(0, "zero_run"), (0xee, "rest_unreadable")] {
        for head in [Pcap::default().file(22), pcapng(false, 22)] {
            let (rows, notes) = read(io::Cursor::new(head).chain(Endless(fill))).unwrap();
            assert_eq!(rows.len(), 22);
            assert!(notes.iter().any(|n| n.0 == note), "{notes:?}");
        }
    }
    assert!(begin.elapsed() < Duration::from_secs(20));
}

/// Fails after its bytes, and records when it is dropped.
struct Failing {
    bytes: io::Cursor<Vec<u8>>,
    dropped: Arc<AtomicBool>,
}

impl Read for Failing {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.bytes.read(into)? {
            0 => Err(io::Error::from_raw_os_error(5)),
            n => Ok(n),
        }
    }
}

impl Drop for Failing {
    fn drop(&mut self) {
        self.dropped.store(true, Ordering::SeqCst);
    }
}

#[test]
fn an_error_of_the_system_is_raised_at_the_start_and_noted_later() {
    let failing = |bytes: Vec<u8>| Failing { bytes: io::Cursor::new(bytes), dropped: Arc::default() };
    let e = read(failing(Vec::new())).unwrap_err();
    assert_eq!(e.io.and_then(|e| e.raw_os_error()), Some(5));
    for (_, pack) in PACKS {
        let (rows, notes) = read(failing(pack(&Pcap::default().file(5)))).unwrap();
        assert_eq!((rows.len(), notes[0].0), (5, "read_failed"));
    }
    let (rows, notes) = read(failing(pcapng(false, 5))).unwrap();
    assert_eq!((rows.len(), notes[0].0), (5, "read_failed"));
}

#[test]
fn the_thread_ends_when_the_reader_is_dropped() {
    let dropped = Arc::new(AtomicBool::new(false));
    let zeros = [gzip(&Pcap::default().file(1)), gzip(&vec![1; 64 << 20])].concat();
    let input = Failing { bytes: io::Cursor::new(zeros), dropped: dropped.clone() };
    drop(open(Box::new(input)).unwrap());
    let begin = Instant::now();
    while !dropped.load(Ordering::SeqCst) {
        assert!(begin.elapsed() < Duration::from_secs(10), "the thread still holds its input");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A capture with every kind of block and record, for mutation.
fn rich_pcapng(big_endian: bool) -> Vec<u8> {
    let e = big_endian;
    let options = [option(e, 1, b"comment"), option(e, 2, &u32s(e, &[0x82])), option(e, 0, b"")].concat();
    let if_options = [option(e, 2, b"eth0"), option(e, 9, &[9]), option(e, 13, &[4]), option(e, 14, &[1; 8])].concat();
    [
        shb(e, &option(e, 3, b"Linux")),
        idb(e, 1, 96, &if_options),
        idb(e, 127, 0, &[]),
        epb(e, 0, ticks(0), &payload(0), &options),
        block(e, 3, &[&u32s(e, &[40])[..], &payload(0)].concat()),
        block(e, 2, &[&u32s(e, &[1, 1, 1, 40, 40])[..], &payload(0)].concat()),
        block(e, 5, &[&u32s(e, &[0, 0, 0])[..], &option(e, 5, &[0; 8])].concat()),
        block(e, 4, b"names"),
        shb(!e, &[]),
        idb(!e, 1, 0, &[]),
        epb(!e, 0, ticks(1), &payload(1), &[]),
    ]
    .concat()
}

/// Valid files of every kind.
fn seeds() -> Vec<Vec<u8>> {
    let p = Pcap::default();
    let swapped = Pcap { big_endian: true, magic: 0xa1b2_3c4d, version: (2, 3), ..p };
    let mut out = vec![p.file(12), [p.file(3), swapped.file(4)].concat(), rich_pcapng(false), rich_pcapng(true)];
    for (_, pack) in PACKS {
        out.push([pack(&p.file(3)), pack(&p.records(9))].concat());
    }
    out
}

/// What the notes must always contain: a missing record of the seed must be accounted for.
fn check(bytes: &[u8]) {
    let mut notes = Notes::default();
    let _format = format_of(bytes);
    let Ok(mut source) = open(Box::new(io::Cursor::new(bytes.to_vec()))) else {
        return;
    };
    let (mut last, mut records) = (0, 0_u64);
    loop {
        match source.next_record(&mut notes) {
            Ok(Some(r)) => {
                assert!(r.offset >= last, "records come in the file's order");
                last = r.offset;
                records += 1;
            }
            Ok(None) => break,
            Err(_) => return,
        }
    }
    assert!(records > 0 || notes.get(NoteKind::NoPackets).count == 1);
    let _shown = (source.interfaces(), source.texts());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutations_never_panic_and_always_end(
        seed in 0_usize..7,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..5), 1..12),
    ) {
        let mut bytes = seeds()[seed].clone();
        for (at, value, kind) in edits {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = value,
                1 => bytes[at] ^= 1 << (value % 8),
                2 => { bytes.remove(at); }
                3 => bytes.insert(at, value),
                _ => {
                    let word = [[0; 4], [0xff; 4], [0, 0, 0, 0x80], [value, 0, 0, 0]][usize::from(value) % 4];
                    let end = bytes.len().min(at + 4);
                    bytes[at..end].copy_from_slice(&word[..end - at]);
                }
            }
        }
        check(&bytes);
    }

    #[test]
    fn noise_behind_a_header_never_panics(noise in prop::collection::vec(any::<u8>(), 0..400), seed in 0_usize..7) {
        let head = &seeds()[seed];
        check(&[&head[..head.len().min(24)], &noise].concat());
        check(&[&head[..], &noise, head].concat());
        check(&noise);
    }

    #[test]
    fn what_is_written_is_read(
        lens in prop::collection::vec(1_usize..300, 1..40),
        big_endian: bool,
        pack in 0_usize..4,
        piece in 1_usize..200,
    ) {
        let p = Pcap { big_endian, ..Pcap::default() };
        let datas: Vec<Vec<u8>> = lens.iter().enumerate().map(|(i, n)| vec![i as u8; *n]).collect();
        let mut pcap = p.header();
        let mut ng = [shb(big_endian, &[]), idb(big_endian, 1, 0, &[])].concat();
        for (i, data) in datas.iter().enumerate() {
            pcap.extend(p.record(i as u32, data));
            ng.extend(epb(big_endian, 0, ticks(i as u32), data, &[]));
        }
        for file in [pcap, ng] {
            let file = if pack == 3 { file } else { PACKS[pack].1(&file) };
            let (rows, notes) = read(Pieces { bytes: io::Cursor::new(file), piece }).unwrap();
            prop_assert!(notes.is_empty());
            prop_assert_eq!(rows.into_iter().map(|r| r.data).collect::<Vec<_>>(), datas.clone());
        }
    }
}

/// A pipe that returns a few bytes at a time.
struct Pieces {
    bytes: io::Cursor<Vec<u8>>,
    piece: usize,
}

impl Read for Pieces {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.piece.min(into.len());
        self.bytes.read(&mut into[..n])
    }
}
