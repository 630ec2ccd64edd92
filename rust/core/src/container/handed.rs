//! Records that a reader outside this crate hands over, a batch at a time. They are checked as those of any file.

use super::pcap::record_cap;
use super::record::{Interface, Record, RecordSource, Sniffed};
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::notes::{NoteKind, Notes};

/// Stands for LINKTYPE_ values that do not fit in 16 bits: no decoder has it.
const NO_LINKTYPE: u16 = u16::MAX;

/// Where the records come from.
pub trait Supplier: Send {
    /// Put the next records into an empty batch; none is the end. Those put there before an error count.
    fn next_batch(&mut self, batch: &mut Batch) -> Result<()>;

    /// "gzip", "zstd", "lz4", or "" for none.
    fn compression(&self) -> &'static str;

    /// At the end, after so many records: what was odd in the file as a whole.
    fn end(&mut self, records: u64, notes: &mut Notes) -> Result<()>;
}

/// When a record was captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// Nanoseconds since 1970.
    At(i64),
    /// The file has no timestamp for it.
    None,
    /// 64 bits of nanoseconds do not hold it.
    NotRepresentable,
}

/// What is said of a record besides its bytes. Nothing of it is believed yet.
#[derive(Debug, Clone, Copy)]
pub struct Handed {
    pub time: Time,
    pub link_type: i64,
    pub wire_bytes: i64,
    pub interface: u32,
    pub outgoing: Option<bool>,
    /// Where in the file it begins.
    pub offset: u64,
}

/// Some records, and notes on the file between them.
#[derive(Debug, Default)]
pub struct Batch {
    /// Each with the end of its bytes in `data`, and how many it had before it was cut.
    records: Vec<(Handed, usize, usize)>,
    data: Vec<u8>,
    /// Each with the number of records before it.
    notes: Vec<(usize, NoteKind, u64, u64)>,
}

impl Batch {
    /// Whether it should be handed over.
    pub fn is_full(&self) -> bool {
        self.records.len() >= limits::HANDED_RECORDS || self.data.len() >= limits::HANDED_BYTES
    }

    pub fn push(&mut self, record: Handed, data: &[u8]) {
        let cap = record_cap(record.link_type.try_into().unwrap_or(NO_LINKTYPE)) as usize;
        self.data.extend_from_slice(&data[..data.len().min(cap)]);
        self.records.push((record, self.data.len(), data.len()));
    }

    /// Note what was odd in the file before the next record.
    pub fn note(&mut self, kind: NoteKind, count: u64, offset: u64) {
        self.notes.push((self.records.len(), kind, count, offset));
    }

    fn clear(&mut self) {
        self.records.clear();
        self.data.clear();
        self.notes.clear();
    }
}

/// Reads what a supplier hands over.
pub struct HandedSource<S> {
    format: String,
    supplier: S,
    batch: Batch,
    /// Records of the batch, bytes of it and notes of it that are used up.
    at: usize,
    data_at: usize,
    notes_at: usize,
    failure: Option<Error>,
    records: u64,
    /// Records without a byte in a row.
    empty_run: u64,
    last_offset: u64,
    /// (interface, link type) pairs in the order in which they came, capped.
    interfaces: Vec<(u32, u16)>,
    texts: Vec<(String, String)>,
    done: bool,
}

impl<S: Supplier> HandedSource<S> {
    pub fn new(format: String, supplier: S) -> Self {
        HandedSource {
            format,
            supplier,
            batch: Batch::default(),
            at: 0,
            data_at: 0,
            notes_at: 0,
            failure: None,
            records: 0,
            empty_run: 0,
            last_offset: 0,
            interfaces: Vec::new(),
            texts: Vec::new(),
            done: false,
        }
    }

    /// Have a record at the front of the batch; false at the end.
    fn fill(&mut self, notes: &mut Notes) -> Result<bool> {
        while !self.done && self.at == self.batch.records.len() {
            self.note_batch(notes);
            if let Some(e) = self.failure.take() {
                self.fail(e, notes)?;
                break;
            }
            self.batch.clear();
            (self.at, self.data_at, self.notes_at) = (0, 0, 0);
            self.failure = self.supplier.next_batch(&mut self.batch).err();
            if self.batch.records.is_empty() && self.failure.is_none() {
                self.note_batch(notes);
                self.end(notes)?;
            }
        }
        Ok(!self.done)
    }

    /// Count the notes on what lies before the record at the front.
    fn note_batch(&mut self, notes: &mut Notes) {
        while let Some((_, kind, count, offset)) = self.batch.notes.get(self.notes_at).filter(|n| n.0 <= self.at) {
            notes.add_many(*kind, *count, self.records + 1, *offset);
            self.notes_at += 1;
        }
    }

