//! The idle time between the end of one PPDU and the start of the next.
//!
//! The clock is the radio's own if its marked instant is known, else the TSF, else the capture's time. Timestamps are used unchanged: whole microseconds make a gap uncertain by
//! 1 us, and with too much jitter no instant fits the clock. A 32-bit microsecond counter may wrap
//! between two PPDUs. Clocks that run backwards or differ by seconds give no gap, nor do PPDUs that would overlap.

use crate::frame::{control, qos, subtype, Frame, Mac};
use crate::limits;
use crate::notes::{NoteKind, Notes};
use crate::phy::StampAt;

use super::stamps::{cell, class, name, Fit, Gaps, Stamps, INSTANTS};
use super::txtime::Times;

/// `PpduEnd` in `INSTANTS`.
const END: usize = INSTANTS.len() - 1;
/// 32-bit counters of microseconds.
const WRAP_NS: i64 = (1 << 32) * 1000;
const ACTION_NO_ACK: u8 = 14;
/// The TSF and the capture's time may drift between two PPDUs, but not by more than this.
const APART_NS: i64 = 10_000_000_000;
/// MPDUs of one A-MPDU arrive within aPPDUMaxTime: 10 ms for HT greenfield (Table 19-25), 5.484 ms else; their capture
/// times may be later by the host's delay.
const AMPDU_NS: i64 = 20_000_000;
/// Timestamps are whole microseconds, or read a little late.
const QUANTUM_NS: i64 = 2_000;

/// A PPDU with a known time on the air.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timed {
    pub times: Times,
    /// It may be longer: its packet extension is unknown.
    pub open_end: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clock {
    Radio(StampAt),
    Tsf,
    Capture,
}

/// One timestamp, in ns; differences wrap.
#[derive(Debug, Clone, Copy)]
struct Stamp {
    clock: Clock,
    ns: i64,
}

/// The expected frame after SIFS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expects {
    Nothing,
    Cts,
    /// ACK or Block Ack.
    Ack,
    /// The frame that a CTS permits.
    Data,
}

/// The latest PPDU.
#[derive(Debug)]
struct Last {
    stamp: Stamp,
    /// From the timestamp of its first MPDU to that of its last.
    advance_ns: i64,
    time_ns: Option<i64>,
    timed: Option<Timed>,
    /// TXTIME as it was with the first MPDU alone.
    first_total_ns: u32,
    class: Option<usize>,
    channel_mhz: Option<u16>,
    expects: Expects,
    /// The receiver of the response.
    station: Mac,
}

/// A row whose gap is not yet decided.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    row: usize,
    /// Of its frame, for notes.
    number: u64,
    cell: usize,
    clock: Clock,
    gaps: Gaps,
}

#[derive(Debug, Default)]
pub(super) struct Idle {
    last: Option<Last>,
    tsf: Fit,
    capture: Fit,
    announced: Option<StampAt>,
    /// Rows that wait until the marked instant is known.
    undecided: Vec<Waiting>,
    /// The latest PPDU, while its end may move its start.
    open: Option<Waiting>,
    /// Frames processed while rows waited.
    held: usize,
    pub settled: Vec<(usize, i64)>,
}

impl Idle {
    /// Whether a frame with the A-MPDU number of the latest PPDU, or else with the same timestamp, is in the same PPDU:
    /// drivers give all MPDUs one timestamp or each its own, and a retransmission with the same number comes later.
    pub fn same_ppdu(&self, f: &Frame, same_number: bool) -> bool {
        let Some((last, stamp)) = self.last.as_ref().zip(stamp(f)) else { return false };
        let Some(since) = since(stamp, last.stamp) else { return false };
        let near = |ns: i64| (-AMPDU_NS..=AMPDU_NS).contains(&ns);
        let total_ns = last.timed.map_or(0, |t| i64::from(t.times.total_ns));
        match (stamp.clock, same_number) {
            (Clock::Capture, number) => number && near(since),
            (_, true) => (-QUANTUM_NS..=total_ns + QUANTUM_NS).contains(&since),
            (_, false) => since == 0 && last.time_ns.zip(f.time_ns).is_none_or(|(a, b)| near(b.saturating_sub(a))),
        }
    }

    /// One more MPDU of the latest PPDU, which now lasts `total_ns`.
    pub fn more(&mut self, f: &Frame, total_ns: u32) {
        self.held += 1;
        let Some(last) = &mut self.last else { return };
        if let Some(timed) = &mut last.timed {
            timed.times.total_ns = total_ns;
        }
        if let Some(advance) = stamp(f).and_then(|s| since(s, last.stamp)) {
            last.advance_ns = advance;
        }
        if last.expects == Expects::Nothing {
            (last.expects, last.station) = expects(f);
        }
    }

