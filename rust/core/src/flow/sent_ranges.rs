//! The bytes that one direction sent, as ranges of sequence space by quadrant: which are retransmitted, which arrive out of order,
//! and what an ACK covers. The rules are those of tcptrace, so that the counts agree exactly.
//!
//! A quadrant is a quarter of the 32-bit space; only the current one and its two neighbours are kept, so comparisons inside
//! one need no wrap-around. Ranges acknowledged merge with their neighbours; those not yet acknowledged stay as sent.

use std::collections::VecDeque;

use super::duration_stats::{elapsed_ns, DurationStats};
use crate::limits;

const QUADRANT_BITS: u32 = 30;

fn quadrant_of(seq: u32) -> usize {
    (seq >> QUADRANT_BITS) as usize
}

/// Bytes up to which everything is acknowledged: one range per run without a hole.
#[derive(Debug, Clone, Copy)]
struct Acked {
    first: u32,
    last: u32,
    /// The latest transmission inside it.
    sent_ns: i64,
}

/// One segment as sent, after the first byte not acknowledged.
#[derive(Debug, Clone, Copy)]
struct Live {
    first: u32,
    last: u32,
    sent_ns: i64,
    resends: u32,
    acked: bool,
}

/// The ranges of one quadrant, ascending and disjoint: first `acked`, then `live`.
#[derive(Debug, Default)]
struct Quadrant {
    acked: VecDeque<Acked>,
    /// The latest transmission in `acked`.
    acked_sent_ns: i64,
    live: VecDeque<Live>,
}

/// The result of adding a segment to the ranges.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Added {
    /// Bytes of it that had been sent before, SYN and FIN counted.
    pub resent_bytes: u32,
    /// It fills a hole below bytes already seen.
    pub out_of_order: bool,
}

/// What an ACK did.
#[derive(Debug, Default)]
pub struct AckCounters {
    /// Segments acknowledged exactly at their end, sent once, with no earlier segment sent later (Karn's algorithm).
    pub rtt: DurationStats,
    /// The same, of the longest segments sampled so far only.
    pub rtt_full: DurationStats,
    rtt_full_bytes: u32,
    /// Segments sent more than once, from their last transmission.
    pub rtt_resent: DurationStats,
    /// The sample of the latest ACK that could give one; null if it gave none.
    pub rtt_latest_ns: Option<i64>,
    /// ACKs of a segment after an earlier one was retransmitted.
    pub post_loss: u64,
    pub cumulatively_acked: u64,
    pub duplicates: u64,
    pub triple_duplicates: u64,
    /// Equal ACKs in a row for the range that ends at the latest ACK, the first included.
    run: u32,
}

/// The time from segments to their retransmission.
#[derive(Debug, Default)]
pub struct ResendCounters {
    pub most: u32,
    pub waited: DurationStats,
}

impl Quadrant {
    fn len(&self) -> usize {
        self.acked.len() + self.live.len()
    }

    fn bounds(&self, i: usize) -> (u32, u32) {
        match self.acked.get(i) {
            Some(a) => (a.first, a.last),
            None => {
                let l = &self.live[i - self.acked.len()];
                (l.first, l.last)
            }
        }
    }

    fn tail_last(&self) -> Option<u32> {
        self.live.back().map(|l| l.last).or_else(|| self.acked.back().map(|a| a.last))
    }

    fn add(&mut self, first: u32, last: u32, now_ns: i64, resends: &mut ResendCounters) -> Added {
        let added = if self.tail_last().is_none_or(|tail| first > tail) {
            self.append(first, last, now_ns);
            Added::default()
        } else {
            self.overlay(first, last, now_ns, resends)
        };
        while self.live.len() > limits::UNACKED_SEGMENTS {
            self.acknowledge_front();
        }
        added
    }

    /// Add a segment that begins below the highest byte seen.
    fn overlay(&mut self, begin: u32, last: u32, now_ns: i64, resends: &mut ResendCounters) -> Added {
        let mut added = Added::default();
        let mut first = begin;
        let mut touched = 0;
        let mut i = self.acked.partition_point(|a| a.last < first);
        if i == self.acked.len() {
            i += self.live.partition_point(|l| l.last < first);
        }
        while i < self.len() {
            let (seg_first, seg_last) = self.bounds(i);
            if first < seg_first {
                added.out_of_order |= last < seg_last;
                self.insert(i, first, last.min(seg_first - 1), now_ns);
                i += 1;
                first = seg_first;
            }
            if last < seg_first {
                break;
            }
            self.sent_again(i, now_ns, touched == 0, resends);
            added.resent_bytes += last.min(seg_last) - first + 1;
            touched += 1;
            i += 1;
            if last <= seg_last {
                break;
            }
            first = seg_last + 1;
        }
        if self.tail_last().is_none_or(|tail| last > tail) {
            self.append(first, last, now_ns);
        }
        if touched > limits::RESENT_SEGMENTS {
            self.join(begin, last);
        }
        added
    }

