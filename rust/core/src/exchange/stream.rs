//! Streams: the frames from one station to another under one sequence counter, and their open exchanges.

use rustc_hash::FxHashMap;

use super::open::{Id, NONE};
use super::station::{bits, is_group, Stations};
use crate::frame::{control, Frame, Mac};
use crate::limits;

/// The parts of a stream's identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class(u8);

impl Class {
    /// Data without a QoS field.
    pub const PLAIN: Class = Class(16);
    pub const MANAGEMENT: Class = Class(17);
    const NULL: u8 = 18;

    pub fn qos(tid: u8) -> Class {
        Class(tid & 0xf)
    }

    /// None for control and extension frames.
    pub fn of(f: &Frame) -> Option<Class> {
        match f.kind()? {
            control::MANAGEMENT => Some(Class::MANAGEMENT),
            control::DATA => Some(match f.tid() {
                // QoS Null may have any number (Table 10-5).
                Some(tid) if f.has(control::NO_DATA) => Class(Class::NULL + tid),
                Some(tid) => Class(tid),
                None => Class::PLAIN,
            }),
            _ => None,
        }
    }

    pub fn tid(self) -> Option<u8> {
        match self.0 {
            tid @ 0..=15 => Some(tid),
            null @ Self::NULL.. => Some(null - Self::NULL),
            _ => None,
        }
    }

    pub fn is_qos_data(self) -> bool {
        self.0 < 16
    }

    pub fn is_null(self) -> bool {
        self.0 >= Self::NULL
    }
}

/// How well the sniffer captures the responses to a stream: how many of its last ended exchanges were
/// acknowledged.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResponseRate {
    acked: u32,
    count: u8,
}

impl ResponseRate {
    const WINDOW: u8 = u32::BITS as u8;

    pub fn add(&mut self, acked: bool) {
        self.acked = self.acked << 1 | u32::from(acked);
        self.count = (self.count + 1).min(Self::WINDOW);
    }

    /// At least `least` exchanges are known, and at most one in `one_in` lacks its response.
    pub fn is_good(self, least: u8, one_in: u32) -> bool {
        self.count >= least && (u32::from(self.count) - self.acked.count_ones()) * one_in <= u32::from(self.count)
    }
}

/// The sender's retry limit: exchanges near the largest number of transmissions captured, and how they ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limit {
    most: u16,
    silent: u16,
    acked: u16,
}

impl Limit {
    /// Missed transmissions let the count of one limit vary by this much.
    fn tolerance(attempts: u16) -> u16 {
        attempts / 8
    }

    pub fn add(&mut self, attempts: u16, acked: bool) {
        if attempts > self.most.saturating_add(Self::tolerance(self.most)) {
            *self = Limit { most: attempts, silent: 0, acked: 0 };
        }
        self.most = self.most.max(attempts);
        if self.is_near(attempts) {
            let count = if acked { &mut self.acked } else { &mut self.silent };
            *count = count.saturating_add(1);
        }
    }

    fn is_near(&self, attempts: u16) -> bool {
        attempts >= self.most - Self::tolerance(self.most)
    }

    /// Whether this number of transmissions is the limit: `least` exchanges ended there without a response, at most one in `one_in`
    /// with one.
    pub fn is_reached(&self, attempts: u16, least: u16, one_in: u16) -> bool {
        let ended = self.silent.saturating_add(self.acked);
        self.is_near(attempts) && self.silent >= least && self.acked.saturating_mul(one_in) <= ended
    }
}

/// Open exchanges by their sequence number, modulo the window.
#[derive(Debug)]
pub struct Window {
    ids: Vec<Id>,
    /// One bit per slot: its exchange waits for an acknowledgment.
    waiting: Vec<u64>,
}

impl Window {
    /// Mostly one frame after another, except for those buffered for a station in power save.
    const ONE_BY_ONE: usize = 8;
    /// The Block Ack window of 802.11n and ac.
    const BLOCK: usize = 64;

    fn new(class: Class) -> Self {
        let len = if class.is_qos_data() { Self::BLOCK } else { Self::ONE_BY_ONE };
        Window { ids: vec![NONE; len], waiting: vec![0] }
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }

    fn slot(&self, number: u32) -> usize {
        number as usize & (self.ids.len() - 1)
    }

    pub fn at(&self, number: u32) -> Id {
        self.ids[self.slot(number)]
    }

    /// Put an exchange into its slot; the caller closes the previous one.
    pub fn put(&mut self, number: u32, id: Id, waits: bool) {
        let slot = self.slot(number);
        self.ids[slot] = id;
        self.set_waiting(slot, waits);
    }

    fn set_waiting(&mut self, slot: usize, waits: bool) {
        let bit = 1 << (slot % 64);
        match waits {
            true => self.waiting[slot / 64] |= bit,
            false => self.waiting[slot / 64] &= !bit,
        }
    }

    /// It no longer waits.
    pub fn answered(&mut self, number: u32, id: Id) {
        let slot = self.slot(number);
        if self.ids[slot] == id {
            self.set_waiting(slot, false);
        }
    }

