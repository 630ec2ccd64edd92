//! usbmon's text (/sys/kernel/debug/usb/usbmon/1u, and the older 1t): one event per line.
//!
//! Each line becomes a record of LINKTYPE_USB_LINUX_MMAPPED. Source: Documentation/usb/usbmon.rst of Linux. The kernel
//! writes at most 32 bytes of a transfer, and microseconds that wrap after about 70 minutes.

use super::bytes::Bytes;
use crate::container::record::{Interface, Record, RecordSource, Sniffed};
use crate::error::{Error, Result};
use crate::limits;
use crate::notes::{NoteKind, Notes};

const LINKTYPE_USB_LINUX_MMAPPED: u16 = 220;
const ISO_DESCRIPTOR: usize = 16;
/// The kernel's timestamp is `(seconds & 0xfff) * 1000000 + microseconds`; older kernels: 32 bits of microseconds.
const WRAP_US: u64 = 4096 * 1_000_000;
const OLD_WRAP_US: u64 = 1 << 32;
/// Descriptors in a line.
const ISO_SHOWN: u32 = 5;

/// One event in a line.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Line {
    id: u64,
    stamp_us: u64,
    event: u8,
    transfer: u8,
    endpoint: u8,
    device: u8,
    bus: u16,
    status: i32,
    interval: i32,
    start_frame: i32,
    iso_errors: u32,
    iso_packets: u32,
    /// (status, offset, length) of the descriptors in the line.
    iso: [(i32, u32, u32); ISO_SHOWN as usize],
    setup: Option<[u8; 8]>,
    length: u32,
    /// The word before the data: '=' if they follow, another one if not.
    tag: u8,
    data: [u8; 32],
    data_bytes: usize,
}

/// Reads the lines of one file.
pub struct UsbmonText {
    bytes: Bytes,
    compression: &'static str,
    record: Vec<u8>,
    /// The latest timestamp, and the wraps before it.
    last_us: Option<u64>,
    wrapped_us: u64,
    /// Where the clock wraps: a timestamp may show that it is that of older kernels.
    wrap_us: u64,
    /// Consecutive empty lines.
    skipped_run: u64,
    records: u64,
    done: bool,
}

/// Whether the first or second line of `head` is an event: a file may begin inside a line.
pub fn is_usbmon_text(head: &[u8]) -> bool {
    let mut lines = head.split(|b| *b == b'\n');
    let whole = head.ends_with(b"\n") || head.len() < limits::SNIFF_BYTES;
    let last = if whole { usize::MAX } else { head.iter().filter(|b| **b == b'\n').count() };
    let first = lines.next().filter(|_| last > 0).and_then(parse).is_some();
    first || lines.next().filter(|_| last > 1).and_then(parse).is_some()
}

impl UsbmonText {
    pub fn open(bytes: Bytes, compression: &'static str) -> Self {
        UsbmonText {
            bytes,
            compression,
            record: Vec::new(),
            last_us: None,
            wrapped_us: 0,
            wrap_us: WRAP_US,
            skipped_run: 0,
            records: 0,
            done: false,
        }
    }

    /// Length of the line at the front with its end, up to the limit; None at the end of the file.
    fn line_bytes(&mut self) -> Option<usize> {
        let mut seen = 0;
        loop {
            let data = self.bytes.data();
            let reach = data.len().min(limits::USBMON_LINE_BYTES);
            if let Some(at) = data[seen..reach].iter().position(|b| *b == b'\n') {
                return Some(seen + at + 1);
            }
            seen = reach;
            if seen == limits::USBMON_LINE_BYTES || !self.bytes.fill(seen + 1) {
                return (seen > 0).then_some(seen);
            }
        }
    }

    /// Nanoseconds since the clock's last wrap before the capture.
    fn time_ns(&mut self, stamp_us: u64) -> Option<i64> {
        if stamp_us >= OLD_WRAP_US {
            return None;
        }
        if stamp_us >= WRAP_US {
            self.wrap_us = OLD_WRAP_US;
        }
        let half = self.wrap_us / 2;
        match self.last_us {
            Some(last) if stamp_us + half < last => self.wrapped_us += self.wrap_us,
            // A line out of order at the wrap.
            Some(last) if stamp_us > last + half && self.wrapped_us > 0 => {
                return to_ns((self.wrapped_us + stamp_us).saturating_sub(self.wrap_us));
            }
            _ => {}
        }
        self.last_us = Some(stamp_us);
        to_ns(self.wrapped_us + stamp_us)
    }
}

fn to_ns(us: u64) -> Option<i64> {
    i64::try_from(us).ok()?.checked_mul(1000)
}