    /// The supplier failed: an error before the first record, else the end.
    fn fail(&mut self, e: Error, notes: &mut Notes) -> Result<()> {
        self.done = true;
        if self.records == 0 {
            return Err(e);
        }
        notes.add(NoteKind::ReaderFailed, self.records + 1, e.offset.unwrap_or(self.last_offset));
        let mut text = e.to_string();
        text.truncate((0..=limits::TEXT_BYTES).rev().find(|n| text.is_char_boundary(*n)).unwrap_or(0));
        self.texts.push((NoteKind::ReaderFailed.name().into(), text));
        self.supplier.end(self.records, notes)
    }

    fn end(&mut self, notes: &mut Notes) -> Result<()> {
        self.done = true;
        self.supplier.end(self.records, notes)?;
        if self.records == 0 {
            notes.add(NoteKind::NoPackets, 0, self.last_offset);
        }
        Ok(())
    }

    /// What is believed of a record with so many bytes: time, link type, length on the wire.
    fn examine(&mut self, r: &Handed, captured: usize, notes: &mut Notes) -> Result<(Option<i64>, u16, u32)> {
        let packet = self.records;
        let time_ns = match r.time {
            Time::At(t) => Some(t),
            Time::None => {
                notes.add(NoteKind::NoTime, packet, r.offset);
                None
            }
            Time::NotRepresentable => {
                notes.add(NoteKind::TimeNotRepresentable, packet, r.offset);
                None
            }
        };
        if time_ns.is_some_and(|t| t < 0) {
            notes.add(NoteKind::TimeBefore1970, packet, r.offset);
        }
        let link_type = match u16::try_from(r.link_type) {
            Ok(value) => value,
            Err(_) if packet > 1 => NO_LINKTYPE,
            Err(_) => {
                let what = format!("link type {} has no decoder", r.link_type);
                return Err(Error::new(ErrorKind::UnsupportedLinkType, what).at(r.offset));
            }
        };
        if captured > record_cap(link_type) as usize {
            notes.add(NoteKind::OversizedRecord, packet, r.offset);
        }
        let wire_bytes = match u32::try_from(r.wire_bytes) {
            Ok(wire) if wire <= limits::WIRE_BYTES => wire,
            believed => {
                notes.add(NoteKind::WireLengthImplausible, packet, r.offset);
                // A negative length says nothing; what was captured was on the wire.
                believed.unwrap_or(if r.wire_bytes < 0 { captured.try_into().unwrap_or(u32::MAX) } else { u32::MAX })
            }
        };
        if captured as u64 > u64::from(wire_bytes) {
            notes.add(NoteKind::CaptureOverWire, packet, r.offset);
        }
        Ok((time_ns, link_type, wire_bytes))
    }
}

