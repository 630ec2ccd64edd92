//! A UHCI host controller and the two bulk lists of a full-speed adapter: packets out, received frames in.
//!
//! Source: UHCI Design Guide 1.1 sections 1.3 and 3.4; USB 2.0 sections 5.3.3 and 5.8.4; the study of 802.11b adapters on
//! USB, section 4.1.2 and appendix A. In a frame of 1 ms fit 19 transactions of 64 bytes. The controller walks the vertical
//! lists, one per endpoint: breadth first it takes one transaction of each, depth first it stays with a list until its
//! transfer is done or refused. Without reclamation (FSBR) the walk ends at the last list, and a submission made during a
//! frame waits for the next; with it the last list leads back to the first. The driver gets completions at a frame's end.
//!
//! Inferred from the study's table 2, since no source describes it: depth first without reclamation each transfer begins in a
//! new frame, and the adapter takes a transfer's first transaction, which holds the descriptor, and refuses (NAK) the
//! second for a fraction of a frame. If a refused list waits for the next frame, this costs one frame per transfer; one
//! transaction per frame, or a second pass, hides it.

use std::collections::VecDeque;

use crate::engine::{Ns, MS};

#[cfg(test)]
mod tests;

/// Transactions per frame (USB 2.0 table 5-9).
pub const FRAME_TRANSACTIONS: u64 = 19;
/// Bytes of a full-speed bulk transaction (USB 2.0 section 5.8.3).
pub const TRANSACTION_BYTES: u32 = 64;
const FRAME: Ns = MS;
const TRANSACTION: Ns = FRAME / FRAME_TRANSACTIONS;

/// The modes of the controller, and the capacity of the adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsbConfig {
    pub depth_first: bool,
    /// Full-speed bandwidth reclamation: the last list leads back to the first.
    pub reclamation: bool,
    /// Start of the first frame, less than a frame.
    pub phase: Ns,
    /// From a frame's end to the driver.
    pub interrupt: Ns,
    /// Time for which the adapter refuses a transfer's second transaction.
    pub descriptor: Ns,
    /// Packets that the adapter can buffer for the air, including the one on the bus.
    pub buffer_frames: u32,
}

/// The vertical lists, in the order of the walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    Out = 0,
    In = 1,
}

const LISTS: [List; 2] = [List::Out, List::In];

/// The results of the bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// The adapter has the oldest OUT packet completely.
    Taken { at: Ns },
    /// The driver gets the completion of a list's oldest transfer.
    Completed { at: Ns, list: List, times: Times },
}

/// When a transfer's first transaction began and its last ended, and how long it was refused for lack of space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    pub first: Ns,
    pub last: Ns,
    pub refused: Ns,
}

/// A transfer that the controller can see, or a frame that the adapter has.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    transactions: u32,
    from: Ns,
}

/// The state of a list.
#[derive(Debug, Clone, Copy, Default)]
struct Cursor {
    /// Transfers done whose completion the driver does not have yet.
    done: usize,
    /// Transactions done of the next.
    moved: u32,
    first: Ns,
    /// The end of the previous transfer.
    last: Ns,
    /// The adapter refuses transactions before this.
    ready: Ns,
}

/// The controller's state: small, so that a copy can simulate ahead.
#[derive(Debug, Clone, Copy)]
struct Walk {
    /// The next transaction's begin.
    at: Ns,
    list: usize,
    room: u32,
    cursors: [Cursor; 2],
}

/// The bus of one adapter.
#[derive(Debug)]
pub struct UsbHost {
    config: UsbConfig,
    walk: Walk,
    /// Packets submitted and not completed.
    out: VecDeque<Waiting>,
    /// When each outstanding IN transfer is seen.
    posted: VecDeque<Ns>,
    /// Frames that the adapter has for the host.
    received: VecDeque<Waiting>,
    /// The adapter holds received frames.
    holding: bool,
    /// When space became free after none was left.
    room_since: Ns,
    taken: VecDeque<Ns>,
    completed: VecDeque<(Ns, List, Times)>,
    /// How far `due` simulated ahead, valid until something changes, and the transfers that end there.
    ahead: Option<(Ns, Walk)>,
    ends: Vec<(List, Times)>,
}

/// Transactions of a transfer; an empty one has one.
pub fn transactions(bytes: u32) -> u32 {
    bytes.div_ceil(TRANSACTION_BYTES).max(1)
}