    fn append(&mut self, first: u32, last: u32, now_ns: i64) {
        self.live.push_back(Live { first, last, sent_ns: now_ns, resends: 0, acked: false });
    }

    /// Merge the live ranges that a segment covers.
    fn join(&mut self, first: u32, last: u32) {
        let from = self.live.partition_point(|l| l.first < first);
        let to = self.live.partition_point(|l| l.last <= last);
        if from + 1 < to {
            let covered: Vec<Live> = self.live.drain(from + 1..to).collect();
            let one = &mut self.live[from];
            for l in covered {
                one.last = l.last;
                one.sent_ns = one.sent_ns.max(l.sent_ns);
                one.resends = one.resends.max(l.resends);
                one.acked &= l.acked;
            }
        }
    }

    fn insert(&mut self, i: usize, first: u32, last: u32, now_ns: i64) {
        let new = Live { first, last, sent_ns: now_ns, resends: 0, acked: false };
        if i < self.acked.len() {
            for a in self.acked.split_off(i).into_iter().rev() {
                self.live.push_front(Live {
                    first: a.first,
                    last: a.last,
                    sent_ns: a.sent_ns,
                    resends: 0,
                    acked: true,
                });
            }
            self.acked_sent_ns = self.acked.iter().map(|a| a.sent_ns).max().unwrap_or(i64::MIN);
        }
        self.live.insert(i - self.acked.len(), new);
    }

    /// Note that range `i` was retransmitted; only the first range that a segment touches restarts its clock.
    fn sent_again(&mut self, i: usize, now_ns: i64, restart: bool, resends: &mut ResendCounters) {
        if let Some(a) = self.acked.get_mut(i) {
            if restart {
                a.sent_ns = now_ns;
                self.acked_sent_ns = self.acked_sent_ns.max(now_ns);
            }
            return;
        }
        let l = &mut self.live[i - self.acked.len()];
        l.resends = l.resends.saturating_add(1);
        if restart {
            if !l.acked {
                resends.most = resends.most.max(l.resends);
                resends.waited.add(elapsed_ns(l.sent_ns, now_ns));
            }
            l.sent_ns = now_ns;
        }
    }

    /// Move the lowest live range to the acknowledged ones.
    fn acknowledge_front(&mut self) {
        let Some(l) = self.live.pop_front() else { return };
        match self.acked.back_mut() {
            Some(a) if a.last.wrapping_add(1) == l.first => {
                a.last = l.last;
                a.sent_ns = a.sent_ns.max(l.sent_ns);
                self.acked_sent_ns = self.acked_sent_ns.max(l.sent_ns);
            }
            back => {
                self.acked_sent_ns = if back.is_none() { l.sent_ns } else { self.acked_sent_ns.max(l.sent_ns) };
                self.acked.push_back(Acked { first: l.first, last: l.last, sent_ns: l.sent_ns });
                if self.acked.len() > limits::ACKED_RANGES {
                    self.forget_lowest_hole();
                }
            }
        }
    }

    fn forget_lowest_hole(&mut self) {
        if let (Some(lowest), Some(next)) = (self.acked.pop_front(), self.acked.front_mut()) {
            next.first = lowest.first;
            next.sent_ns = next.sent_ns.max(lowest.sent_ns);
        }
    }

    /// An ACK in the next quadrant covers everything here; returns the latest transmission newly covered.
    fn ack_all(&mut self, counters: &mut AckCounters) -> i64 {
        let mut latest = i64::MIN;
        while let Some(l) = self.live.front() {
            if !l.acked {
                counters.cumulatively_acked += 1;
                latest = latest.max(l.sent_ns);
            }
            self.acknowledge_front();
        }
        latest
    }

