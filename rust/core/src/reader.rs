//! The whole path of one capture: bytes, records, packets, facts; batches of rows come out.

use arrow_array::RecordBatch;

use crate::container::RecordSource;
use crate::error::{Error, ErrorKind, Result};
use crate::flow::Tracker;
use crate::limits;
use crate::notes::{NoteKind, Notes};
use crate::table::packets::PacketTable;
use crate::wire;

/// What was read so far, for progress and the capture's description.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    pub records: u64,
    /// Records of protocols without a row (ARP, beacons ...).
    pub other_records: u64,
    /// Bytes of records read, after decompression.
    pub offset: u64,
    pub first_ns: Option<i64>,
    pub last_ns: Option<i64>,
    pub wire_bytes: u64,
    /// LINKTYPE_ values seen with their record counts.
    pub link_types: Vec<(u16, u64)>,
}

/// Reads one capture to its end, a batch of tables at a time.
pub struct Reader {
    source: Box<dyn RecordSource>,
    packets: PacketTable,
    tracker: Option<Tracker>,
    notes: Notes,
    progress: Progress,
    batch_rows: usize,
    done: bool,
}

impl Reader {
    /// `track`: follow TCP connections too, not only decode.
    pub fn new(source: Box<dyn RecordSource>, batch_rows: usize, track: bool) -> Self {
        Reader {
            source,
            packets: PacketTable::default(),
            tracker: track.then(Tracker::default),
            notes: Notes::default(),
            progress: Progress::default(),
            batch_rows: batch_rows.clamp(1, limits::BATCH_ROWS),
            done: false,
        }
    }

    /// Everything odd so far, of container, decoder and tracker together.
    pub fn notes(&self) -> Notes {
        let mut notes = self.notes.clone();
        if let Some(tracker) = &self.tracker {
            notes.merge(tracker.notes());
        }
        notes
    }

    pub fn source(&self) -> &dyn RecordSource {
        self.source.as_ref()
    }

    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The next batches as (table, rows); an empty list is the end.
    pub fn next_batches(&mut self) -> Result<Vec<(&'static str, RecordBatch)>> {
        let mut out = Vec::new();
        while out.is_empty() && !self.done {
            self.fill()?;
            if !self.packets.is_empty() {
                out.push(("packets", self.packets.finish()));
            }
            if let Some(tracker) = &mut self.tracker {
                if self.done {
                    tracker.finish(&mut out);
                } else {
                    tracker.drain(&mut out);
                }
            }
        }
        Ok(out)
    }

    /// Read records until a batch is full or the capture ends.
    fn fill(&mut self) -> Result<()> {
        let Reader { source, packets, tracker, notes, progress, .. } = self;
        let mut seen = 0;
        while packets.len() < self.batch_rows && seen < limits::BATCH_ROWS {
            // Used where it was returned: copying a fresh record would stall on every packet.
            let next = source.next_record(notes);
            let record = match &next {
                Ok(Some(record)) => record,
                Ok(None) => {
                    self.done = true;
                    break;
                }
                Err(_) => return next.map(|_| ()),
            };
            seen += 1;
            progress.records += 1;
            progress.offset = record.offset;
            progress.wire_bytes = progress.wire_bytes.saturating_add(u64::from(record.wire_bytes));
            match progress.link_types.iter_mut().find(|l| l.0 == record.link_type) {
                Some(l) => l.1 += 1,
                None if wire::supported(record.link_type) => progress.link_types.push((record.link_type, 1)),
                None if progress.records == 1 => {
                    return Err(Error::new(
                        ErrorKind::UnsupportedLinkType,
                        format!("link type {} has no decoder", record.link_type),
                    )
                    .at(record.offset)
                    .next("`wlanlens list formats` names those that have"));
                }
                None => {
                    notes.add(NoteKind::UnsupportedLinkType, progress.records, record.offset);
                    continue;
                }
            }
            if let Some(t) = record.time_ns {
                if progress.first_ns.is_none() {
                    progress.first_ns = Some(t);
                }
                if progress.last_ns.is_some_and(|last| t < last) {
                    notes.add(NoteKind::TimeBackwards, progress.records, record.offset);
                }
                progress.last_ns = Some(t);
            }
            let start = progress.first_ns.unwrap_or(0);
            let before = packets.len();
            wire::decode(record, progress.records, notes, &mut |p| {
                let flow = tracker.as_mut().and_then(|t| t.observe(p, start));
                packets.push(p, start, flow);
            });
            if packets.len() == before {
                progress.other_records += 1;
            }
        }
        Ok(())
    }
}
