//! Was a retransmission spurious? Decided by later evidence: echoed timestamps, DSACK, the order and times of ACKs.

use super::kinds::{By, TimeoutKind};

/// A retransmission not yet decided.
#[derive(Debug, Clone, Copy)]
pub struct Pending {
    pub start: i64,
    pub end: i64,
    pub t: i64,
    pub tsval: Option<u32>,
    /// 1 for the first retransmission.
    pub copy: u16,
    pub row: u64,
    /// Number of the fast recovery (see `SenderState::recoveries`) that it belongs to, 0 for none.
    pub recovery: u64,
    /// Number of the timeout (see `SenderState::timeouts`) when a timer sent it.
    pub timeout: Option<u64>,
    /// An ACK had shown that the receiver lacked these bytes but had later ones.
    pub hole: bool,
    /// For so long that it was lost, and not overtaken.
    pub stands: bool,
    /// More than one full segment was outstanding, so a delayed ACK cannot be the reason.
    pub flight_many: bool,
    /// Highest sequence number sent when it was sent: an ACK above it is later than any ACK of it.
    pub sent_end: i64,
    /// No other segment below it carries this copy's timestamp.
    pub only_until: i64,
    pub covered: Option<Covered>,
    pub verdict: Option<bool>,
    pub by: Option<By>,
    pub dsacked: bool,
    /// The first ACK echoes this copy's timestamp and reports no duplicate: no other copy had arrived.
    pub proven: bool,
    /// Timestamp of the first copy, 0 for none.
    pub first_tsval: u32,
    /// No other segment below it carries that timestamp.
    pub first_until: i64,
    /// The bytes arrived again, and it is not known whether that was the original.
    pub doubted: bool,
    pub sack_ok: bool,
    /// Near the sender: an ACK that comes later than this may as well be a late one of the original.
    pub timely: Option<i64>,
    /// Decided when more than this is acknowledged.
    pub until: i64,
    /// Without SACK a second copy shows only by a duplicate ACK, which a reordered one causes a round trip later.
    pub extended: bool,
    /// A SYN whose first copy arrived: timestamp and arrival of the answer, which shows by the peer's clock when it was made.
    pub answer: Option<(u32, i64)>,
    /// Copies captured after the bytes were acknowledged, and when the last was: a DSACK that it can have caused reports the latest of them.
    pub later_copies: u16,
    pub later_at: i64,
    /// The result for a timeout.
    pub kind: TimeoutKind,
    pub evidence_packet: Option<u64>,
}

/// The first ACK that covered the bytes.
#[derive(Debug, Clone, Copy)]
pub struct Covered {
    pub ack: i64,
    /// It covers no more than what waits for one ACK.
    pub few: bool,
    /// No earlier ACK of the bytes can have been lost.
    pub first: bool,
}

/// What an ACK shows about retransmissions.
#[derive(Debug, Clone, Copy)]
pub struct AckFacts {
    pub packet: u64,
    pub t: i64,
    pub una_before: i64,
    pub una: i64,
    pub tsecr: Option<u32>,
    /// When the receiver made this ACK, on the tap's clock for the fastest path; from its TSval.
    pub made: Option<i64>,
    pub dsack: Option<(i64, i64)>,
    pub rtt_least: Option<i64>,
    /// By round trips of this path, not by the answer to a repeated SYN alone.
    pub measured: bool,
    /// By enough of them that one of half that time is unlikely.
    pub steady: bool,
    /// Two segments in a row arrive before the receiver acknowledges the first one alone.
    pub fast_line: bool,
    pub sack_ok: bool,
    /// The receiver has reported a duplicate before.
    pub reports: bool,
    pub tsval: Option<u32>,
    /// The path is known to reorder.
    pub reorders: bool,
    /// ACKs were seen to overtake each other.
    pub acks_overtake: bool,
    /// The tap is near the sender, so that round trips are the path's.
    pub near_sender: bool,
    /// It reports bytes above the acknowledged ones: a segment out of order caused it.
    pub reports_gap: bool,
    /// The latest bytes sent once that an ACK reported: when they were sent, and when the ACK came.
    pub once: Option<(i64, i64)>,
    /// Duplicate ACKs before this advance that no segment out of order explains: each answers bytes that arrived twice.
    pub surplus: u16,
    /// The original of the left-edge bytes of this advance was acknowledged: when it was sent.
    pub edge_original: Option<i64>,
    pub mss: i64,
}