    /// An ACK in this quadrant. `duplicate`: but for a range that ends there, it is a duplicate ACK.
    fn ack(&mut self, ack: u32, duplicate: bool, mut latest: i64, now_ns: i64, counters: &mut AckCounters) {
        let run = std::mem::replace(&mut counters.run, 1);
        // The ACK of most data packets: nothing new.
        if !duplicate && self.live.front().is_none_or(|l| ack <= l.first) {
            return;
        }
        let mut ends_acked = false;
        let below = match self.acked.back() {
            Some(a) if a.first < ack => self.acked.len(),
            _ => self.acked.partition_point(|a| a.first < ack),
        };
        if below > 0 {
            latest = latest.max(self.acked_sent_ns);
            ends_acked = self.acked[below - 1].last.wrapping_add(1) == ack;
        }
        if below == self.acked.len() {
            while let Some(&l) = self.live.front() {
                if ack <= l.first {
                    break;
                }
                latest = latest.max(l.sent_ns);
                let ends = l.last.wrapping_add(1) == ack;
                if l.acked {
                    ends_acked |= ends;
                } else if ends {
                    counters.sample(&l, latest > l.sent_ns, now_ns);
                } else {
                    counters.cumulatively_acked += 1;
                }
                self.acknowledge_front();
            }
        }
        if ends_acked && duplicate {
            counters.duplicates += 1;
            counters.run = run.saturating_add(1);
            counters.triple_duplicates += u64::from(counters.run == 4);
        }
    }
}

impl AckCounters {
    fn sample(&mut self, l: &Live, resent_before: bool, now_ns: i64) {
        let rtt = elapsed_ns(l.sent_ns, now_ns);
        self.rtt_latest_ns = None;
        if resent_before {
            self.post_loss += 1;
        } else if l.resends == 0 {
            self.rtt_latest_ns = Some(rtt);
            self.rtt.add(rtt);
            let bytes = l.last - l.first + 1;
            if bytes > self.rtt_full_bytes {
                self.rtt_full_bytes = bytes;
                self.rtt_full = DurationStats::default();
            }
            if bytes == self.rtt_full_bytes {
                self.rtt_full.add(rtt);
            }
        } else {
            self.rtt_resent.add(rtt);
        }
    }
}

/// The bytes that one direction sent within half of the sequence space.
#[derive(Debug, Default)]
pub struct SentRanges {
    quadrants: [Quadrant; 4],
    /// The quadrant in use; the opposite one is empty.
    current: Option<usize>,
}

impl SentRanges {
    fn enter(&mut self, q: usize) {
        if self.current != Some(q) {
            self.current = Some(q);
            self.quadrants[(q + 2) % 4] = Quadrant::default();
        }
    }

    /// Drop the transmission times of the outstanding segments: for an idle connection.
    pub fn compact(&mut self) {
        for q in &mut self.quadrants {
            while !q.live.is_empty() {
                q.acknowledge_front();
            }
            q.live = VecDeque::new();
        }
    }

    /// Add a segment of `len` bytes of sequence space (SYN and FIN included, at least 1).
    pub fn add(&mut self, seq: u32, len: u32, now_ns: i64, resends: &mut ResendCounters) -> Added {
        let len = len.clamp(1, 1 << QUADRANT_BITS);
        let last = seq.wrapping_add(len - 1);
        let q = quadrant_of(seq);
        self.enter(q);
        if quadrant_of(last) == q {
            return self.quadrants[q].add(seq, last, now_ns, resends);
        }
        let edge = seq | ((1 << QUADRANT_BITS) - 1);
        let low = self.quadrants[q].add(seq, edge, now_ns, resends);
        let high = self.quadrants[(q + 1) % 4].add(edge.wrapping_add(1), last, now_ns, resends);
        Added {
            resent_bytes: low.resent_bytes + high.resent_bytes,
            out_of_order: low.out_of_order || high.out_of_order,
        }
    }

