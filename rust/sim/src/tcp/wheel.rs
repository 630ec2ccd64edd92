//! A kernel's timer wheel: timers fire on ticks of its clock, long ones on coarser ticks, never early.

use crate::engine::Ns;

/// Ticks that the finest level of the wheel reaches; each further level reaches eight times as far, eight times as coarse.
const FIRST_LEVEL: u64 = 63;

/// The clock of a host's timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wheel {
    /// 0: timers fire exactly when due.
    pub tick: Ns,
    /// When the clock was at 0.
    pub phase: Ns,
}

impl Wheel {
    /// When a timer set at `now` for `wait` fires (Linux's calc_index: rounded up by the level's tick).
    pub fn fires(&self, now: Ns, wait: Ns) -> Ns {
        if self.tick == 0 {
            return now + wait;
        }
        // The phase is some time before the start: add whole rounds of the coarsest level used here.
        let round = self.tick << 12;
        let clock = (now + round - self.phase % round) / self.tick;
        let ticks = wait.div_ceil(self.tick);
        let level = (0..4).take_while(|l| ticks >= FIRST_LEVEL << (3 * l)).count() as u64;
        let due = (((clock + ticks) >> (3 * level)) + 1) << (3 * level);
        due * self.tick + self.phase % round - round
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::MS;

    #[test]
    fn long_timers_fire_on_coarser_ticks() {
        let w = Wheel { tick: 4 * MS, phase: MS };
        assert_eq!(w.fires(10 * MS, 200 * MS), (8 + 200 + 4 + 1) * MS);
        // From 252 ms on every 32 ms.
        let at = w.fires(10 * MS, 300 * MS);
        assert!((at - MS) % (32 * MS) == 0 && at > 310 * MS && at <= 345 * MS, "{at}");
        assert_eq!(Wheel::default().fires(10 * MS, 300 * MS), 310 * MS);
    }
}
