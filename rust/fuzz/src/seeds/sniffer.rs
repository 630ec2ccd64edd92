//! NetXRay, Windows Sniffer and DOS Sniffer files, and usbmon's text.

use super::{frames, halves, words, T0};

fn ethernet() -> Vec<Vec<u8>> {
    frames().into_iter().find(|f| f.0 == 1).map(|f| f.1).unwrap_or_default()
}

/// A file of `frames`; `record` is the length of a record header, `behind` the bytes after its lengths.
fn netxray(
    version: &[u8; 8],
    network: u8,
    capture_type: u8,
    record: usize,
    behind: &[u8],
    frames: &[Vec<u8>],
) -> Vec<u8> {
    let mut out = vec![0; 128];
    let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, if record == 16 { b"VL\0\0" } else { b"XCP\0" });
    put(4, version);
    put(12, &words(false, &[T0, frames.len() as u32]));
    put(24, &words(false, &[128, 0]));
    put(44, &[network]);
    put(76, &words(false, &[1_193_000]));
    put(84, &[capture_type]);
    for (i, frame) in frames.iter().enumerate() {
        let n = frame.len() as u16;
        let mut header = words(false, &[i as u32 * 1000, 0]);
        header.extend(halves(false, &[n, n]));
        header.extend_from_slice(behind);
        header.resize(record, 0);
        out.extend(header);
        out.extend_from_slice(frame);
    }
    let end = out.len() as u32;
    out[28..32].copy_from_slice(&end.to_le_bytes());
    out
}

/// The file's newer half in front of its older one.
fn ring(file: &[u8], at: usize) -> Vec<u8> {
    let mut out = [&file[..128], &file[at..], &file[128..at]].concat();
    let end = (128 + file.len() - at) as u32;
    out[24..32].copy_from_slice(&words(false, &[end, end]));
    out
}

/// Every generation and kind of link.
pub fn netxrays() -> Vec<Vec<u8>> {
    let wire = ethernet();
    let air = frames().into_iter().find(|f| f.0 == 105).map(|f| f.1).unwrap_or_default();
    let ppp = frames().into_iter().find(|f| f.0 == 9).map(|f| f.1).unwrap_or_default();
    let two = netxray(b"002.001\0", 0, 0, 40, &[0, 0, 0xff, 0xff], &wire);
    let first = 128 + 40 + wire.first().map_or(0, Vec::len);
    let heard = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 22, 50, 10];
    vec![
        netxray(&[0; 8], 0, 0, 16, &[], &wire),
        netxray(b"001.000\0", 0, 0, 28, &[], &wire),
        netxray(b"001.100\0", 0, 0, 28, &[], &wire),
        netxray(b"002.002\0", 0, 2, 40, &[], &wire),
        netxray(b"002.003\0", 3, 3, 40, &[], &ppp),
        netxray(b"002.001\0", 9, 0, 40, &heard, &air),
        ring(&two, first),
        two,
    ]
}

fn dos_record(kind: u16, body: &[u8]) -> Vec<u8> {
    [&halves(false, &[kind, body.len() as u16, 0])[..], body].concat()
}

fn dos(network: u8, format: u8, records: &[u8]) -> Vec<u8> {
    let mut version = halves(false, &[4, 0, 0, 28 << 9 | 1 << 5 | 30]);
    version.extend([4, network, format, 1, 0, 0, 0, 0, 0, 0]);
    [&b"TRSNIFF data    \x1a"[..], &dos_record(1, &version), records].concat()
}

fn dos_records(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (i, frame) in frames.iter().enumerate() {
        let n = frame.len() as u16;
        let mut body = words(false, &[i as u32 * 1000]);
        body.extend([0, 0]);
        body.extend(halves(false, &[n, 0, n, 0]));
        if i % 3 == 2 {
            body.extend([0; 20]);
        }
        body.extend_from_slice(frame);
        out.extend(dos_record(if i % 3 == 2 { 12 } else { 4 }, &body));
    }
    out.extend(dos_record(3, &[]));
    out
}

/// Plain, with records about the capture, stored and packed.
pub fn dos_files() -> Vec<Vec<u8>> {
    let records = dos_records(&ethernet());
    let ppp = frames().into_iter().find(|f| f.0 == 9).map(|f| f.1).unwrap_or_default();
    let stored: Vec<u8> =
        records.chunks(500).flat_map(|c| [&(-(c.len() as i16)).to_le_bytes()[..], c].concat()).collect();
    // Literal bytes, then every code: runs, a string, a long string.
    let packed: Vec<u8> = records
        .chunks(60)
        .flat_map(|c| {
            let mut block: Vec<u8> = c.chunks(16).flat_map(|g| [&[0, 0][..], g].concat()).collect();
            block.extend(b"\0\xf8\x01x\x12\x01y\x31\0\x2f\0\x08");
            [&(block.len() as u16).to_le_bytes()[..], &block].concat()
        })
        .collect();
    let about = [dos_record(6, b"serial number"), dos_record(7, &[0, 0, 0, 0, 4]), dos_records(&ppp)].concat();
    vec![dos(1, 1, &records), dos(1, 2, &stored), dos(1, 2, &packed), dos(7, 1, &about), dos(7, 1, &dos_records(&ppp))]
}

/// Lines of every kind.
pub fn usbmon_text() -> Vec<Vec<u8>> {
    let one = b"d5ea89a0 3575914555 S Ci:1:001:0 s a3 00 0000 0003 0004 4 <\n\
d5ea89a0 3575914560 C Ci:1:001:0 0 4 = 01050000\n\
dd65f0e8 4128379752 S Bo:1:005:2 -115 31 = 55534243 5e000000 00000000 00000600 00000000 00000000 00000000 000000\n\
dd65f0e8 4128379808 C Bo:1:005:2 0 31 >\n\
ffff88003d5ea600 3575914555 S Ii:2:003:1 -115:8 8 <\n\
ffff88003d5ea600 3575914999 C Ii:2:003:1 0:8 4 = 0000a102\n\
f4f3a600 1234 S Zi:3:004:1 -115:1:1000 2 -18:0:192 -18:192:192 384 <\n\
f4f3a600 1299 C Zi:3:004:1 0:1:1000:0 2 0:0:192 -71:192:10 202 = 01020304 05060708\n\
f4f3a600 1299 E Zi:3:004:1 -19 0\n";
    vec![one.to_vec(), one.repeat(20)]
}