    /// An ACK from the other side. `duplicate`: largest ACK, no payload, window unchanged, data sent before (the BSD rule
    /// but for what was acknowledged).
    pub fn ack(&mut self, ack: u32, duplicate: bool, now_ns: i64, counters: &mut AckCounters) {
        let q = quadrant_of(ack);
        self.enter(q);
        let latest = self.quadrants[(q + 3) % 4].ack_all(counters);
        self.quadrants[q].ack(ack, duplicate, latest, now_ns, counters);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn run(steps: &[(u32, u32)]) -> Vec<Added> {
        let (mut ranges, mut resends) = (SentRanges::default(), ResendCounters::default());
        steps.iter().map(|&(seq, len)| ranges.add(seq, len, 0, &mut resends)).collect()
    }

    #[test]
    fn overlap_is_resent_and_a_hole_filled_is_out_of_order() {
        let added = run(&[(100, 100), (300, 100), (150, 100), (250, 50), (100, 300)]);
        assert_eq!(added[2], Added { resent_bytes: 50, out_of_order: true });
        assert_eq!(added[3], Added { resent_bytes: 0, out_of_order: true });
        assert_eq!(added[4], Added { resent_bytes: 300, out_of_order: false });
    }

    #[test]
    fn a_segment_across_two_quadrants_and_the_wrap() {
        for edge in [1u32 << 30, 0] {
            let added = run(&[(edge.wrapping_sub(50), 100), (edge.wrapping_sub(10), 20), (edge, 10)]);
            assert_eq!(added.iter().map(|a| a.resent_bytes).collect::<Vec<_>>(), [0, 20, 10]);
        }
    }

    #[test]
    fn karn_samples_only_what_was_sent_once_with_nothing_sent_later_before_it() {
        let (mut ranges, mut resends, mut acks) =
            (SentRanges::default(), ResendCounters::default(), AckCounters::default());
        for (seq, at) in [(100, 1), (200, 2), (300, 3), (200, 10)] {
            ranges.add(seq, 100, at, &mut resends);
        }
        ranges.ack(200, false, 11, &mut acks);
        assert_eq!((acks.rtt.count(), acks.rtt_latest_ns), (1, Some(10)));
        ranges.ack(200, true, 11, &mut acks);
        ranges.ack(200, true, 11, &mut acks);
        ranges.ack(200, true, 11, &mut acks);
        assert_eq!((acks.duplicates, acks.triple_duplicates), (3, 1));
        ranges.ack(300, false, 12, &mut acks);
        assert_eq!((acks.rtt_resent.count(), acks.rtt_latest_ns), (1, None));
        ranges.ack(400, false, 13, &mut acks);
        assert_eq!((acks.rtt.count(), acks.post_loss), (1, 1));
        assert_eq!((resends.most, resends.waited.min_ns()), (1, Some(8)));
    }

    #[test]
    fn without_acks_and_with_holes_memory_is_bounded() {
        let (mut ranges, mut resends, mut acks) =
            (SentRanges::default(), ResendCounters::default(), AckCounters::default());
        for i in 0..3 * limits::UNACKED_SEGMENTS as u32 {
            ranges.add(i * 20, 10, 0, &mut resends);
        }
        assert!(ranges.quadrants[0].live.len() <= limits::UNACKED_SEGMENTS);
        assert!(ranges.quadrants[0].acked.len() <= limits::ACKED_RANGES);
        ranges.ack(1 << 25, false, 0, &mut acks);
        assert!(ranges.quadrants[0].acked.len() <= limits::ACKED_RANGES);
    }

    #[test]
    fn one_segment_over_all_the_others() {
        let (mut ranges, mut resends) = (SentRanges::default(), ResendCounters::default());
        let count = limits::UNACKED_SEGMENTS as u32;
        for i in 0..count {
            ranges.add(i * 20, 10, 0, &mut resends);
        }
        let over = count * 20;
        assert_eq!(ranges.add(0, over, 0, &mut resends), Added { resent_bytes: count * 10, out_of_order: false });
        assert_eq!(ranges.add(0, over, 0, &mut resends), Added { resent_bytes: over, out_of_order: false });
        assert_eq!(ranges.quadrants[0].len(), 1);
    }

    proptest! {
        #[test]
        fn resent_bytes_are_those_sent_before(
            base in any::<u32>(),
            steps in prop::collection::vec((0u32..300, 1u32..80, prop::option::of(0u32..400)), 1..200),
        ) {
            let (mut ranges, mut resends, mut acks) = (SentRanges::default(), ResendCounters::default(), AckCounters::default());
            let mut sent = HashSet::new();
            for (now_ns, (offset, len, ack)) in steps.into_iter().enumerate() {
                let seq = base.wrapping_add(offset);
                let added = ranges.add(seq, len, now_ns as i64, &mut resends);
                let again = (0..len).filter(|i| !sent.insert(seq.wrapping_add(*i))).count();
                prop_assert_eq!(added.resent_bytes as usize, again);
                if let Some(ack) = ack {
                    ranges.ack(base.wrapping_add(ack), true, now_ns as i64, &mut acks);
                }
                for q in &ranges.quadrants {
                    let bounds: Vec<_> = (0..q.len()).map(|i| q.bounds(i)).collect();
                    prop_assert!(bounds.iter().all(|b| b.0 <= b.1));
                    prop_assert!(bounds.windows(2).all(|w| w[0].1 < w[1].0));
                }
            }
        }
    }
}