/// TSval comparison modulo 2^32 (RFC 7323 section 5.2).
fn older(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// A copy of the same bytes that was sent later.
#[derive(Debug, Clone, Copy)]
pub struct Later {
    pub tsval: Option<u32>,
}

/// A DSACK reports one copy (RFC 2883 section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dsack {
    None,
    /// This copy.
    This,
    /// Another copy of the same bytes.
    Other,
}

/// The first timer of a SYN (RFC 6298 section 2.1).
const SYN_TIMER_NS: i64 = 1_000_000_000;

impl Pending {
    fn settle(&mut self, spurious: bool, by: Option<By>, kind: TimeoutKind, packet: u64) {
        self.verdict = Some(spurious);
        self.by = by;
        self.kind = kind;
        self.evidence_packet = Some(packet);
    }

    /// Evaluate an ACK. `sacked`: it selectively acknowledged these bytes for the first time; `later`: a copy sent later.
    pub fn evaluate(&mut self, a: &AckFacts, sacked: bool, later: Option<&Later>, dsack: Dsack) {
        if self.verdict == Some(true) {
            return;
        }
        let covers = a.una >= self.end || sacked;
        if self.covered.is_none() && covers {
            self.covered = Some(Covered { ack: a.una, few: self.few(a), first: self.first_ack(a) });
            self.on_first_cover(a, sacked, later, dsack);
        } else if dsack == Dsack::This
            && self.later_copies > 0
            && a.rtt_least.is_none_or(|least| self.later_at <= a.t - least / 8 * 7)
        {
            self.later_copies -= 1;
        } else if dsack == Dsack::This && !self.dsacked {
            self.dsacked = true;
            // Two copies arrived: this one came second, or the original was late.
            self.settle(true, Some(By::Dsack), self.late(), a.packet);
        } else if dsack == Dsack::Other && self.covered.is_some() && !self.hole && !self.proven {
            // One copy of several was the second to arrive: this one may have been.
            (self.verdict, self.by, self.kind) = (None, None, TimeoutKind::Undecided);
        } else if let Some(c) = self.covered {
            // The bytes right after the first covering ACK came from an original sent before this copy: so that ACK was
            // made before this copy could arrive (F-RTO's reasoning, RFC 5682 section 2.1).
            if a.una_before == c.ack && a.edge_original.is_some_and(|sent| sent < self.t) {
                if a.sack_ok || a.reorders {
                    // Unless that original was reordered: the receiver's report decides.
                    (self.verdict, self.by, self.kind) = (None, None, TimeoutKind::Undecided);
                } else {
                    // The answer to a copy acknowledges all originals before it: this ACK was none.
                    let kind = if c.few { TimeoutKind::Spurious } else { TimeoutKind::Undecided };
                    self.settle(true, Some(By::Acked), kind, a.packet);
                }
            }
        }
    }

    /// Covered, and nothing but the hole that it filled shows that it was needed: the first copy may still arrive.
    pub fn filled_only(&self, una: i64) -> bool {
        self.covered.is_some() && self.verdict == Some(false) && self.end <= una
    }

    /// Duplicate ACKs show that bytes arrived twice: these, if as many are reported as can be meant, else perhaps. An echo that proves that
    /// this copy arrived first, a round trip after the first one was due, outweighs a perhaps.
    pub fn arrived_twice(&mut self, certain: bool, packet: u64) {
        if certain {
            self.settle(true, Some(By::Acked), TimeoutKind::Spurious, packet);
        } else if !self.proven {
            (self.verdict, self.by, self.kind) = (None, None, TimeoutKind::Undecided);
        }
    }

