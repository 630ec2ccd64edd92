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

/// Ticks of a timestamp clock that show when a packet was made: two clocks of whole ticks differ by up to two.
const STAMP_TICKS: i64 = 8;
const ALIKE_TICKS: i64 = 2;
/// Clocks of Linux before 4.13, which count as many ticks in a longer time.
const SLOWER_HZ: [i64; 3] = [100, 250, 300];
const MS: i64 = 1_000_000;
/// Two clocks drift apart by fewer ticks of 1 ms than show anything, at 100 parts in a million.
const ALIKE_FOR_NS: i64 = 60_000 * MS;

/// Whether a packet that passes `now` was made at an earlier time, by a clock of 1000 Hz that counted so many ticks since `since`; and
/// not now by a slower one.
pub fn was_made_then(ticks: i64, since: i64, then: i64, now: i64) -> bool {
    let shown = |t: i64, hz: i64| ((t - since) / MS * hz / 1000 - ticks).abs() <= ALIKE_TICKS;
    ticks >= STAMP_TICKS
        && shown(then, 1000)
        && now - then > STAMP_TICKS * MS
        && now - since <= ALIKE_FOR_NS
        && !SLOWER_HZ.iter().any(|hz| shown(now, *hz))
}

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

    /// Whether what passes `now` with this TSval was made at an earlier time, by the first packet, see `was_made_then`.
    pub fn was_made_then(&self, tsval: Option<u32>, then: i64, now: i64) -> bool {
        let Some(((since, first), tsval)) = self.first.zip(tsval) else { return false };
        was_made_then(i64::from(tsval.wrapping_sub(first) as i32), since, then, now)
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
