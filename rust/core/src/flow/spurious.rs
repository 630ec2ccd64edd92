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
    /// More than one full segment was outstanding, so a delayed ACK cannot be the reason.
    pub flight_many: bool,
    /// Highest sequence number sent when it was sent: an ACK above it is later than any ACK of it.
    pub sent_end: i64,
    pub covered: Option<Covered>,
    pub verdict: Option<bool>,
    pub by: Option<By>,
    pub dsacked: bool,
    /// The result for a timeout.
    pub kind: TimeoutKind,
    pub evidence_packet: Option<u64>,
}

/// The first ACK that covered the bytes.
#[derive(Debug, Clone, Copy)]
pub struct Covered {
    pub ack: i64,
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
    /// What each KiB of a segment adds on this path, at least, ns.
    pub ns_per_kib: i64,
    pub sack_ok: bool,
    /// The original of the left-edge bytes of this advance was acknowledged: when it was sent.
    pub edge_original: Option<i64>,
    pub mss: i64,
}

/// TSval comparison modulo 2^32 (RFC 7323 section 5.2).
fn older(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

impl Pending {
    fn settle(&mut self, spurious: bool, by: Option<By>, kind: TimeoutKind, packet: u64) {
        self.verdict = Some(spurious);
        self.by = by;
        self.kind = kind;
        self.evidence_packet = Some(packet);
    }

    /// Evaluate an ACK. `sacked`: it selectively acknowledged these bytes for the first time; `last_copy`: no later copy was sent.
    pub fn evaluate(&mut self, a: &AckFacts, sacked: bool, next_copy_tsval: Option<u32>, last_copy: bool) {
        if self.verdict == Some(true) {
            return;
        }
        let dsack_here = a.dsack.is_some_and(|(l, r)| l < self.end && r > self.start);
        let covers = a.una >= self.end || sacked;
        if self.covered.is_none() && covers {
            self.covered = Some(Covered { ack: a.una });
            self.on_first_cover(a, sacked, dsack_here, next_copy_tsval, last_copy);
        } else if dsack_here && !self.dsacked {
            self.dsacked = true;
            self.late_dsack(a, last_copy);
        } else if let Some(c) = self.covered {
            // The bytes right after the first covering ACK came from an original sent before this copy: so that ACK was
            // made before this copy could arrive (F-RTO's reasoning, RFC 5682 section 2.1).
            if self.verdict != Some(true) && a.una_before == c.ack && a.edge_original.is_some_and(|sent| sent < self.t)
            {
                self.settle(true, Some(By::Acked), TimeoutKind::Spurious, a.packet);
            }
        }
    }

    fn on_first_cover(
        &mut self,
        a: &AckFacts,
        sacked: bool,
        dsack_here: bool,
        next_copy_tsval: Option<u32>,
        last_copy: bool,
    ) {
        self.dsacked |= dsack_here;
        let least = a.rtt_least.map(|l| l + a.ns_per_kib.saturating_mul(self.end - self.start) / 1024);
        // Half of it: with random channel access one round trip can take twice as long as another.
        if least.is_some_and(|least| (a.t - self.t) * 2 < least) {
            return self.settle(true, Some(By::MinRtt), TimeoutKind::Spurious, a.packet);
        }
        if let (Some(made), Some(least)) = (a.made, least) {
            if made < self.t + least / 2 {
                return self.settle(true, Some(By::Timestamp), TimeoutKind::Spurious, a.packet);
            }
        }
        let at_edge = !sacked && self.start <= a.una_before && a.una_before < self.end;
        if let (true, Some(echo), Some(mine)) = (at_edge, a.tsecr, self.tsval) {
            // RFC 7323: the echo is the timestamp of the segment that advanced the left edge, which identifies the copy.
            if older(echo, mine) {
                // A DSACK shows that a copy caused this ACK, so the original's own ACK is missing. If the receiver reports no duplicates,
                // only its timestamp clock distinguishes a delayed ACK from a lost one.
                let kind = match () {
                    () if dsack_here => self.dsack_kind(a),
                    () if a.sack_ok && self.start > 0 => TimeoutKind::Spurious,
                    () => TimeoutKind::Undecided,
                };
                return self.settle(true, Some(By::Timestamp), kind, a.packet);
            }
            let by_this_copy = next_copy_tsval.is_none_or(|next| older(echo, next));
            if dsack_here {
                if by_this_copy {
                    return self.settle(true, Some(By::Dsack), self.dsack_kind(a), a.packet);
                }
                return;
            }
            if a.sack_ok || self.hole {
                return self.settle(false, None, TimeoutKind::Genuine, a.packet);
            }
            return;
        }
        if dsack_here {
            if last_copy {
                self.settle(true, Some(By::Dsack), self.dsack_kind(a), a.packet);
            }
            return;
        }
        // A receiver with SACK reports what arrives twice. Not reported before the copy, not reported twice after it: the
        // copy was needed. (A DSACK can still change this until data sent later is acknowledged.) Without SACK a proven
        // hole was filled by the only copy that can have filled it.
        if a.sack_ok && self.start > 0 || self.hole && self.copy == 1 {
            self.settle(false, None, TimeoutKind::Genuine, a.packet);
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

    /// A DSACK after the bytes were covered: two copies arrived.
    fn late_dsack(&mut self, a: &AckFacts, last_copy: bool) {
        let echo_is_mine = match (a.tsecr, self.tsval) {
            (Some(echo), Some(mine)) => !older(echo, mine),
            _ => last_copy,
        };
        if last_copy && (self.copy == 1 || echo_is_mine) {
            self.settle(true, Some(By::Dsack), TimeoutKind::Spurious, a.packet);
        } else {
            // With several copies it is unknown which one was spurious.
            self.verdict = None;
            self.by = None;
            self.kind = TimeoutKind::Undecided;
        }
    }
}