impl RecordSource for UsbmonText {
    fn next_record<'a>(&'a mut self, notes: &mut Notes) -> Result<Option<Record<'a>>> {
        while !self.done {
            let Some(length) = self.line_bytes() else {
                self.done = true;
                if self.records == 0 {
                    if let Some(e) = self.bytes.take_failure() {
                        return Err(Error::from(e));
                    }
                    notes.add(NoteKind::NoPackets, 0, self.bytes.offset());
                }
                self.bytes.report(notes);
                break;
            };
            let offset = self.bytes.offset();
            let line = self.bytes.advance(length);
            let ended = line.ends_with(b"\n");
            let Some(line) = parse(line) else {
                let cut = !ended && length < limits::USBMON_LINE_BYTES;
                let kind = if cut { NoteKind::CutFile } else { NoteKind::UsbmonLine };
                notes.add(kind, self.records + 1, offset);
                self.skipped_run += 1;
                if self.skipped_run > limits::EMPTY_RUN {
                    notes.add(NoteKind::EmptyRun, self.records + 1, offset);
                    self.done = true;
                }
                continue;
            };
            self.skipped_run = 0;
            self.records += 1;
            if self.records == 1 {
                notes.add(NoteKind::UsbmonText, 1, offset);
            }
            let time_ns = self.time_ns(line.stamp_us);
            if time_ns.is_none() {
                notes.add(NoteKind::TimeNotRepresentable, self.records, offset);
            }
            let transferred = write(&line, time_ns.unwrap_or(0), &mut self.record);
            return Ok(Some(Record {
                time_ns,
                wire_bytes: u32::try_from(transferred).unwrap_or(u32::MAX),
                data: &self.record,
                link_type: LINKTYPE_USB_LINUX_MMAPPED,
                interface: 0,
                fcs_bytes: None,
                outgoing: None,
                offset,
                radio: None,
            }));
        }
        Ok(None)
    }

    fn sniffed(&self) -> Sniffed {
        Sniffed { format: "usbmon_text".into(), compression: self.compression }
    }

    fn interfaces(&self) -> Vec<Interface> {
        vec![Interface { link_type: LINKTYPE_USB_LINUX_MMAPPED, ..Interface::default() }]
    }

    fn texts(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// Write the event as a binary record; returns its length with all transferred data.
fn write(line: &Line, time_ns: i64, out: &mut Vec<u8>) -> usize {
    let isochronous = line.transfer == 0;
    let shown = if isochronous { line.iso_packets.min(ISO_SHOWN) as usize } else { 0 };
    let data = &line.data[..line.data_bytes];
    let present = line.tag == b'=';
    out.clear();
    out.extend(line.id.to_le_bytes());
    out.extend([line.event, line.transfer, line.endpoint, line.device]);
    out.extend(line.bus.to_le_bytes());
    out.push(if line.setup.is_some() { 0 } else { b'-' });
    out.push(if present { 0 } else { line.tag });
    out.extend((time_ns / 1_000_000_000).to_le_bytes());
    out.extend(((time_ns % 1_000_000_000 / 1000) as i32).to_le_bytes());
    out.extend(line.status.to_le_bytes());
    out.extend(line.length.to_le_bytes());
    let captured = (shown * ISO_DESCRIPTOR + data.len()) as u32;
    out.extend(captured.to_le_bytes());
    if isochronous {
        out.extend(line.iso_errors.to_le_bytes());
        out.extend(line.iso_packets.to_le_bytes());
    } else {
        out.extend(line.setup.unwrap_or_default());
    }
    out.extend(line.interval.to_le_bytes());
    out.extend(line.start_frame.to_le_bytes());
    out.extend([0; 4]);
    out.extend((shown as u32).to_le_bytes());
    for (status, offset, length) in &line.iso[..shown] {
        out.extend(status.to_le_bytes());
        out.extend(offset.to_le_bytes());
        out.extend(length.to_le_bytes());
        out.extend([0; 4]);
    }
    out.extend(data);
    let missing = if present { (line.length as usize).saturating_sub(data.len()) } else { 0 };
    out.len().saturating_add(missing)
}

/// The words of a line.
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let begin = self.0.iter().position(|b| !b.is_ascii_whitespace())?;
        let rest = &self.0[begin..];
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        self.0 = &rest[end..];
        Some(&rest[..end])
    }
}

fn number<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

fn hex(word: &[u8]) -> Option<u64> {
    (1..=16).contains(&word.len()).then_some(())?;
    word.iter().try_fold(0, |n, b| Some(n << 4 | u64::from(char::from(*b).to_digit(16)?)))
}