    /// It is no longer there.
    pub fn remove(&mut self, number: u32, id: Id) {
        let slot = self.slot(number);
        if self.ids[slot] == id {
            self.ids[slot] = NONE;
            self.set_waiting(slot, false);
        }
    }

    /// The first waiting exchange in slot `from` or later, and its slot.
    pub fn next_waiting(&self, from: usize) -> Option<(usize, Id)> {
        let mut word = from / 64;
        let mut bits = self.waiting.get(word)? & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.waiting.get(word)?;
        }
        let slot = word * 64 + bits.trailing_zeros() as usize;
        Some((slot, self.ids[slot]))
    }

    /// Extend the window to numbers this far apart; at most the 1024 of a Block Ack.
    pub fn grow(&mut self, span: usize, number_of: impl Fn(Id) -> Option<u32>) {
        let len = span.next_power_of_two().min(1024);
        if len <= self.ids.len() {
            return;
        }
        let (ids, waiting) = (std::mem::take(&mut self.ids), std::mem::take(&mut self.waiting));
        self.ids = vec![NONE; len];
        self.waiting = vec![0; len.div_ceil(64)];
        for (slot, id) in ids.into_iter().enumerate().filter(|(_, id)| *id != NONE) {
            if let Some(number) = number_of(id) {
                self.put(number, id, waiting[slot / 64] >> (slot % 64) & 1 != 0);
            }
        }
    }
}

/// One stream.
#[derive(Debug)]
pub struct Stream {
    pub ta: u32,
    pub ra: u32,
    pub class: Class,
    pub group: bool,
    /// The newest number, unwrapped; None: the next frame sets the counter.
    pub head: Option<u32>,
    /// Where numbers start to be counted: above all numbers of a restarted counter.
    epoch: u32,
    /// The sender has finished all numbers below this.
    pub floor: Option<u32>,
    pub to_ds: bool,
    pub window: Window,
    pub hearing: ResponseRate,
    pub limit: Limit,
}

impl Stream {
    /// Set the counter, whatever it was before.
    pub fn anchor(&mut self, seq: u16) -> u32 {
        self.restart();
        let number = self.epoch.wrapping_add(u32::from(seq));
        self.head = Some(number);
        number
    }

    /// The counter is unknown.
    pub fn restart(&mut self) {
        if let Some(head) = self.head.take() {
            self.epoch = (head & !(NUMBERS - 1)).wrapping_add(2 * NUMBERS);
        }
        self.floor = None;
    }
}

/// Sequence numbers go from 0 to 4095.
pub const NUMBERS: u32 = 4096;

/// How far `seq` is ahead of `head`: -2048 to 2047.
pub fn ahead(seq: u16, head: u32) -> i32 {
    let d = (u32::from(seq).wrapping_sub(head) & (NUMBERS - 1)) as i32;
    if d >= NUMBERS as i32 / 2 {
        d - NUMBERS as i32
    } else {
        d
    }
}

/// How far the number `a` is ahead of `b`.
pub fn past(a: u32, b: u32) -> i32 {
    a.wrapping_sub(b) as i32
}

/// All streams by number and by who sends what to whom.
#[derive(Debug, Default)]
pub struct Streams {
    all: Vec<Stream>,
    by_key: FxHashMap<(u64, u64), u32>,
}

fn key(ta: Mac, ra: Mac, class: Class) -> (u64, u64) {
    (bits(ta) << 8 | u64::from(class.0), bits(ra))
}

impl Streams {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// The number of a stream, new or known.
    pub fn intern(&mut self, ta: Mac, ra: Mac, class: Class, stations: &mut Stations) -> u32 {
        *self.by_key.entry(key(ta, ra, class)).or_insert_with(|| {
            self.all.push(Stream {
                ta: stations.intern(ta),
                ra: stations.intern(ra),
                class,
                group: is_group(ra),
                head: None,
                epoch: 0,
                floor: None,
                to_ds: false,
                window: Window::new(class),
                hearing: ResponseRate::default(),
                limit: Limit::default(),
            });
            self.all.len() as u32 - 1
        })
    }

    pub fn find(&self, ta: Mac, ra: Mac, class: Class) -> Option<u32> {
        self.by_key.get(&key(ta, ra, class)).copied()
    }

    pub fn get(&self, stream: u32) -> Option<&Stream> {
        self.all.get(stream as usize)
    }

    pub fn get_mut(&mut self, stream: u32) -> Option<&mut Stream> {
        self.all.get_mut(stream as usize)
    }

    /// The next number of every counter between two stations may be any: they associate again.
    pub fn restart(&mut self, a: Mac, b: Mac) {
        for tid in 0..16 {
            for (ta, ra) in [(a, b), (b, a)] {
                if let Some(stream) = self.find(ta, ra, Class::qos(tid)).and_then(|s| self.get_mut(s)) {
                    stream.restart();
                }
            }
        }
    }

    pub fn clear(&mut self) {
        self.all.clear();
        self.by_key.clear();
    }
}

/// Largest distance behind the head at which a number is a retransmission instead of a restarted counter: a window.
pub fn window_span(window: &Window) -> i32 {
    window.len().max(limits::SEQUENCE_GAP as usize) as i32
}
