//! The instant of a PPDU that a clock's timestamps mark, fitted from responses, which follow after SIFS.
//!
//! An ACK, CTS or Block Ack, and the frame after a CTS, starts SIFS after the end of the frame before it (clause 10.3.2.3):
//! 10 us at 2.4 GHz, 16 us elsewhere. Each hypothesis about the marked instant turns two timestamps into such a gap. Under the
//! true one gap - SIFS is nearly the same for all pairs (turnaround and quantisation: a few us), under a false one it
//! changes with durations and preambles. Hypotheses that fit equally well are all kept: if they disagree about a gap it
//! stays unknown, and so does the gap between kinds of PPDU that no response links.

use crate::phy::{Phy, Ppdu, StampAt};

/// Hypotheses, in the order of their bits and of gaps.
pub(super) const INSTANTS: [StampAt; 4] =
    [StampAt::PpduStart, StampAt::HeaderEnd, StampAt::MpduStart, StampAt::PpduEnd];
/// Gaps under each hypothesis, in ns.
pub(super) type Gaps = [i64; INSTANTS.len()];

/// Kinds of preamble, between which conversions may differ.
const CLASSES: usize = 8;
const CELLS: usize = CLASSES * CLASSES;

/// Histogram of gap - SIFS in us.
const LOWEST_US: i64 = -16;
const BINS: usize = 48;
/// Residuals of one clock and one instant lie within this many us: timestamps of whole us, turnaround within 10 % of a slot
/// (clause 17.3.9.5, aSIFSTime's tolerance), and the same difference between stations.
const WINDOW: usize = 5;
/// Range of the window's start: outside it the pair was no response.
const WINDOWS_US: std::ops::RangeInclusive<i64> = -8..=12;
/// Widens the window for the test of single kinds of PPDU.
const SLACK: usize = 2;

/// Pairs needed for a decision, and pairs between decisions.
const FEWEST: u32 = 3;
const ENOUGH: u32 = 64;
/// Counts are halved at this number, so that a changed clock is detected.
const MOST: u32 = 4096;

/// The kind of preamble of a PPDU.
pub(super) fn class(p: &Ppdu) -> Option<usize> {
    Some(match p.phy? {
        Phy::B if p.short_preamble == Some(true) && p.rate_mbps != Some(1.0) => 1,
        Phy::B => 0,
        Phy::A | Phy::G => 2,
        Phy::N if p.greenfield == Some(true) => 4,
        Phy::N => 3,
        Phy::Ac => 5,
        Phy::Ax => 6,
        Phy::Be => 7,
    })
}

/// Two consecutive PPDUs, by their kinds.
pub(super) fn cell(before: usize, after: usize) -> usize {
    before * CLASSES + after
}

/// The state of one clock.
#[derive(Debug)]
pub(super) struct Fit {
    pairs: u32,
    /// Pairs that at least one hypothesis explains.
    plausible: u32,
    /// By cell, hypothesis and us; allocated with the first pair.
    histogram: Vec<u16>,
    /// Pairs by cell, whatever their residual.
    tried: [u16; CELLS],
    verdict: Option<Verdict>,
}

impl Default for Fit {
    fn default() -> Self {
        Fit { pairs: 0, plausible: 0, histogram: Vec::new(), tried: [0; CELLS], verdict: None }
    }
}

#[derive(Debug)]
struct Verdict {
    /// Hypotheses that fit, one bit each.
    instants: u8,
    /// The hypotheses used by cell; 0: none.
    cells: [u8; CELLS],
    fitting: u32,
    residual_us: i64,
}

/// The result for the report.
#[derive(Debug, Clone, PartialEq)]
pub struct Stamps {
    /// "radio" (radiotap's timestamp field), "tsf" or "capture".
    pub clock: &'static str,
    /// The instants that fit; several if responses cannot distinguish them, none if nothing fits.
    pub at: Vec<&'static str>,
    /// The capture itself states the instant.
    pub announced: bool,
    /// Responses captured, and those that fit.
    pub pairs: u32,
    pub fitting: u32,
    /// Most common gap - SIFS of those that fit.
    pub residual_us: Option<i64>,
}

