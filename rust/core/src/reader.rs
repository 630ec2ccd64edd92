//! The path of one capture: from bytes to records, packets and facts, in batches of rows.

mod air;
mod decoded;
mod input;

use std::collections::VecDeque;

use arrow_array::RecordBatch;

use self::air::Air;
use self::decoded::Decoded;
use self::input::Input;
use crate::airtime::Stamps;
use crate::container::RecordSource;
use crate::crypto::keys::Keys;
use crate::error::Result;
use crate::flow::numbers::FlowNumbers;
use crate::flow::Tracker;
use crate::limits;
use crate::memory;
use crate::notes::Notes;
use crate::table::packets::{PacketTable, BLOCK};
use crate::usb;
use crate::wire;

pub use self::input::Progress;

/// Records decoded ahead in a second thread: enough that waking it costs little, and few enough to stay in the second-level cache.
const AHEAD: usize = 2048;

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
}

impl Rows {
    /// Track what some records hold: packets, then the frames that held them, then URBs, a block at a time, because the instructions of all
    /// trackers together do not fit into a first-level cache.
    fn pass_on(&mut self, decoded: &mut Decoded) {
        let start_ns = decoded.start_ns;
        for block in decoded.rows.chunks_mut(BLOCK) {
            match (&mut self.tracker, &mut self.numbers) {
                (Some(tracker), _) => block.iter_mut().for_each(|r| r.flow = tracker.observe(&r.packet, start_ns)),
                (None, Some(numbers)) => block.iter_mut().for_each(|r| r.flow = numbers.observe(&r.packet, start_ns)),
                (None, None) => {}
            }
            self.packets.append(block);
        }
        if !decoded.frames.is_empty() {
            self.air.get_or_insert_default().pass_on(decoded, self.track);
        }
        if !decoded.urbs.is_empty() {
            let urbs = self.urbs.get_or_insert_default();
            decoded.urbs.iter().for_each(|event| urbs.observe(event, start_ns));
        }
    }

    /// Emit what is ready; returns whether that was all of a capture that has `ended`.
    fn drain(&mut self, out: &mut Vec<(&'static str, RecordBatch)>, ended: bool) -> bool {
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

/// Batches as (table, rows).
type Batches = Vec<(&'static str, RecordBatch)>;

/// Reads one capture to its end, a batch of tables at a time.
pub struct Reader {
    input: Input,
    rows: Rows,
    /// Records that are being tracked, and those that were decoded meanwhile.
    now: Decoded,
    ahead: Decoded,
    /// Decode in a thread of its own.
    two_threads: bool,
    batch_rows: usize,
    /// What `next_batches` returns next, where it was read before it was asked for.
    waiting: VecDeque<Result<Batches>>,
    /// No row is left to be read.
    done: bool,
    /// Connections when memory was asked for last.
    asked_at: u32,
}

impl Reader {
    /// `track`: track TCP connections too, instead of only decoding.
    pub fn new(source: Box<dyn RecordSource>, batch_rows: usize, track: bool) -> Self {
        Reader {
            input: Input::new(source),
            rows: Rows {
                packets: PacketTable::default(),
                tracker: track.then(Tracker::default),
                numbers: None,
                air: None,
                urbs: None,
                track,
            },
            now: Decoded::default(),
            ahead: Decoded::default(),
            two_threads: false,
            batch_rows: batch_rows.clamp(1, limits::BATCH_ROWS),
            waiting: VecDeque::new(),
            done: false,
            asked_at: 0,
        }
    }

    /// Decode in a second thread while the facts are found in this one: faster by the clock, at a little more CPU time.
    pub fn in_two_threads(mut self) -> Self {
        self.two_threads = true;
        self
    }

    /// The same, with keys for encrypted frames.
    pub fn with_keys(mut self, keys: Keys) -> Self {
        self.input.wire = wire::State::new(keys);
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
        let mut notes = self.input.notes.clone();
        notes.merge(&self.input.wire.notes());
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
        self.input.source.as_ref()
    }

    /// The instant of a PPDU that the timestamps of an 802.11 capture mark.
    pub fn stamps(&self) -> Option<Stamps> {
        self.rows.air.as_ref().and_then(|air| air.timing.stamps())
    }

    pub fn progress(&self) -> &Progress {
        &self.input.progress
    }

    /// The next batches as (table, rows); an empty list is the end.
    pub fn next_batches(&mut self) -> Result<Batches> {
        self.waiting.pop_front().unwrap_or_else(|| self.read())
    }

    /// Read what a later `next_batches` returns, unless it has been read for `most` of them; returns whether more can be read.
    pub fn read_ahead(&mut self, most: usize) -> bool {
        if self.waiting.len() < most && !self.done {
            let read = self.read();
            self.done |= read.is_err();
            self.waiting.push_back(read);
        }
        self.waiting.len() < most && !self.done
    }

    fn read(&mut self) -> Result<Batches> {
        let mut out = Vec::new();
        while out.is_empty() && !self.done {
            self.fill()?;
            let ended = self.input.ended && self.ahead.is_empty();
            self.done = self.rows.drain(&mut out, ended);
        }
        Ok(out)
    }

    /// The same, of at least so many rows of all tables together, unless the capture ends. An error loses the batches before it.
    pub fn next_batches_of(&mut self, least_rows: usize) -> Result<Batches> {
        let mut out = self.next_batches()?;
        let mut rows: usize = out.iter().map(|(_, batch)| batch.num_rows()).sum();
        while rows < least_rows && !(self.done && self.waiting.is_empty()) {
            let more = self.next_batches()?;
            rows += more.iter().map(|(_, batch)| batch.num_rows()).sum::<usize>();
            out.extend(more);
        }
        Ok(out)
    }

    /// Read and track records until a batch is full or the capture ends.
    fn fill(&mut self) -> Result<()> {
        let Reader { input, rows, now, ahead, asked_at, .. } = self;
        let mut seen = 0;
        while rows.packets.len() < self.batch_rows && seen < limits::BATCH_ROWS && !(input.ended && ahead.is_empty()) {
            let connections = rows.tracker.as_ref().map_or(0, Tracker::connections);
            if connections.saturating_sub(*asked_at) >= memory::CONNECTIONS {
                *asked_at = connections;
                memory::require_spare()?;
            }
            std::mem::swap(now, ahead);
            let mut decoded = Ok(());
            if now.is_empty() {
                decoded = input.decode(now, BLOCK.min(self.batch_rows - rows.packets.len()));
            }
            seen += now.records;
            if self.two_threads && now.records >= BLOCK && !input.ended && decoded.is_ok() {
                // What is decoded ahead ends with this batch, or is of the next one.
                let room = self.batch_rows.saturating_sub(rows.packets.len() + now.rows.len());
                let most = AHEAD.min(if room > 0 { room } else { self.batch_rows });
                decoded = beside(|| rows.pass_on(now), || input.decode(ahead, most));
            } else {
                rows.pass_on(now);
            }
            now.clear();
            decoded?;
        }
        Ok(())
    }
}

/// Run two functions at the same time, the second one in a thread of its own where there can be one; its result.
fn beside<B: Send>(here: impl FnOnce(), mut there: impl FnMut() -> B + Send) -> B {
    std::thread::scope(|scope| {
        let begun = std::thread::Builder::new().spawn_scoped(scope, &mut there);
        here();
        begun.ok().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
    .unwrap_or_else(there)
}