impl UsbHost {
    pub fn new(config: UsbConfig) -> Self {
        let room = config.buffer_frames;
        UsbHost {
            config,
            walk: Walk { at: 0, list: 0, room, cursors: [Cursor::default(); 2] },
            out: VecDeque::new(),
            posted: VecDeque::new(),
            received: VecDeque::new(),
            holding: false,
            room_since: 0,
            taken: VecDeque::new(),
            completed: VecDeque::new(),
            ahead: None,
            ends: Vec::new(),
        }
    }

    /// The driver submits a packet. Call `advance` to now before this and the other changes.
    pub fn submit(&mut self, now: Ns, bytes: u32) {
        self.ahead = None;
        let from = self.seen(now);
        self.out.push_back(Waiting { transactions: transactions(bytes), from });
    }

    /// The driver posts a transfer for a received frame.
    pub fn post(&mut self, now: Ns) {
        self.ahead = None;
        let from = self.seen(now);
        self.posted.push_back(from);
    }

    /// The adapter has a frame for the host. A short transaction ends the transfer, an empty one if need be.
    pub fn receive(&mut self, now: Ns, bytes: u32) {
        self.ahead = None;
        self.received.push_back(Waiting { transactions: bytes / TRANSACTION_BYTES + 1, from: now });
    }

    /// Received frames that are not yet on the bus.
    pub fn kept(&self) -> usize {
        let c = &self.walk.cursors[List::In as usize];
        self.received.len() - c.done - usize::from(c.moved > 0)
    }

    /// The adapter is done with a packet. Returns whether its buffer was full before.
    pub fn free(&mut self, now: Ns) -> bool {
        self.ahead = None;
        let full = self.walk.room == 0;
        if full {
            self.room_since = now;
        }
        self.walk.room += 1;
        full
    }

    /// From now on the adapter holds received frames (true), or passes them on. A frame in transfer continues.
    pub fn hold(&mut self, holding: bool) {
        self.ahead = None;
        self.holding = holding;
    }

    /// Packets in the adapter, including the one on the bus.
    pub fn inside(&self) -> u32 {
        self.config.buffer_frames - self.walk.room.min(self.config.buffer_frames)
    }

    /// The time of the next result, as far as it is known; `advance` must be called then.
    pub fn due(&mut self) -> Option<Ns> {
        let told = self.completed.front().map(|c| c.0);
        let mut best = self.taken.front().copied().into_iter().chain(told).min().unwrap_or(Ns::MAX);
        let mut ahead = self.walk;
        self.ends.clear();
        while self.settle(&mut ahead, best) {
            if let Some((list, times)) = self.transact(&mut ahead, best) {
                self.ends.push((list, times));
                best = best.min(if list == List::Out { times.last } else { self.told(times.last) });
            }
        }
        self.ahead = Some((best, ahead));
        (best < Ns::MAX).then_some(best)
    }

    /// Advance to now, and return the results in order of time.
    pub fn advance(&mut self, now: Ns, out: &mut Vec<Done>) {
        if let Some((_, ahead)) = self.ahead.take().filter(|a| a.0 <= now) {
            self.walk = ahead;
            for i in 0..self.ends.len() {
                let (list, times) = self.ends[i];
                self.ended(list, times);
            }
        }
        let mut walk = self.walk;
        while self.settle(&mut walk, now) {
            if let Some((list, times)) = self.transact(&mut walk, now) {
                self.ended(list, times);
            }
        }
        self.walk = walk;
        loop {
            let taken = self.taken.front().copied().filter(|at| *at <= now);
            let completed = self.completed.front().copied().filter(|c| c.0 <= now);
            match (taken, completed) {
                (Some(at), c) if c.is_none_or(|c| at <= c.0) => {
                    self.taken.pop_front();
                    out.push(Done::Taken { at });
                }
                (_, Some((at, list, times))) => {
                    self.completed.pop_front();
                    match list {
                        List::Out => drop(self.out.pop_front()),
                        List::In => drop((self.posted.pop_front(), self.received.pop_front())),
                    }
                    self.walk.cursors[list as usize].done -= 1;
                    out.push(Done::Completed { at, list, times });
                }
                _ => return,
            }
        }
    }

    fn ended(&mut self, list: List, times: Times) {
        if list == List::Out {
            self.taken.push_back(times.last);
        }
        self.completed.push_back((self.told(times.last), list, times));
    }

    // ---- time

    fn since_frame(&self, t: Ns) -> Ns {
        (t + FRAME - self.config.phase) % FRAME
    }

    /// The first frame's start after t.
    fn frame_end(&self, t: Ns) -> Ns {
        t + FRAME - self.since_frame(t)
    }