    /// The first or only MPDU of a PPDU.
    pub fn begin(&mut self, f: &mut Frame, timed: Option<Timed>, row: usize, notes: &mut Notes) {
        self.close_open(notes);
        self.held += 1;
        let last = self.last.take();
        let Some(stamp) = stamp(f).filter(|_| !f.radio.transmitted) else { return };
        let (expects, station) = expects(f);
        let next = Last {
            stamp,
            advance_ns: 0,
            time_ns: f.time_ns,
            timed,
            first_total_ns: timed.map_or(0, |t| t.times.total_ns),
            class: class(&f.radio.ppdu),
            channel_mhz: f.radio.ppdu.channel_mhz,
            expects,
            station,
        };
        if let Some((cell, gaps)) = last.as_ref().and_then(|last| between(last, &next)) {
            let aggregate = f.radio.ampdu.is_some();
            if last.is_some_and(|last| answers(&last, f)) {
                let mut known = gaps;
                if aggregate {
                    // The duration of the PPDU is not yet known.
                    known[END] = i64::MAX;
                }
                self.learn(cell, &known, &next, notes);
            }
            let waiting = Waiting { row, number: f.number, cell, clock: stamp.clock, gaps };
            if aggregate && self.end_matters(&waiting) {
                self.open = Some(waiting);
            } else {
                f.ifs_ns = self.resolve(waiting, notes);
            }
        }
        self.last = Some(next);
        if self.held >= limits::HELD_FRAMES && !self.undecided.is_empty() {
            self.judge(notes);
            self.undecided.clear();
        }
    }

    /// A response and the frame before it.
    fn learn(&mut self, cell: usize, gaps: &Gaps, answer: &Last, notes: &mut Notes) {
        // aSIFSTime: Tables 16-4, 19-25; 16 us from clause 17.4.4 on.
        let sifs_ns = if answer.channel_mhz.is_some_and(|c| c < 3_000) { 10_000 } else { 16_000 };
        let Some(fit) = self.fit(answer.stamp.clock) else { return };
        let decided = fit.decided();
        fit.add(cell, gaps, sifs_ns);
        if !decided && fit.decided() {
            self.release(notes);
        }
    }

    /// Whether the gap before an A-MPDU depends on its duration.
    fn end_matters(&mut self, w: &Waiting) -> bool {
        match w.clock {
            Clock::Radio(at) => at == StampAt::PpduEnd,
            clock => self.fit(clock).is_some_and(|fit| fit.may_be_end(w.cell)),
        }
    }

    /// The gap if it is decided; else the row waits for the marked instant, while rows are held.
    fn resolve(&mut self, w: Waiting, notes: &mut Notes) -> Option<i64> {
        let gap = match w.clock {
            Clock::Radio(at) => {
                self.announced = Some(at);
                INSTANTS.iter().position(|&i| i == at).map(|h| w.gaps[h])
            }
            clock => {
                let fit = self.fit(clock)?;
                if !fit.decided() {
                    if self.held < limits::HELD_FRAMES {
                        self.undecided.push(w);
                    }
                    return None;
                }
                fit.gap(w.cell, &w.gaps)
            }
        };
        let Some(gap) = gap else {
            notes.add(NoteKind::TimestampUndecided, w.number, 0);
            return None;
        };
        if gap < 0 {
            notes.add(NoteKind::FramesOverlap, w.number, 0);
            return None;
        }
        Some(gap)
    }

    fn fit(&mut self, clock: Clock) -> Option<&mut Fit> {
        match clock {
            Clock::Radio(_) => None,
            Clock::Tsf => Some(&mut self.tsf),
            Clock::Capture => Some(&mut self.capture),
        }
    }

    /// The latest PPDU is complete: its duration is known.
    fn close_open(&mut self, notes: &mut Notes) {
        let (Some(mut open), Some(last)) = (self.open.take(), &self.last) else { return };
        if let Some(timed) = last.timed {
            // The first MPDU's gap was computed with the duration known then.
            open.gaps[END] = open.gaps[END]
                .saturating_add(last.advance_ns)
                .saturating_sub(i64::from(timed.times.total_ns) - i64::from(last.first_total_ns));
        }
        if let Some(gap) = self.resolve(open, notes) {
            self.settled.push((open.row, gap));
        }
    }

    /// The marked instant is known: compute the gaps of the waiting rows.
    fn release(&mut self, notes: &mut Notes) {
        for w in std::mem::take(&mut self.undecided) {
            if let Some(gap) = self.resolve(w, notes) {
                self.settled.push((w.row, gap));
            }
        }
    }

    fn judge(&mut self, notes: &mut Notes) {
        for fit in [&mut self.tsf, &mut self.capture] {
            if !fit.decided() {
                fit.judge();
            }
        }
        self.release(notes);
    }

    pub fn waiting(&self) -> bool {
        !self.undecided.is_empty() || self.open.is_some()
    }