/// Parse a line; None if it is not an event.
fn parse(line: &[u8]) -> Option<Line> {
    let mut words = Words(line);
    let mut out = Line { id: hex(words.next()?)?, ..Line::default() };
    out.stamp_us = number(words.next()?)?;
    out.event = match words.next()? {
        [event @ (b'S' | b'C' | b'E')] => *event,
        _ => return None,
    };
    address(words.next()?, &mut out)?;
    let status = words.next()?;
    match status {
        // A setup packet, or a letter that gives the reason why it was not captured.
        [letter] if !letter.is_ascii_digit() => {
            let setup = setup(&mut words)?;
            out.setup = setup.filter(|_| *letter == b's');
            out.status = IN_PROGRESS;
        }
        _ => numbers(status, &mut out)?,
    }
    let mut word = words.next();
    if out.transfer == 0 && status.contains(&b':') {
        out.iso_packets = number(word?)?;
        word = words.next();
        while let Some(descriptor) = word.filter(|w| w.contains(&b':')) {
            let mut parts = descriptor.split(|b| *b == b':');
            let at = out.iso.iter().position(|d| *d == (0, 0, 0));
            let read = (number(parts.next()?)?, number(parts.next()?)?, number(parts.next()?)?);
            if let Some(slot) = at.and_then(|i| out.iso.get_mut(i)) {
                *slot = read;
            }
            word = words.next();
        }
    }
    out.length = number(word?)?;
    out.tag = match words.next() {
        // Nothing was transferred.
        None => b'-',
        Some([tag]) => *tag,
        Some(_) => return None,
    };
    if out.tag == b'=' {
        while let Some(word) = words.next() {
            data(word, &mut out)?;
        }
    }
    Some(out)
}

/// Status of a submission, which a line with a setup packet does not contain.
const IN_PROGRESS: i32 = -115;

/// "Ci:1:001:0": type and direction, bus, device, endpoint; the old form has no bus.
fn address(word: &[u8], out: &mut Line) -> Option<()> {
    let mut parts = word.split(|b| *b == b':');
    let is_in = match parts.next()? {
        [kind, direction @ (b'i' | b'o')] => {
            out.transfer = match kind {
                b'Z' => 0,
                b'I' => 1,
                b'C' => 2,
                b'B' => 3,
                _ => return None,
            };
            *direction == b'i'
        }
        _ => return None,
    };
    let (first, second) = (parts.next()?, parts.next()?);
    let endpoint: u8 = match parts.next() {
        Some(endpoint) => {
            (out.bus, out.device) = (number(first)?, number(second)?);
            number(endpoint)?
        }
        None => {
            out.device = number(first)?;
            number(second)?
        }
    };
    (endpoint < 16 && parts.next().is_none()).then_some(())?;
    out.endpoint = endpoint | if is_in { 0x80 } else { 0 };
    Some(())
}

/// The five words of a setup packet; Some(None) where they were not captured.
fn setup(words: &mut Words<'_>) -> Option<Option<[u8; 8]>> {
    let mut fields = [0; 5];
    let mut captured = true;
    for field in &mut fields {
        let word = words.next()?;
        if word.iter().all(|b| *b == b'_') {
            captured = false;
        } else {
            *field = u16::try_from(hex(word)?).ok()?;
        }
    }
    let [request_type, request, value, index, length] = fields.map(u16::to_le_bytes);
    let bytes = [request_type[0], request[0], value[0], value[1], index[0], index[1], length[0], length[1]];
    Some(captured.then_some(bytes))
}

/// "status", "status:interval", "status:interval:frame", and on completion ":errors".
fn numbers(word: &[u8], out: &mut Line) -> Option<()> {
    let mut parts = word.split(|b| *b == b':');
    out.status = number(parts.next()?)?;
    for (i, part) in parts.enumerate() {
        match i {
            0 => out.interval = number(part)?,
            1 => out.start_frame = number(part)?,
            2 => out.iso_errors = number(part)?,
            _ => return None,
        }
    }
    Some(())
}