    /// The first begin of a transaction from t on.
    fn slot_from(&self, t: Ns) -> Ns {
        let into = self.since_frame(t);
        let up = into.next_multiple_of(TRANSACTION);
        if up >= FRAME_TRANSACTIONS * TRANSACTION {
            return self.frame_end(t);
        }
        t + (up - into)
    }

    /// When a submission becomes visible: at the next frame's start, or in a later pass through this one.
    fn seen(&self, now: Ns) -> Ns {
        if self.config.reclamation {
            now
        } else {
            self.frame_end(now)
        }
    }

    /// When the driver gets the completion of a transfer that ended then.
    fn told(&self, end: Ns) -> Ns {
        self.frame_end(end - 1) + self.config.interrupt
    }

    // ---- the walk

    /// The earliest time of the list's next transaction; the end of time: nothing to move, or no space for it.
    #[inline]
    fn movable(&self, w: &Walk, list: List) -> Ns {
        let c = &w.cursors[list as usize];
        let from = match list {
            List::Out if c.moved == 0 && w.room == 0 => None,
            List::Out => self.out.get(c.done).map(|t| t.from),
            List::In if c.moved == 0 && self.holding => None,
            List::In => {
                self.received.get(c.done).zip(self.posted.get(c.done)).map(|(frame, seen)| frame.from.max(*seen))
            }
        };
        from.map_or(Ns::MAX, |t| t.max(c.ready))
    }

    /// Walk to the next transaction that begins before `until`; false: there is none, and the walk is at the first
    /// position from there on.
    fn settle(&self, w: &mut Walk, until: Ns) -> bool {
        while w.at < until {
            let from = [self.movable(w, List::Out), self.movable(w, List::In)];
            if from[w.list] <= w.at {
                return true;
            }
            let soonest = from[0].min(from[1]).min(until);
            if soonest == Ns::MAX {
                // Without an end there is no position to walk to.
                return false;
            }
            if self.config.reclamation {
                let other = w.list ^ 1;
                if from[other] <= w.at {
                    w.list = other;
                    return true;
                }
                w.at = self.slot_from(soonest);
            } else if w.list + 1 < LISTS.len() {
                w.list += 1;
            } else {
                w.list = 0;
                // Frames before the first possible transaction are skipped.
                w.at = self.frame_end(w.at).max(soonest.saturating_sub(self.since_frame(soonest)));
            }
        }
        false
    }

    /// Number of transactions from here until something else may happen: the frame's end, `until`, the
    /// other list's turn.
    fn row(&self, w: &Walk, until: Ns) -> u32 {
        let other = if self.config.depth_first {
            Ns::MAX
        } else if self.config.reclamation {
            self.movable(w, LISTS[w.list ^ 1])
        } else {
            return 1;
        };
        let before = until.min(other).saturating_sub(w.at).div_ceil(TRANSACTION).max(1);
        before.min(FRAME_TRANSACTIONS - self.since_frame(w.at) / TRANSACTION) as u32
    }

    /// Do the transactions at the current position; returns whether they ended a transfer.
    fn transact(&self, w: &mut Walk, until: Ns) -> Option<(List, Times)> {
        let list = LISTS[w.list];
        let row = self.row(w, until);
        let c = &mut w.cursors[w.list];
        let waiting = match list {
            List::Out => self.out.get(c.done)?,
            List::In => self.received.get(c.done)?,
        };
        if c.moved == 0 {
            c.first = w.at;
            w.room -= u32::from(list == List::Out);
        }
        // The adapter reads the descriptor in the first.
        let read = list == List::Out && c.moved == 0;
        let moved = if read { 1 } else { row.min(waiting.transactions - c.moved) };
        c.moved += moved;
        let last = w.at + u64::from(moved - 1) * TRANSACTION;
        let end = last + TRANSACTION;
        let whole = c.moved == waiting.transactions;
        let ended = whole.then(|| {
            let begin = waiting.from.max(c.last);
            let refused = if list == List::Out { self.room_since.min(c.first).saturating_sub(begin) } else { 0 };
            (list, Times { first: c.first, last: end, refused })
        });
        if whole {
            *c = Cursor { done: c.done + 1, last: end, ..Cursor::default() };
        } else if read {
            c.ready = end + self.config.descriptor;
        }
        let frame_end = self.frame_end(last);
        w.at = self.slot_from(end);
        if !self.config.depth_first || whole {
            w.list += 1;
        }
        if w.list == LISTS.len() {
            w.list = 0;
            if !self.config.reclamation {
                w.at = frame_end;
            }
        }
        ended
    }
}