    /// The answer to a repeated SYN, by the peer's clock and the least round trip of so small a packet. The copy, or the peer's own
    /// timer, which expires no sooner, can cause an answer after a round trip. If it came then, and the timers ran longer than that, an
    /// earlier one was lost.
    pub fn date_answer(&mut self, made: i64, least: Option<i64>) {
        if let (Some((_, came)), Some(least)) = (self.answer.take(), least) {
            let (after, late) = (came - self.t, came - made);
            let timers = SYN_TIMER_NS * ((1 << self.copy.min(10)) - 1);
            self.kind = match () {
                () if late + least / 2 > after => TimeoutKind::Spurious,
                () if (least / 8 * 7..=2 * least).contains(&after) && 2 * least < after + timers => {
                    TimeoutKind::AckLost
                }
                () => TimeoutKind::Undecided,
            }
        }
    }

    fn on_first_cover(&mut self, a: &AckFacts, sacked: bool, later: Option<&Later>, dsack: Dsack) {
        self.dsacked |= dsack == Dsack::This;
        if self.start == 0 {
            let alone = self.copy == 1 && later.is_none();
            return self.on_syn_answered(a, (dsack == Dsack::This).then_some(alone));
        }
        let least = a.rtt_least;
        // Half of it: with random channel access one round trip can take twice as long as another; a quarter while few were seen.
        // Where the path reorders, or a queue drained meanwhile, a round trip can be shorter than all before: then the receiver's reports decide.
        // The echo of this copy, or of anything sent later, came back as soon.
        let echoed = matches!((a.tsecr, self.tsval), (Some(echo), Some(mine)) if echo != 0 && !older(echo, mine));
        // Away from the sender the time to the ACK is that of the receiver, or of the medium.
        let unsteady = !a.near_sender || !a.measured || a.acks_overtake || echoed || (self.hole && a.sack_ok);
        let shorter = if a.steady { 2 } else { 4 };
        if !unsteady && least.is_some_and(|least| (a.t - self.t) * shorter < least) {
            return self.settle(true, Some(By::MinRtt), self.late(), a.packet);
        }
        if let (Some(made), Some(least), false) = (a.made, least, unsteady) {
            if made < self.t + least / 2 {
                return self.settle(true, Some(By::Timestamp), self.late(), a.packet);
            }
        }
        let at_edge = !sacked && self.start <= a.una_before && a.una_before < self.end;
        if let (true, Some(echo), Some(mine)) = (at_edge, a.tsecr, self.tsval) {
            // RFC 7323: the echo is the timestamp of the segment that advanced the left edge, which identifies the copy.
            if older(echo, mine) {
                // A DSACK shows that a copy caused this ACK, so the original's own ACK is missing. If the receiver reports no duplicates,
                // only its timestamp clock distinguishes a delayed ACK from a lost one.
                let kind = match () {
                    () if dsack != Dsack::None => self.dsack_kind(a),
                    () if a.reports => self.late(),
                    () => TimeoutKind::Undecided,
                };
                return self.settle(true, Some(By::Timestamp), kind, a.packet);
            }
            let by_this_copy = later.and_then(|l| l.tsval).is_none_or(|next| older(echo, next));
            match dsack {
                // No ACK waits at a hole: this copy was the first to arrive, and the original came after it.
                Dsack::This if echo == mine && self.hole && self.copy == 1 => {
                    return self.settle(true, Some(By::Dsack), TimeoutKind::Spurious, a.packet);
                }
                Dsack::This if by_this_copy => {
                    return self.settle(true, Some(By::Dsack), self.dsack_kind(a), a.packet);
                }
                // A later copy is the duplicate, and this one filled a proven hole.
                Dsack::Other if by_this_copy && self.hole && self.copy == 1 => {}
                Dsack::This | Dsack::Other => return,
                Dsack::None => {}
            }
            if a.sack_ok || self.hole {
                self.proven = echo == mine && dsack == Dsack::None && a.una <= self.only_until;
                return self.settle(false, None, TimeoutKind::Genuine, a.packet);
            }
            return;
        }
        match dsack {
            Dsack::This => return self.settle(true, Some(By::Dsack), self.dsack_kind(a), a.packet),
            Dsack::Other => return,
            Dsack::None => {}
        }
        // Segments sent before this copy are still being acknowledged: the first copy's ACK may be late, and this copy lost.
        let late = a.once.is_some_and(|(sent, came)| sent < self.t && self.t < came);
        if a.sack_ok && !self.hole && late {
            return;
        }
        // A receiver with SACK reports what arrives twice. Not reported before the copy, not reported twice after it: the
        // copy was needed. (A DSACK can still change this until data sent later is acknowledged.) Without SACK a proven
        // hole was filled by the only copy that can have filled it.
        // The report can be missing because the copy was lost, and the ACK be a late one of the original: without a hole an ACK counts only if
        // it came neither sooner than any round trip nor later than the timer waits.
        let after = a.t - self.t;
        let timely = self.hole
            || self.timely.is_none_or(|most| a.measured && least.is_some_and(|l| (l / 8 * 7..=most).contains(&after)));
        if a.reports && self.start > 0 && timely || self.hole && self.copy == 1 {
            self.settle(false, None, TimeoutKind::Genuine, a.packet);
        }
    }

