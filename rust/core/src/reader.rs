//! The path of one capture: from bytes to records, packets and facts, in batches of rows.

mod air;

use arrow_array::RecordBatch;

use self::air::{Air, LastFlow};
use crate::airtime::Stamps;
use crate::container::RecordSource;
use crate::crypto::keys::Keys;
use crate::error::{Error, ErrorKind, Result};
use crate::flow::numbers::FlowNumbers;
use crate::flow::Tracker;
use crate::frame::Frame;
use crate::limits;
use crate::notes::{NoteKind, Notes};
use crate::packet::Packet;
use crate::table::packets::PacketTable;
use crate::urb::UrbEvent;
use crate::usb;
use crate::wire::{self, Sink};

/// The progress so far, also for the capture's description.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    pub records: u64,
    /// Records without an IP packet (ARP, beacons ...).
    pub other_records: u64,
    /// Bytes of records read, after decompression.
    pub offset: u64,
    pub first_ns: Option<i64>,
    pub last_ns: Option<i64>,
    pub wire_bytes: u64,
    /// LINKTYPE_ values seen with their record counts.
    pub link_types: Vec<(u16, u64)>,
}

/// The facts found in the records, before they become tables.
struct Rows {
    packets: PacketTable,
    tracker: Option<Tracker>,
    /// Numbers the connections where the tracker does not.
    numbers: Option<FlowNumbers>,
    air: Option<Air>,
    urbs: Option<usb::Tracker>,
    /// Whether packets, frames and URBs are tracked beyond their own row.
    track: bool,
    start_ns: i64,
    /// Connection of the last packet of this record.
    flow: LastFlow,
}

impl Sink for Rows {
    fn packet(&mut self, p: &Packet) {
        let full = self.packets.push(p, self.start_ns);
        self.flow = LastFlow::Row(self.packets.last_row());
        if full {
            self.pass_on();
            self.flow = LastFlow::Known(self.packets.flow_of(self.packets.last_row()));
            self.packets.write_block();
        }
    }

    fn frame(&mut self, frame: &mut Frame, body: &[u8]) {
        if self.air.get_or_insert_default().hold(frame, body, self.flow, self.start_ns) {
            self.pass_on();
        }
    }

    fn urb(&mut self, event: &UrbEvent) {
        self.urbs.get_or_insert_default().observe(event, self.start_ns);
    }
}

impl Rows {
    /// Track the connections of the packets decoded since the last call, and then the frames that held them: a block at a time, because
    /// the instructions of decoder and trackers together do not fit into a first-level cache.
    fn pass_on(&mut self) {
        let Rows { packets, tracker, numbers, start_ns, .. } = self;
        match (tracker, numbers) {
            (Some(tracker), _) => packets.track(|p| tracker.observe(p, *start_ns)),
            (None, Some(numbers)) => packets.track(|p| numbers.observe(p, *start_ns)),
            (None, None) => packets.track(|_| None),
        }
        if let Some(air) = &mut self.air {
            air.pass_on(|row| self.packets.flow_of(row), self.track);
        }
    }

    /// Emit what is ready; returns whether that was all of a capture that has `ended`.
    fn drain(&mut self, out: &mut Vec<(&'static str, RecordBatch)>, ended: bool) -> bool {
        self.pass_on();
        if let Some(packets) = self.packets.finish() {
            out.push(("packets", packets));
        }
        if let Some(tracker) = &mut self.tracker {
            if !ended {
                tracker.drain(out);
            } else if !tracker.finish(out) {
                return false;
            }
        }
        if let Some(air) = &mut self.air {
            if ended {
                air.timing.finish();
                air.settle();
            }
            if !air.frames.is_empty() && !air.timing.waiting() {
                out.push(("frames", air.frames.finish()));
            }
            if self.track && ended {
                air.exchanges.finish(out);
                if !air.networks.is_empty() {
                    out.push(("networks", air.networks.finish()));
                }
            } else if self.track {
                air.exchanges.drain(out);
            }
        }
        if let Some(urbs) = &mut self.urbs {
            if ended {
                urbs.finish(out);
            } else {
                urbs.drain(out);
            }
        }
        ended
    }
}

/// Reads one capture to its end, a batch of tables at a time.
pub struct Reader {
    source: Box<dyn RecordSource>,
    rows: Rows,
    wire: wire::State,
    notes: Notes,
    progress: Progress,
    batch_rows: usize,
    /// No record is left.
    ended: bool,
    /// No row is left.
    done: bool,
}

impl Reader {
    /// `track`: track TCP connections too, instead of only decoding.
    pub fn new(source: Box<dyn RecordSource>, batch_rows: usize, track: bool) -> Self {
        Reader {
            source,
            rows: Rows {
                packets: PacketTable::default(),
                tracker: track.then(Tracker::default),
                numbers: None,
                air: None,
                urbs: None,
                track,
                start_ns: 0,
                flow: LastFlow::Known(None),
            },
            wire: wire::State::default(),
            notes: Notes::default(),
            progress: Progress::default(),
            batch_rows: batch_rows.clamp(1, limits::BATCH_ROWS),
            ended: false,
            done: false,
        }
    }