    pub fn finish(&mut self, notes: &mut Notes) {
        self.close_open(notes);
        self.judge(notes);
        self.undecided.clear();
    }

    pub fn stamps(&self) -> Option<Stamps> {
        if let Some(at) = self.announced {
            return Some(Stamps {
                clock: "radio",
                at: vec![name(at)],
                announced: true,
                pairs: 0,
                fitting: 0,
                residual_us: None,
            });
        }
        self.tsf.describe("tsf").or_else(|| self.capture.describe("capture"))
    }
}

fn stamp(f: &Frame) -> Option<Stamp> {
    let radio = &f.radio;
    if let (Some(ns), Some(at)) = (radio.stamp_ns, radio.stamp_at) {
        return Some(Stamp { clock: Clock::Radio(at), ns: ns as i64 });
    }
    match radio.tsf_us {
        Some(us) => Some(Stamp { clock: Clock::Tsf, ns: (us as i64).wrapping_mul(1000) }),
        None => Some(Stamp { clock: Clock::Capture, ns: f.time_ns? }),
    }
}

/// Time from timestamp `b` to timestamp `a` of the same clock.
fn since(a: Stamp, b: Stamp) -> Option<i64> {
    let ns = a.ns.wrapping_sub(b.ns);
    let wrapped = a.clock != Clock::Capture && (-WRAP_NS..-WRAP_NS / 2).contains(&ns);
    (a.clock == b.clock).then_some(if wrapped { ns + WRAP_NS } else { ns })
}

/// The kinds of two PPDUs and the gap between them under each hypothesis; None if they cannot be compared.
fn between(last: &Last, next: &Last) -> Option<(usize, Gaps)> {
    let (before, after) = (last.timed.filter(|t| !t.open_end)?.times, next.timed?.times);
    let since = since(next.stamp, last.stamp)?;
    if last.channel_mhz.zip(next.channel_mhz).is_some_and(|(a, b)| a != b) {
        return None;
    }
    let capture_ns = next.time_ns.zip(last.time_ns).map(|(a, b)| a.saturating_sub(b));
    if capture_ns.is_some_and(|d| d.saturating_sub(since).saturating_abs() > APART_NS) {
        return None;
    }
    let gap = |at| match at {
        StampAt::PpduEnd => since.saturating_sub(last.advance_ns + i64::from(after.total_ns)),
        _ => since.saturating_add(offset(at, &before) - offset(at, &after) - i64::from(before.total_ns)),
    };
    Some((cell(last.class?, next.class?), INSTANTS.map(gap)))
}

/// From the first bit of the PPDU to the instant.
fn offset(at: StampAt, times: &Times) -> i64 {
    i64::from(match at {
        StampAt::PpduStart => 0,
        StampAt::HeaderEnd => times.header_ns,
        StampAt::MpduStart => times.preamble_ns,
        StampAt::PpduEnd => times.total_ns,
    })
}

/// The frame that must follow after SIFS, and the station that receives or sends it (clauses 10.3.2.9 and 10.3.2.11).
fn expects(f: &Frame) -> (Expects, Mac) {
    const GROUP: u8 = 1;
    const NO_ACK: u16 = 0x0020;
    let nothing = (Expects::Nothing, [0; 6]);
    let (Some(kind), Some(sub), Some(ra)) = (f.kind(), f.subtype(), f.ra()) else { return nothing };
    if f.fcs_ok == Some(false) || ra[0] & GROUP != 0 {
        return nothing;
    }
    let answer = match (kind, sub) {
        (control::CONTROL, subtype::CTS) => return (Expects::Data, ra),
        (control::CONTROL, subtype::RTS) => Expects::Cts,
        (control::CONTROL, subtype::BLOCK_ACK_REQUEST | subtype::PS_POLL) => Expects::Ack,
        (control::DATA, _) if f.qos.is_some_and(|q| q & qos::ACK_POLICY == NO_ACK) => return nothing,
        (control::DATA, _) => Expects::Ack,
        (control::MANAGEMENT, s) if s != ACTION_NO_ACK => Expects::Ack,
        _ => return nothing,
    };
    f.ta().map_or(nothing, |ta| (answer, ta))
}

/// Whether a frame is the one that the previous frame requires after SIFS.
fn answers(last: &Last, f: &Frame) -> bool {
    let control = |subtypes: &[u8]| {
        f.kind() == Some(control::CONTROL)
            && f.subtype().is_some_and(|s| subtypes.contains(&s))
            && f.ra() == Some(last.station)
    };
    f.fcs_ok != Some(false)
        && match last.expects {
            Expects::Nothing => false,
            Expects::Cts => control(&[subtype::CTS]),
            Expects::Ack => control(&[subtype::ACK, subtype::BLOCK_ACK]),
            Expects::Data => f.ta() == Some(last.station) && f.kind() != Some(control::CONTROL),
        }
}