/// The name of an instant.
pub(super) fn name(at: StampAt) -> &'static str {
    match at {
        StampAt::PpduStart => "ppdu_start",
        StampAt::HeaderEnd => "header_end",
        StampAt::MpduStart => "mpdu_start",
        StampAt::PpduEnd => "ppdu_end",
    }
}

impl Fit {
    /// Add a response and the frame before it: `gaps` under each hypothesis, where SIFS is expected.
    pub fn add(&mut self, cell: usize, gaps: &Gaps, sifs_ns: i64) {
        if self.histogram.is_empty() {
            self.histogram.resize(CELLS * INSTANTS.len() * BINS, 0);
        }
        let mut plausible = false;
        for (h, gap) in gaps.iter().enumerate() {
            let residual_us = gap.saturating_sub(sifs_ns).saturating_add(500).div_euclid(1000);
            let bin = usize::try_from(residual_us.saturating_sub(LOWEST_US)).unwrap_or(BINS);
            if bin < BINS {
                let count = &mut self.histogram[(cell * INSTANTS.len() + h) * BINS + bin];
                *count = count.saturating_add(1);
                plausible |= WINDOWS_US.contains(&residual_us);
            }
        }
        self.pairs += 1;
        self.tried[cell] = self.tried[cell].saturating_add(1);
        self.plausible += u32::from(plausible);
        if self.pairs >= MOST {
            self.pairs /= 2;
            self.plausible /= 2;
            self.histogram.iter_mut().chain(&mut self.tried).for_each(|c| *c /= 2);
        }
        // After the first decision it is repeated at intervals.
        let every = if self.decided() { 8 * ENOUGH } else { ENOUGH };
        if self.pairs % every == 0 {
            self.judge();
        }
    }

    /// Decide which hypotheses fit.
    pub fn judge(&mut self) {
        self.verdict = self.weigh();
    }

    fn weigh(&self) -> Option<Verdict> {
        if self.pairs < FEWEST {
            return None;
        }
        let best: [(u32, usize); INSTANTS.len()] = std::array::from_fn(|h| self.window(h));
        let fitting = best.iter().map(|b| b.0).max().unwrap_or(0);
        if fitting < FEWEST || 2 * fitting < self.plausible {
            return None;
        }
        let near = |h: &usize| 10 * best[*h].0 >= 9 * fitting;
        let mut instants = (0..INSTANTS.len()).filter(near).fold(0u8, |mask, h| mask | 1 << h);

        // Each kind of pair by itself: a hypothesis fails if it misses half of them.
        let mut passed = [None; CELLS];
        for (cell, passed) in passed.iter_mut().enumerate() {
            let count = |h: usize, from: usize, to: usize| -> u32 {
                let at = (cell * INSTANTS.len() + h) * BINS;
                self.histogram[at + from..at + to].iter().map(|&c| u32::from(c)).sum()
            };
            let pairs = u32::from(self.tried[cell]);
            if pairs >= FEWEST {
                let fits = |h: &usize| {
                    let from = best[*h].1.saturating_sub(SLACK);
                    2 * count(*h, from, (best[*h].1 + WINDOW + SLACK).min(BINS)) >= pairs
                };
                *passed = Some((0..INSTANTS.len()).filter(fits).fold(0, |mask, h| mask | 1 << h) & instants);
            }
        }
        // If kinds of pairs contradict each other, the hypothesis that explains more of them is kept.
        let explained: [u32; INSTANTS.len()] = std::array::from_fn(|h| {
            let passes = |(_, mask): &(&u16, &Option<u8>)| mask.is_some_and(|m| m & 1 << h != 0);
            self.tried.iter().zip(&passed).filter(passes).map(|(&n, _)| u32::from(n)).sum()
        });
        let most = explained.iter().copied().max().unwrap_or(0);
        if most == 0 && passed.iter().any(Option::is_some) {
            return None;
        }
        instants &= (0..INSTANTS.len()).filter(|&h| explained[h] == most).fold(0, |mask, h| mask | 1 << h);
        // A decision stays until it explains much less than another would.
        let before = self.verdict.as_ref().map_or(0, |v| v.instants);
        let stands = (0..INSTANTS.len()).filter(|&h| before & 1 << h != 0 && 4 * explained[h] >= 3 * most);
        instants = match (instants & before, stands.fold(0, |mask, h| mask | 1 << h)) {
            (0, 0) => instants,
            (0, before) => before,
            (both, _) => both,
        };
        // Drivers convert timestamps by PHY, so kinds are compared only if a chain of responses links them; within one kind
        // a constant error cancels.
        let mut linked: [usize; CLASSES] = std::array::from_fn(|class| class);
        for (cell, _) in passed.iter().enumerate().filter(|(_, m)| m.is_some_and(|m| m & instants != 0)) {
            let (from, to) = (linked[cell / CLASSES], linked[cell % CLASSES]);
            linked.iter_mut().filter(|l| **l == from).for_each(|l| *l = to);
        }
        let cells = std::array::from_fn(|c| match passed[c] {
            Some(mask) => mask & instants,
            None if linked[c / CLASSES] == linked[c % CLASSES] => instants,
            None => 0,
        });
        let chosen = instants.trailing_zeros() as usize;
        let (_, start) = best[chosen];
        let most = (start..start + WINDOW).max_by_key(|&bin| self.total(chosen, bin)).unwrap_or(start);
        Some(Verdict { instants, cells, fitting, residual_us: most as i64 + LOWEST_US })
    }