    /// The same, with keys for encrypted frames.
    pub fn with_keys(mut self, keys: Keys) -> Self {
        self.wire = wire::State::new(keys);
        self
    }

    /// Emit `packets` as if everything were tracked, without the facts; see `numbered`.
    pub fn only_packets(mut self) -> Self {
        (self.rows.tracker, self.rows.numbers, self.rows.track) = (None, Some(FlowNumbers::default()), false);
        self
    }

    /// Emit everything but `packets`.
    pub fn without_packets(mut self) -> Self {
        self.rows.packets.leave_out();
        self
    }

    /// Whether the numbers of connections in `packets` are those of the facts.
    pub fn numbered(&self) -> bool {
        self.rows.tracker.is_some() || self.rows.numbers.as_ref().is_some_and(FlowNumbers::decided)
    }

    /// Emit `open_flows` too, from here on.
    pub fn add_open_flows(&mut self) {
        if let Some(tracker) = &mut self.rows.tracker {
            tracker.add_open_flows();
        }
    }

    /// All anomalies so far, of container, decoder and tracker.
    pub fn notes(&self) -> Notes {
        let mut notes = self.notes.clone();
        notes.merge(&self.wire.notes());
        if let Some(tracker) = &self.rows.tracker {
            notes.merge(tracker.notes());
        }
        if let Some(air) = &self.rows.air {
            notes.merge(air.timing.notes());
            notes.merge(air.exchanges.notes());
            notes.merge(air.networks.notes());
        }
        if let Some(urbs) = &self.rows.urbs {
            notes.merge(urbs.notes());
        }
        notes
    }

    pub fn source(&self) -> &dyn RecordSource {
        self.source.as_ref()
    }

    /// The instant of a PPDU that the timestamps of an 802.11 capture mark.
    pub fn stamps(&self) -> Option<Stamps> {
        self.rows.air.as_ref().and_then(|air| air.timing.stamps())
    }

    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The next batches as (table, rows); an empty list is the end.
    pub fn next_batches(&mut self) -> Result<Vec<(&'static str, RecordBatch)>> {
        let mut out = Vec::new();
        while out.is_empty() && !self.done {
            if !self.ended {
                self.fill()?;
            }
            self.done = self.rows.drain(&mut out, self.ended);
        }
        Ok(out)
    }

    /// The same, of at least so many rows of all tables together, unless the capture ends. An error loses the batches before it.
    pub fn next_batches_of(&mut self, least_rows: usize) -> Result<Vec<(&'static str, RecordBatch)>> {
        let mut out = self.next_batches()?;
        let mut rows: usize = out.iter().map(|(_, batch)| batch.num_rows()).sum();
        while rows < least_rows && !self.done {
            let more = self.next_batches()?;
            rows += more.iter().map(|(_, batch)| batch.num_rows()).sum::<usize>();
            out.extend(more);
        }
        Ok(out)
    }

    /// Read records until a batch is full or the capture ends.
    fn fill(&mut self) -> Result<()> {
        let Reader { source, rows, wire, notes, progress, .. } = self;
        let mut seen = 0;
        while rows.packets.len() < self.batch_rows && seen < limits::BATCH_ROWS {
            // Used where it was returned: copying a new record for every packet is slow.
            let next = source.next_record(notes);
            let record = match &next {
                Ok(Some(record)) => record,
                Ok(None) => {
                    self.ended = true;
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
                        format!("link type {} is not supported", record.link_type),
                    )
                    .at(record.offset)
                    .next("see `wlanlens list formats` for the supported ones"));
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
            rows.start_ns = progress.first_ns.unwrap_or(0);
            rows.flow = LastFlow::Known(None);
            let before = rows.packets.len();
            wire::decode(record, progress.records, wire, notes, rows);
            if rows.packets.len() == before {
                progress.other_records += 1;
            }
        }
        Ok(())
    }
}
