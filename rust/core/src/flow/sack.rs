//! What the SACK blocks of an ACK show (RFC 2018), and a DSACK (RFC 2883).

use super::ack::Ack;
use super::delivered::Delivered;
use super::output::Out;
use super::sender_state::SenderState;

impl SenderState {
    /// RFC 2883: the first block reports a duplicate when it lies below the ACK or inside the second block.
    pub fn dsack(&self, a: &Ack<'_>) -> Option<(i64, i64)> {
        let first = *a.sack.first()?;
        let below = first.1 <= a.ack;
        let inside = a.sack.get(1).is_some_and(|s| s.0 <= first.0 && first.1 <= s.1);
        (first.0 < first.1 && (below || inside)).then_some(first)
    }

    /// The receiver got these bytes twice: a packet that seemed to be a copy made by the capture was duplicated by the network.
    #[inline(never)]
    pub fn take_dsack(&mut self, (left, right): (i64, i64), out: &mut Out<'_>) {
        self.reports = Some(true);
        if let Some(i) = self.duplicated.iter().position(|d| d.1 < right && left < d.2) {
            if self.duplicated.remove(i).is_some_and(|d| out.segments.duplicated_by_network(d.0)) {
                self.tally.duplicates[1] = self.tally.duplicates[1].saturating_sub(1);
                self.tally.duplicates[0] += 1;
            }
        } else {
            self.take_late_report(left, right, out);
        }
    }

    /// Mark what is selectively acknowledged; true if any of it is new.
    #[inline(never)]
    pub fn take_sack(&mut self, a: &Ack<'_>, dsack: bool, delivered: &mut Delivered) -> bool {
        let mut news = false;
        let floor = self.una.max(a.ack);
        let (echo, latest, recover) = (a.timestamps.map(|t| t.1), self.latest_cause(a.t), self.recover);
        for (i, &(left, right)) in a.sack.iter().enumerate() {
            if (i == 0 && dsack)
                || left >= right
                || right <= floor
                || right > self.end
                || self.last_sack.as_ref().is_some_and(|last| last.contains(&(left, right)))
            {
                continue;
            }
            for run in self.scoreboard.range_mut(left.max(floor), right) {
                if !run.sacked && run.start >= left && run.end <= right {
                    run.sacked = true;
                    self.sacked_bytes += run.end - run.start;
                    news = true;
                    delivered.add(run, echo, latest, recover, true);
                }
            }
            self.sacked_hi = self.sacked_hi.max(right);
        }
        for (slot, block) in self.last_sack.get_or_insert_default().iter_mut().zip(a.sack) {
            *slot = *block;
        }
        news
    }
}
