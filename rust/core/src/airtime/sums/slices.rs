//! Airtime over time: equal slices that widen as the capture grows, so that their number stays bounded.

use super::purpose::PURPOSES;

/// Slices kept: a figure has no room for more.
pub const SLICES: usize = 1024;
/// The narrowest slice, 17 ms: the longest frames last 5 to 12 ms.
const SLICE_NS: i64 = 1 << 24;
/// Times of 146 years come from damage; clipped, so that sums do not overflow.
const MOST_NS: i64 = 1 << 62;

/// Airtime and frames of one slice, by purpose.
#[derive(Debug, Clone, Copy, Default)]
pub struct Slice {
    pub ns: [i64; PURPOSES],
    pub frames: [u64; PURPOSES],
}

/// Airtime of each purpose in each slice.
#[derive(Debug)]
pub struct Slices {
    pub width_ns: i64,
    pub slices: Vec<Slice>,
}

impl Default for Slices {
    fn default() -> Self {
        Slices { width_ns: SLICE_NS, slices: vec![Slice::default(); SLICES] }
    }
}

impl Slices {
    /// Add a frame; one without a time or of unknown length is left out.
    pub fn add(&mut self, t_ns: Option<i64>, purpose: u8, airtime_ns: i64) {
        let Some(t_ns) = t_ns.filter(|t| *t >= 0 && airtime_ns >= 0) else { return };
        let t_ns = t_ns.min(MOST_NS);
        while (t_ns + airtime_ns) >> self.shift() >= SLICES as i64 {
            self.widen();
        }
        let (mut at, purpose) = ((t_ns >> self.shift()) as usize, usize::from(purpose));
        self.slices[at].frames[purpose] += 1;
        // A frame fills the rest of its slice, then the next one, so that no slice holds more than its own length.
        let (mut left_ns, mut room_ns) = (airtime_ns, self.width_ns - (t_ns & (self.width_ns - 1)));
        loop {
            let part_ns = left_ns.min(room_ns);
            self.slices[at].ns[purpose] += part_ns;
            left_ns -= part_ns;
            if left_ns == 0 {
                return;
            }
            (at, room_ns) = (at + 1, self.width_ns);
        }
    }

    /// Widths are powers of two: a shift takes a tenth of the time of a division.
    fn shift(&self) -> u32 {
        self.width_ns.trailing_zeros()
    }

    fn widen(&mut self) {
        self.width_ns *= 2;
        for at in 0..SLICES {
            let mut sum = Slice::default();
            for half in self.slices.get(2 * at..2 * at + 2).unwrap_or_default() {
                for purpose in 0..PURPOSES {
                    sum.ns[purpose] += half.ns[purpose];
                    sum.frames[purpose] += half.frames[purpose];
                }
            }
            self.slices[at] = sum;
        }
    }
}
