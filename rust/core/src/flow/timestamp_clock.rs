//! The peer's timestamp clock (RFC 7323 section 5.4) on the tap's clock: when was an ACK made?

/// Fits tick length and offset of one direction's TSval.
#[derive(Debug, Clone, Copy, Default)]
pub struct TimestampClock {
    first: Option<(i64, u32)>,
    last: (i64, u32),
    tick: Option<i64>,
    /// Minimum of arrival - TSval * tick: the fastest path.
    offset: Option<i64>,
    /// Since when the tick has been too short.
    short_since: Option<i64>,
}

/// Ticks that senders use: 1 us, 10 us, 100 us, 1 ms, 4 ms, 10 ms, 100 ms, 500 ms.
const TICKS: [i64; 8] = [1_000, 10_000, 100_000, 1_000_000, 4_000_000, 10_000_000, 100_000_000, 500_000_000];
/// A rate is used after this time: a quarter of it may be path delay without selecting the wrong tick.
const SETTLE_NS: i64 = 200_000_000;

impl TimestampClock {
    /// Process a TSval that arrived at `t`.
    pub fn observe(&mut self, t: i64, tsval: u32) {
        let Some((t0, v0)) = self.first else {
            self.first = Some((t, tsval));
            self.last = (t, tsval);
            return;
        };
        self.last = (t, tsval);
        let ticks = i64::from(tsval.wrapping_sub(v0) as i32);
        if self.tick.is_none() {
            let elapsed = t - t0;
            if elapsed < SETTLE_NS || ticks <= 0 {
                return;
            }
            let rate = elapsed / ticks;
            self.tick = TICKS.iter().copied().find(|tick| rate > tick * 2 / 3 && rate < tick * 3 / 2);
            self.offset = self.tick.map(|_| t0);
        }
        if let Some(tick) = self.tick {
            let (elapsed, span) = (t - t0, ticks * tick);
            // A growing queue had stretched the time between the first packets; or shortened it, unless one that stood still delays these.
            let short = (elapsed / 3 > span / 2).then(|| self.short_since.unwrap_or(t));
            if elapsed / 2 < span / 3 || short.is_some_and(|since| t - since >= SETTLE_NS) {
                (self.tick, self.offset, self.short_since) = (None, None, None);
                return;
            }
            self.short_since = short;
            let offset = t - span;
            self.offset = Some(self.offset.map_or(offset, |o| o.min(offset)));
        }
    }

    /// Length of a tick in ns.
    pub fn tick(&self) -> Option<i64> {
        self.tick
    }

    /// Latest time at which a packet with this TSval left, assuming the fastest path, plus one tick.
    pub fn made(&self, tsval: u32) -> Option<i64> {
        let (_, v0) = self.first?;
        let ticks = i64::from(tsval.wrapping_sub(v0) as i32);
        Some(self.offset? + (ticks + 1) * self.tick?)
    }

    /// Earliest time at which it left: the fastest path may have delayed none by less than a tick.
    pub fn made_after(&self, tsval: u32) -> Option<i64> {
        Some(self.made(tsval)?.saturating_sub(2 * self.tick?))
    }
}