    /// Pairs of all kinds in one bin.
    fn total(&self, h: usize, bin: usize) -> u32 {
        (0..CELLS).map(|cell| u32::from(self.histogram[(cell * INSTANTS.len() + h) * BINS + bin])).sum()
    }

    /// The fullest window of a hypothesis: its pairs and its first bin.
    fn window(&self, h: usize) -> (u32, usize) {
        let totals: [u32; BINS] = std::array::from_fn(|bin| self.total(h, bin));
        let first = |us: i64| (us - LOWEST_US) as usize;
        let windows = first(*WINDOWS_US.start())..=first(*WINDOWS_US.end());
        let count = |from: usize| totals[from..from + WINDOW].iter().sum::<u32>();
        // Of equal ones the nearest to residual zero.
        windows
            .map(|from| (count(from), from))
            .max_by_key(|&(n, from)| (n, -(from as i64 + LOWEST_US + WINDOW as i64 / 2).abs()))
            .unwrap_or((0, 0))
    }

    pub fn decided(&self) -> bool {
        self.verdict.is_some()
    }

    /// Whether the timestamp may mark the end of the PPDU between such PPDUs.
    pub fn may_be_end(&self, cell: usize) -> bool {
        const END: u8 = 1 << (INSTANTS.len() - 1);
        self.verdict.as_ref().is_none_or(|v| v.cells[cell] & END != 0)
    }

    /// The gap between two PPDUs, if all fitting hypotheses agree to 1 us.
    pub fn gap(&self, cell: usize, gaps: &Gaps) -> Option<i64> {
        let mask = self.verdict.as_ref()?.cells[cell];
        let first = *gaps.get(mask.trailing_zeros() as usize)?;
        let agree = |(h, gap): (usize, &i64)| mask & 1 << h == 0 || gap.abs_diff(first) <= 1000;
        gaps.iter().enumerate().all(agree).then_some(first)
    }

    pub fn describe(&self, clock: &'static str) -> Option<Stamps> {
        let v = self.verdict.as_ref();
        let instants = v.map_or(0, |v| v.instants);
        (self.pairs > 0).then(|| Stamps {
            clock,
            at: (0..INSTANTS.len()).filter(|h| instants & 1 << h != 0).map(|h| name(INSTANTS[h])).collect(),
            announced: false,
            pairs: self.pairs,
            fitting: v.map_or(0, |v| v.fitting),
            residual_us: v.map(|v| v.residual_us),
        })
    }
}
