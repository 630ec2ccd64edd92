//! From a 64-bit tick count to nanoseconds since 1970 (if_tsresol, if_tsoffset).

/// The duration of one tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tick {
    /// This many nanoseconds.
    Nanoseconds(u64),
    /// This many ticks per nanosecond.
    PerNanosecond(u64),
    /// 2^-n seconds.
    Binary(u32),
    /// 64 bits of it cover less than a few seconds: no clock uses it.
    TooFine,
}

/// The clock of one interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    tick: Tick,
    /// Added to every timestamp.
    offset_ns: i128,
}

impl Default for Clock {
    /// Microseconds since 1970 when there is no if_tsresol.
    fn default() -> Self {
        Clock { tick: Tick::Nanoseconds(1000), offset_ns: 0 }
    }
}

impl Clock {
    /// if_tsresol: the top bit chooses base 2, else 10; the rest is the negative exponent.
    pub fn set_resolution(&mut self, tsresol: u8) {
        let n = u32::from(tsresol & 0x7f);
        self.tick = match (tsresol & 0x80 != 0, n) {
            (false, 0..=9) => Tick::Nanoseconds(10_u64.pow(9 - n)),
            (false, 10..=18) => Tick::PerNanosecond(10_u64.pow(n - 9)),
            (true, 0..=63) => Tick::Binary(n),
            _ => Tick::TooFine,
        };
    }

    /// if_tsoffset, in seconds.
    pub fn set_offset(&mut self, seconds: i64) {
        self.offset_ns = i128::from(seconds) * 1_000_000_000;
    }

    /// Nanoseconds since 1970, rounded down; None outside of i64.
    #[inline]
    pub fn time_ns(&self, ticks: u64) -> Option<i64> {
        let since = match self.tick {
            Tick::Nanoseconds(n) => u128::from(ticks) * u128::from(n),
            Tick::PerNanosecond(n) => u128::from(ticks / n),
            Tick::Binary(n) => (u128::from(ticks) * 1_000_000_000) >> n,
            Tick::TooFine => return None,
        };
        i64::try_from(since as i128 + self.offset_ns).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(tsresol: u8, offset: i64) -> Clock {
        let mut c = Clock::default();
        c.set_resolution(tsresol);
        c.set_offset(offset);
        c
    }

    #[test]
    fn resolutions_of_both_bases() {
        let t = 1_700_000_000_u64;
        assert_eq!(Clock::default().time_ns(t * 1_000_000 + 7), Some(1_700_000_000_000_007_000));
        for n in 0..=10 {
            assert_eq!(clock(n, 0).time_ns(t * 10_u64.pow(u32::from(n))), Some(1_700_000_000_000_000_000), "10^-{n}");
        }
        for n in 0..=33 {
            assert_eq!(clock(0x80 | n, 0).time_ns(t << n), Some(1_700_000_000_000_000_000), "2^-{n}");
        }
        assert_eq!(clock(12, t as i64).time_ns(1_500), Some(1_700_000_000_000_000_001));
        assert_eq!(clock(0x80 | 32, 0).time_ns(1 << 31), Some(500_000_000));
    }

    #[test]
    fn what_i64_cannot_hold_is_none() {
        assert_eq!(Clock::default().time_ns(u64::MAX), None);
        assert_eq!(clock(0x7f, 0).time_ns(1 << 63), None);
        assert_eq!(clock(0xff, 0).time_ns(1 << 63), None);
        assert_eq!(clock(6, i64::MAX).time_ns(0), None);
        assert_eq!(clock(6, i64::MIN).time_ns(u64::MAX), None);
        assert_eq!(clock(6, -2_150_000_000).time_ns(1_700_000_000_000_000), Some(-450_000_000_000_000_000));
        assert_eq!(clock(9, 0).time_ns(i64::MAX as u64), Some(i64::MAX));
    }
}