    /// No earlier ACK of these bytes can have been lost. An ACK echoes the first segment since the ACK before (RFC 7323 section 4.3), and two
    /// segments at most wait for one (RFC 5681 section 4.2). An ACK that a segment out of order caused may follow another, and so may the
    /// answer to an earlier copy, unless the receiver would report it.
    fn first_ack(&self, a: &AckFacts) -> bool {
        let first = match self.copy {
            1 => match a.tsecr.filter(|_| self.tsval.is_some()) {
                Some(echo) => echo == self.first_tsval && (a.una <= self.first_until || a.fast_line),
                // A slow line lets the receiver's timer acknowledge each segment before the next one comes.
                None => a.una <= self.end || a.fast_line,
            },
            _ => a.reports,
        };
        first && self.few(a)
    }

    fn few(&self, a: &AckFacts) -> bool {
        a.una - self.start <= 2 * a.mss && !a.reports_gap
    }

    /// The kind of a timeout whose bytes had arrived: data or ACKs were late, unless an ACK may have been lost.
    fn late(&self) -> TimeoutKind {
        match self.covered {
            Some(Covered { first: true, .. }) => TimeoutKind::Spurious,
            _ => TimeoutKind::Undecided,
        }
    }

    /// A DSACK in the first ACK that covers the bytes: an earlier copy had arrived and its ACK was lost. Only a flight
    /// of several segments excludes a delayed ACK.
    fn dsack_kind(&self, a: &AckFacts) -> TimeoutKind {
        if self.flight_many && a.una - self.start >= 2 * a.mss {
            TimeoutKind::AckLost
        } else {
            TimeoutKind::Undecided
        }
    }

    /// A SYN was answered. The receiver answers each copy at once, but repeats the answer by its own timer too.
    /// `reported`: the answer reports a SYN that came twice, and this one was the only copy.
    fn on_syn_answered(&mut self, a: &AckFacts, reported: Option<bool>) {
        if let Some(only) = reported {
            // The receiver answers a SYN at once: it had answered the first one too. Of several answers that one may be under way.
            let kind = if only { TimeoutKind::AckLost } else { TimeoutKind::Undecided };
            return self.settle(true, Some(By::Dsack), kind, a.packet);
        }
        let echo_older = matches!((a.tsecr, self.tsval), (Some(echo), Some(mine)) if older(echo, mine));
        let least = a.rtt_least.is_some_and(|least| (a.t - self.t) * 2 < least);
        if echo_older || least {
            let by = if echo_older { By::Timestamp } else { By::MinRtt };
            self.settle(true, Some(by), TimeoutKind::Undecided, a.packet);
            self.answer = a.tsval.map(|v| (v, a.t));
        } else if a.tsecr.is_some_and(|echo| echo != 0) && self.tsval.is_some() {
            // The first copy to arrive is the one whose timestamp is echoed (RFC 7323 section 4.3).
            self.settle(false, None, TimeoutKind::Genuine, a.packet);
        }
    }
}