/// A word of up to four bytes in hexadecimal; bytes above the kernel's limit of 32 are not data.
fn data(word: &[u8], out: &mut Line) -> Option<()> {
    (word.len() % 2 == 0).then_some(())?;
    for pair in word.chunks_exact(2) {
        let byte = u8::try_from(hex(pair)?).ok()?;
        *out.data.get_mut(out.data_bytes)? = byte;
        out.data_bytes += 1;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::{format_of, open};
    use super::*;

    const NEW: &str = "ffff88003a1c2b40 3575914555 S Ci:1:001:0 s a3 00 0000 0003 0004 4 <
ffff88003a1c2b40 3575914560 C Ci:1:001:0 0 4 = 01050000
dd65f0e8 4128379752 S Bo:1:008:2 -115 31 = 55534243 ad000000 00800000 80010a28 20000000 20000040 00000000 000000
dd65f0e8 4128379808 C Bo:1:008:2 0 31 >
dd65f0e8 4128379808 S Ii:2:003:1 -115:8 2 <
dd65f0e8 4128379809 C Zi:2:003:1 0:1:1600:1 2 0:0:3 -18:3:2 5 = 01020304 05
dd65f0e8 4128379810 E Bi:2:003:1 -19 0
";

    /// Time, wire length and bytes.
    type Got = (Option<i64>, u32, Vec<u8>);

    fn records(text: &str) -> (Vec<Got>, Notes) {
        let mut notes = Notes::default();
        let mut source = open(Box::new(std::io::Cursor::new(text.as_bytes().to_vec()))).expect("text");
        let mut out = Vec::new();
        while let Some(r) = source.next_record(&mut notes).expect("no failure") {
            assert_eq!(r.link_type, LINKTYPE_USB_LINUX_MMAPPED);
            out.push((r.time_ns, r.wire_bytes, r.data.to_vec()));
        }
        (out, notes)
    }

    #[test]
    fn lines_are_records() {
        let (got, notes) = records(NEW);
        assert_eq!(format_of(NEW.as_bytes()), Some("usbmon_text"));
        assert_eq!(got.len(), 7);
        assert_eq!(got[0].0, Some(3_575_914_555_000));
        let [.., control, _, sent, _, interrupt, iso, refused] = &got[..] else { unreachable!() };
        assert_eq!(control.2[8..16], [b'S', 2, 0x80, 1, 1, 0, 0, b'<']);
        assert_eq!(control.2[40..48], [0xa3, 0, 0, 0, 3, 0, 4, 0]);
        assert_eq!((sent.1, &sent.2[64..68], sent.2[15]), (95, &b"USBC"[..], 0));
        assert_eq!(interrupt.2[28..32], (-115i32).to_le_bytes());
        assert_eq!(iso.2[60], 2);
        assert_eq!(iso.2[64 + 16..64 + 20], (-18i32).to_le_bytes());
        assert_eq!(&iso.2[64 + 32..], [1, 2, 3, 4, 5]);
        assert_eq!((refused.2[8], refused.2.len()), (b'E', 64));
        assert_eq!((notes.get(NoteKind::UsbmonText).count, notes.get(NoteKind::UsbmonLine).count), (1, 0));
    }

    #[test]
    fn the_older_form() {
        let (got, _) =
            records("d5ea89a0 3575914555 S Ci:001:00 s a3 00 0000 0003 0004 4 <\nd5ea89a0 9 C Ii:003:02 0 4 D\n");
        assert_eq!(got[0].2[8..15], [b'S', 2, 0x80, 1, 0, 0, 0]);
        assert_eq!(got[1].2[8..16], [b'C', 1, 0x82, 3, 0, 0, b'-', b'D']);
    }

    #[test]
    fn a_clock_that_wraps() {
        let line = |us: u64| format!("d5ea89a0 {us} S Bi:1:001:1 -115 4 <\n");
        let (got, _) = records(&[line(4_095_999_999), line(1), line(4_095_999_998), line(2), line(1 << 32)].concat());
        let times: Vec<_> = got.iter().map(|r| r.0.map(|t| t / 1000)).collect();
        let wrap = WRAP_US as i64;
        assert_eq!(times, [Some(wrap - 1), Some(wrap + 1), Some(wrap - 2), Some(wrap + 2), None]);
        let (got, _) = records(&[line(4_294_967_000), line(1)].concat());
        assert_eq!(got[1].0, Some(((1 << 32) + 1) * 1000));
    }

    #[test]
    fn lines_that_are_no_events() {
        let text = format!("half a line\n{NEW}noise\n\n{}\n{}", "x".repeat(100_000), &NEW[..40]);
        let (got, notes) = records(&text);
        assert_eq!((got.len(), notes.get(NoteKind::CutFile).count), (7, 1));
        assert!(notes.get(NoteKind::UsbmonLine).count >= 4);
        for bad in [
            "d5ea89a0 1 S Xi:1:001:1 0 4 <",
            "d5ea89a0 1 S Bi:1:001:16 0 4 <",
            "d5ea89a0 1 S Bi:1:001:1 0 -4 <",
            "d5ea89a0 1 S Bi:1:001:1 0 4 = 012",
            "d5ea89a01234567890 1 S Bi:1:001:1 0 4 <",
            "d5ea89a0 1 S Ci:1:001:1 s 00 00 0000",
            "d5ea89a0 1 C Zi:1:001:1 0:1:1:1 1 0:x 4 <",
        ] {
            assert_eq!(parse(bad.as_bytes()), None, "{bad}");
        }
        assert!(!is_usbmon_text(b"a plain text\nof two lines\n"));
    }

    #[test]
    fn cut_at_every_byte() {
        for n in 0..NEW.len() {
            if let Ok(mut source) = open(Box::new(std::io::Cursor::new(NEW.as_bytes()[..n].to_vec()))) {
                let mut notes = Notes::default();
                while source.next_record(&mut notes).expect("no failure").is_some() {}
            }
        }
    }
}
