//! Time and the queue of events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Nanoseconds since the simulation's start.
pub type Ns = u64;

pub const US: Ns = 1_000;
pub const MS: Ns = 1_000_000;
pub const S: Ns = 1_000_000_000;

/// Events in order of time; those with equal times in the order in which they were scheduled.
#[derive(Debug)]
pub struct Queue<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    now: Place,
    next: u64,
}

/// Position in the order of events: time in the upper bits, sequence in the lower, so that one comparison suffices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Place(u128);

impl Place {
    fn at(self) -> Ns {
        (self.0 >> 64) as Ns
    }
}

#[derive(Debug)]
struct Entry<E> {
    place: Place,
    event: E,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.place == other.place
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }

    fn lt(&self, other: &Self) -> bool {
        self.place < other.place
    }

    fn le(&self, other: &Self) -> bool {
        self.place <= other.place
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.place.cmp(&other.place)
    }
}

impl<E> Default for Queue<E> {
    fn default() -> Self {
        Queue { heap: BinaryHeap::new(), now: Place::default(), next: 0 }
    }
}

impl<E> Queue<E> {
    pub fn now(&self) -> Ns {
        self.now.at()
    }

    /// Schedule an event; a time in the past means now.
    pub fn at(&mut self, at: Ns, event: E) {
        let place = self.place(at);
        self.put(place, event);
    }

    /// The next position at a time.
    fn place(&mut self, at: Ns) -> Place {
        let place = Place(u128::from(at.max(self.now())) << 64 | u128::from(self.next));
        self.next += 1;
        place
    }

    fn put(&mut self, place: Place, event: E) {
        self.heap.push(Reverse(Entry { place, event }));
    }

    /// The next event, whose time becomes now.
    pub fn pop(&mut self) -> Option<(Ns, E)> {
        let Reverse(entry) = self.heap.pop()?;
        self.now = entry.place;
        Some((self.now(), entry.event))
    }

    /// The time of the next event.
    pub fn peek(&self) -> Option<Ns> {
        self.heap.peek().map(|Reverse(entry)| entry.place.at())
    }
}

/// A timer that is set often. The queue holds the earliest of its times: when that event comes too
/// early, it is scheduled again at the position that it got when it was last set.
#[derive(Debug, Default)]
pub struct Alarm {
    due: Option<(Ns, Place)>,
    queued: Option<Place>,
}

impl Alarm {
    /// Set it to a time or to none. If the time does not change, it keeps its position.
    pub fn set<E>(&mut self, at: Option<Ns>, queue: &mut Queue<E>, event: E) {
        if at == self.due.map(|d| d.0) {
            return;
        }
        self.due = at.map(|t| (t, queue.place(t)));
        if let Some((_, place)) = self.due {
            if self.queued.is_none_or(|queued| place < queued) {
                self.queued = Some(place);
                queue.put(place, event);
            }
        }
    }

    /// Its event has come: returns whether its time has come too. It is then set to none.
    pub fn rings<E>(&mut self, queue: &mut Queue<E>, event: E) -> bool {
        if self.queued != Some(queue.now) {
            return false;
        }
        self.queued = self.due.map(|d| d.1).filter(|place| *place > queue.now);
        match self.queued {
            Some(place) => queue.put(place, event),
            None => return self.due.take().is_some(),
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alarms_come_once_and_in_the_order_of_setting() {
        let (mut q, mut alarm) = (Queue::default(), Alarm::default());
        for at in [Some(5), Some(9), None, Some(7)] {
            alarm.set(at, &mut q, "alarm");
        }
        q.at(7, "after");
        alarm.set(Some(7), &mut q, "alarm");
        let mut rung = Vec::new();
        while let Some((now, event)) = q.pop() {
            if event == "alarm" && !alarm.rings(&mut q, event) {
                continue;
            }
            rung.push((now, event));
            if event == "after" {
                alarm.set(Some(20), &mut q, "alarm");
                // Earlier than the event in the queue, and then off.
                alarm.set(Some(10), &mut q, "alarm");
            }
            if now == 10 {
                alarm.set(Some(15), &mut q, "alarm");
                alarm.set(None, &mut q, "alarm");
            }
        }
        assert_eq!(rung, [(7, "alarm"), (7, "after"), (10, "alarm")]);
    }

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
