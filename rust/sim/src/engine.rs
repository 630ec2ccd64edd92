//! Time and the queue of events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Nanoseconds since the simulation's start.
pub type Ns = u64;

pub const US: Ns = 1_000;
pub const MS: Ns = 1_000_000;
pub const S: Ns = 1_000_000_000;

/// Events in order of time; those of one instant in the order in which they were scheduled.
#[derive(Debug)]
pub struct Queue<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    now: Ns,
    next: u64,
}

#[derive(Debug)]
struct Entry<E> {
    /// Time above, order below: one comparison.
    key: u128,
    event: E,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }

    fn lt(&self, other: &Self) -> bool {
        self.key < other.key
    }

    fn le(&self, other: &Self) -> bool {
        self.key <= other.key
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl<E> Entry<E> {
    fn at(&self) -> Ns {
        (self.key >> 64) as Ns
    }
}

impl<E> Default for Queue<E> {
    fn default() -> Self {
        Queue { heap: BinaryHeap::new(), now: 0, next: 0 }
    }
}

impl<E> Queue<E> {
    pub fn now(&self) -> Ns {
        self.now
    }

    /// Schedule an event; a time that has passed means now.
    pub fn at(&mut self, at: Ns, event: E) {
        let key = u128::from(at.max(self.now)) << 64 | u128::from(self.next);
        self.next += 1;
        self.heap.push(Reverse(Entry { key, event }));
    }

    /// The next event, whose time becomes now.
    pub fn pop(&mut self) -> Option<(Ns, E)> {
        let Reverse(entry) = self.heap.pop()?;
        self.now = entry.at();
        Some((self.now, entry.event))
    }

    /// The time of the next event.
    pub fn peek(&self) -> Option<Ns> {
        self.heap.peek().map(|Reverse(entry)| entry.at())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_time_then_by_order() {
        let mut q = Queue::default();
        for (at, name) in [(5, "c"), (3, "a"), (5, "d"), (3, "b")] {
            q.at(at, name);
        }
        assert_eq!(q.pop(), Some((3, "a")));
        q.at(0, "late");
        let rest: Vec<_> = std::iter::from_fn(|| q.pop()).collect();
        assert_eq!(rest, [(3, "b"), (3, "late"), (5, "c"), (5, "d")]);
    }
}