impl<S: Supplier> RecordSource for HandedSource<S> {
    fn next_record<'a>(&'a mut self, notes: &mut Notes) -> Result<Option<Record<'a>>> {
        if !self.fill(notes)? {
            return Ok(None);
        }
        self.note_batch(notes);
        let (r, end, captured) = self.batch.records[self.at];
        self.records += 1;
        self.last_offset = r.offset;
        self.empty_run = if captured == 0 { self.empty_run + 1 } else { 0 };
        if captured == 0 {
            notes.add(NoteKind::EmptyRecords, self.records, r.offset);
        }
        if self.empty_run > limits::EMPTY_RUN {
            notes.add(NoteKind::EmptyRun, self.records, r.offset);
            self.records -= 1;
            self.end(notes)?;
            return Ok(None);
        }
        let (time_ns, link_type, wire_bytes) = match self.examine(&r, captured, notes) {
            Ok(believed) => believed,
            Err(e) => {
                self.done = true;
                return Err(e);
            }
        };
        let shown = (r.interface, link_type);
        if self.interfaces.len() < limits::INTERFACES_SHOWN && !self.interfaces.contains(&shown) {
            self.interfaces.push(shown);
        }
        let begin = std::mem::replace(&mut self.data_at, end);
        self.at += 1;
        Ok(Some(Record {
            time_ns,
            wire_bytes,
            data: &self.batch.data[begin..end],
            link_type,
            interface: r.interface,
            fcs_bytes: None,
            outgoing: r.outgoing,
            offset: r.offset,
            radio: None,
        }))
    }

    fn sniffed(&self) -> Sniffed {
        Sniffed { format: self.format.clone().into(), compression: self.supplier.compression() }
    }

    fn interfaces(&self) -> Vec<Interface> {
        self.interfaces
            .iter()
            .map(|(_, link_type)| Interface { link_type: *link_type, ..Interface::default() })
            .collect()
    }

    fn texts(&self) -> Vec<(String, String)> {
        self.texts.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Row = (Option<i64>, u16, u32, usize);

    /// Hands over `records` of (time, link type, length on the wire, bytes), `step` at a time, then fails if it should.
    struct List {
        records: Vec<(Time, i64, i64, usize)>,
        at: usize,
        step: usize,
        fails: bool,
    }

    impl Supplier for List {
        fn next_batch(&mut self, batch: &mut Batch) -> Result<()> {
            for (time, link_type, wire_bytes, bytes) in self.records.iter().skip(self.at).take(self.step) {
                let offset = self.at as u64;
                let (interface, outgoing) = (0, None);
                let record =
                    Handed { time: *time, link_type: *link_type, wire_bytes: *wire_bytes, interface, outgoing, offset };
                batch.note(NoteKind::BytesSkipped, 2, offset);
                batch.push(record, &vec![7; *bytes]);
                self.at += 1;
            }
            match self.fails && self.at == self.records.len() {
                true => Err(Error::new(ErrorKind::CorruptCapture, "no more")),
                false => Ok(()),
            }
        }

        fn compression(&self) -> &'static str {
            ""
        }

        fn end(&mut self, _records: u64, _notes: &mut Notes) -> Result<()> {
            Ok(())
        }
    }

    /// Names and counts of the notes.
    type Counts = Vec<(&'static str, u64)>;

    fn read(records: &[(Time, i64, i64, usize)], step: usize, fails: bool) -> Result<(Vec<Row>, Counts)> {
        let mut source = HandedSource::new("list".into(), List { records: records.to_vec(), at: 0, step, fails });
        let (mut rows, mut notes) = (Vec::new(), Notes::default());
        while let Some(r) = source.next_record(&mut notes)? {
            rows.push((r.time_ns, r.link_type, r.wire_bytes, r.data.len()));
        }
        assert!(source.next_record(&mut notes)?.is_none(), "the end stays the end");
        let texts = source.texts();
        assert_eq!(texts.len(), usize::from(fails));
        Ok((rows, notes.iter().map(|(kind, c)| (kind.name(), c.count)).collect()))
    }

    #[test]
    fn batches_of_any_size_give_the_same_records() {
        let records: Vec<_> = (0..50).map(|i| (Time::At(i), 1, 100 + i, 60)).collect();
        let whole: Vec<Row> = (0..50).map(|i| (Some(i), 1, 100 + i as u32, 60)).collect();
        for step in [1, 7, 50, 1000] {
            assert_eq!(read(&records, step, false).unwrap(), (whole.clone(), vec![("bytes_skipped", 100)]));
        }
    }

    #[test]
    fn odd_values_are_noted() {
        let (cap, huge) = (limits::RECORD_BYTES, i64::from(limits::WIRE_BYTES) + 1);
        for (record, row, note) in [
            ((Time::None, 1, 9, 9), (None, 1, 9, 9), "no_time"),
            ((Time::NotRepresentable, 1, 9, 9), (None, 1, 9, 9), "time_not_representable"),
            ((Time::At(-1), 1, 9, 9), (Some(-1), 1, 9, 9), "time_before_1970"),
            ((Time::At(1), 70_000, 9, 9), (Some(1), NO_LINKTYPE, 9, 9), ""),
            ((Time::At(1), -1, 9, 9), (Some(1), NO_LINKTYPE, 9, 9), ""),
            ((Time::At(1), 1, -4, 9), (Some(1), 1, 9, 9), "wire_length_implausible"),
            ((Time::At(1), 1, huge, 9), (Some(1), 1, huge as u32, 9), "wire_length_implausible"),
            ((Time::At(1), 1, i64::MAX, 9), (Some(1), 1, u32::MAX, 9), "wire_length_implausible"),
            ((Time::At(1), 1, 8, 9), (Some(1), 1, 8, 9), "captured_over_wire"),
            ((Time::At(1), 1, 1 << 20, cap + 1), (Some(1), 1, 1 << 20, cap), "oversized_record"),
            ((Time::At(1), 1, 9, 0), (Some(1), 1, 9, 0), "empty_records"),
        ] {
            let (rows, notes) = read(&[(Time::At(1), 1, 60, 60), record], 10, false).unwrap();
            assert_eq!(rows[1..], [row]);
            let others: Vec<_> = notes.iter().map(|n| n.0).filter(|name| *name != "bytes_skipped").collect();
            assert_eq!(others, if note.is_empty() { vec![] } else { vec![note] }, "{record:?}");
        }
    }

    #[test]
    fn a_failure_is_an_error_before_the_first_record_and_a_note_after_it() {
        assert_eq!(read(&[], 1, true).unwrap_err().what, "no more");
        let (rows, notes) = read(&[(Time::At(1), 1, 60, 60); 3], 2, true).unwrap();
        assert_eq!((rows.len(), notes.last()), (3, Some(&("reader_failed", 1))));
        let first = read(&[(Time::At(1), 70_000, 60, 60)], 1, false).unwrap_err();
        assert_eq!((first.kind, &*first.what), (ErrorKind::UnsupportedLinkType, "link type 70000 has no decoder"));
        assert_eq!(read(&[], 1, false).unwrap(), (vec![], vec![("no_packets", 1)]));
    }

    #[test]
    fn endless_empty_records_end() {
        let many = vec![(Time::At(1), 1, 0, 0); limits::EMPTY_RUN as usize + 10];
        let (rows, notes) = read(&many, 1000, false).unwrap();
        assert_eq!(rows.len() as u64, limits::EMPTY_RUN);
        assert!(notes.contains(&("empty_run", 1)));
    }
}
