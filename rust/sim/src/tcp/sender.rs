//! The sending half: windows, losses, recovery and timers, in the order in which Linux decides them.

use super::board::{Acked, Board, Entry};
use super::rto::Rto;
use super::{Recovery, Segment, TcpConfig, Trigger};
use crate::engine::{Ns, MS};

/// Where the sender is (RFC 5681, 6582, 6675; Linux's names).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    #[default]
    Open,
    Disorder,
    Recovery,
    Loss,
}

/// Something worth a line in the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Timeout {
        seq: u64,
        rto: Ns,
        backoff: u32,
    },
    TimeoutUndone,
    RecoveryBegan {
        seq: u64,
    },
    RecoveryUndone,
    RecoveryEnded,
    /// The receiving half's timer sent an ACK that it had put off.
    DelayedAck {
        ack: u64,
    },
}

#[derive(Debug)]
pub struct Sender {
    pub una: u64,
    pub next: u64,
    /// The application has written up to here; FIN follows when it has closed.
    pub written: u64,
    pub closed: bool,
    pub board: Board,
    pub state: State,
    pub cwnd: u32,
    pub ssthresh: u32,
    /// ACKed segments since the window last grew in congestion avoidance.
    grown: u32,
    /// The peer's window: its right edge.
    pub window_end: u64,
    pub rto: Rto,
    /// When the retransmission timer, or the probe's, fires.
    pub timer: Option<Ns>,
    probe_armed: bool,
    probed: Option<u64>,
    /// Recovery point.
    high: u64,
    /// Duplicate ACKs that count for segments that left the network (no SACK).
    dupacks: u32,
    /// Proportional rate reduction.
    prr_delivered: u32,
    prr_out: u32,
    prior_cwnd: u32,
    /// For undo.
    undo_cwnd: Option<(u32, u32)>,
    undo_from: u64,
    undo_resends: u32,
    /// Timestamp of the first resend; 0 for none.
    resend_stamp: u32,
    frto: bool,
    frto_new_sent: bool,
    limited: u32,
    pub events: Vec<Event>,
}

/// A full window of 16 bits, in segments, is beyond any path simulated here.
const CWND_MOST: u32 = 1 << 20;

impl Sender {
    pub fn new(config: &TcpConfig) -> Self {
        Sender {
            una: 0,
            next: 0,
            written: 1,
            closed: false,
            board: Board::default(),
            state: State::Open,
            cwnd: config.initial_window_segments.max(1),
            ssthresh: config.initial_ssthresh_segments.max(2),
            grown: 0,
            window_end: 1,
            rto: Rto::new(config.rto),
            timer: None,
            probe_armed: false,
            probed: None,
            high: 0,
            dupacks: 0,
            prr_delivered: 0,
            prr_out: 0,
            prior_cwnd: 0,
            undo_cwnd: None,
            undo_from: 0,
            undo_resends: 0,
            resend_stamp: 0,
            frto: false,
            frto_new_sent: false,
            limited: 0,
            events: Vec::new(),
        }
    }

    /// Everything written, FIN included, is acknowledged.
    pub fn drained(&self) -> bool {
        self.una >= self.written + u64::from(self.closed) && self.board.is_empty()
    }

    fn pipe(&self, sack: bool) -> u32 {
        let left = if sack { 0 } else { self.dupacks };
        self.board.pipe().saturating_sub(left)
    }

    /// Take an ACK in. `stamp` is this host's timestamp clock now, `dsack` a reported duplicate.
    pub fn on_ack(&mut self, config: &TcpConfig, now: Ns, stamp: u32, s: &Segment, ack: u64, sack: bool) {
        let pure = s.span() == 0;
        if ack > self.next || ack < self.una {
            return;
        }
        let window_end = ack + u64::from(s.window);
        let window_changed = window_end != self.window_end;
        self.window_end = window_end;
        let prior_una = self.una;
        let dsack = self.dsack(s, ack);
        let (mut news, mut original_sacked) = (0, false);
        if sack {
            for &(left, right) in &s.sack[usize::from(dsack)..usize::from(s.sack_blocks)] {
                let (n, original) = self.board.sack(left, right);
                news += n;
                original_sacked |= original;
            }
        }
        if dsack && self.undo_resends > 0 {
            self.undo_resends -= 1;
        }
        let acked = if ack > self.una {
            self.una = ack;
            self.board.acked(ack)
        } else {
            Acked::default()
        };
        let advanced = ack > prior_una;
        let outstanding = !self.board.is_empty();
        let duplicate =
            !advanced && outstanding && pure && !window_changed && (!sack || news > 0 || s.sack_blocks == 0);
        if advanced {
            self.measure(config, now, stamp, s, &acked);
            self.probed = self.probed.filter(|end| *end > ack);
        }
        let delivered = acked.fresh + news;
        if !sack {
            self.count_dupacks(advanced, duplicate, &acked);
        }
        let facts = Facts { advanced, duplicate, delivered, acked, original_sacked, sack };
        self.decide(config, s, &facts);
        if advanced {
            self.arm(config, now, sack);
        }
    }

    /// RFC 2883: the first block lies below the ACK or inside the second.
    fn dsack(&self, s: &Segment, ack: u64) -> bool {
        if s.sack_blocks == 0 {
            return false;
        }
        let first = s.sack[0];
        first.1 <= ack || (s.sack_blocks > 1 && s.sack[1].0 <= first.0 && first.1 <= s.sack[1].1)
    }

    /// Karn's rule, or the echoed timestamp (RFC 7323); a valid sample takes the doublings back (RFC 6298 section 5.7).
    fn measure(&mut self, config: &TcpConfig, now: Ns, stamp: u32, s: &Segment, acked: &Acked) {
        let by_stamp = s.timestamps.filter(|t| config.timestamps && t.1 != 0).map(|t| {
            let ticks = stamp.wrapping_sub(t.1);
            Ns::from(ticks) * MS
        });
        let rtt = if acked.resent { by_stamp } else { acked.oldest_once.map(|t| now - t).or(by_stamp) };
        if let Some(rtt) = rtt {
            self.rto.sample(rtt, self.una, self.next);
            if !self.rto.keeps_backoff() {
                self.rto.backoff = 0;
            }
        }
        if self.rto.keeps_backoff() && self.board.is_empty() {
            self.rto.backoff = 0;
        }
    }

    /// Without SACK every duplicate ACK stands for a segment that has left the network.
    fn count_dupacks(&mut self, advanced: bool, duplicate: bool, acked: &Acked) {
        if duplicate {
            self.dupacks = (self.dupacks + 1).min(self.board.len());
        } else if advanced {
            // One of the segments acknowledged was the hole, the others had been counted.
            self.dupacks = self.dupacks.saturating_sub(acked.segments.saturating_sub(1)).min(self.board.len());
        }
    }

    fn decide(&mut self, config: &TcpConfig, s: &Segment, f: &Facts) {
        match self.state {
            State::Loss => self.in_loss(config, s, f),
            State::Recovery => self.in_recovery(config, s, f),
            State::Open | State::Disorder => {
                if f.advanced && !f.sack {
                    // New data acknowledged out of recovery: what was counted belongs to the past.
                    self.dupacks = 0;
                }
                let signs = if f.sack { self.board.sacked } else { self.dupacks };
                self.state = if signs > 0 { State::Disorder } else { State::Open };
                if f.advanced {
                    self.limited = 0;
                    self.grow(f.acked.segments);
                } else if f.duplicate && config.limited_transmit && signs < config.dupack_threshold {
                    self.limited = signs;
                }
                if self.is_lost(config, f.sack, signs) && self.una < self.next {
                    self.enter_recovery(config, f);
                }
            }
        }
    }

    /// RFC 5681's threshold, RFC 6675's count of SACKed segments, or FACK's distance.
    fn is_lost(&self, config: &TcpConfig, sack: bool, signs: u32) -> bool {
        if !f_after(self.una, self.high, sack) && self.high > 0 && config.recovery != Recovery::NewRenoCareless && !sack
        {
            // The careful variant: duplicate ACKs for what the last recovery sent are no loss (RFC 6582 section 4).
            return false;
        }
        let by_distance = sack
            && config.fack
            && self.board.sacked_end().is_some_and(|end| {
                end.saturating_sub(self.una) > u64::from(config.dupack_threshold) * u64::from(config.mss_bytes)
            });
        signs >= config.dupack_threshold || by_distance
    }

    fn enter_recovery(&mut self, config: &TcpConfig, f: &Facts) {
        self.remember_for_undo();
        self.prior_cwnd = self.cwnd;
        self.ssthresh = (self.cwnd / 2).max(2);
        (self.prr_delivered, self.prr_out) = (0, 0);
        self.limited = 0;
        self.high = self.next;
        self.state = State::Recovery;
        self.events.push(Event::RecoveryBegan { seq: self.una });
        self.mark_holes(config, f.sack);
        if config.prr {
            self.reduce(f.delivered, false);
        } else {
            self.cwnd = self.ssthresh + if f.sack { 0 } else { config.dupack_threshold };
        }
    }

    /// What is taken for lost now.
    fn mark_holes(&mut self, config: &TcpConfig, sack: bool) {
        let una = self.una;
        if !sack {
            self.board.mark_lost(|e| e.start == una);
            return;
        }
        let Some(end) = self.board.sacked_end() else {
            self.board.mark_lost(|e| e.start == una);
            return;
        };
        // A segment is lost when three SACKed ones lie above it (RFC 6675), or as far as FACK reaches.
        let threshold = config.dupack_threshold;
        let reach = if config.fack {
            end.saturating_sub(u64::from(threshold) * u64::from(config.mss_bytes))
        } else {
            self.board.iter().rev().filter(|e| e.sacked).nth(threshold as usize - 1).map_or(0, |e| e.start)
        };
        self.board.mark_lost(|e| e.end <= reach || e.start == una);
    }

    fn in_recovery(&mut self, config: &TcpConfig, s: &Segment, f: &Facts) {
        if f.advanced && self.spurious_by_stamp(config, s) || (self.undo_resends == 0 && self.undo_from > 0 && f.sack) {
            self.undo(Event::RecoveryUndone);
            self.state = State::Open;
            return;
        }
        let over = if f.sack || config.recovery == Recovery::NewRenoCareless {
            self.una >= self.high
        } else {
            self.una > self.high || (self.una >= self.high && self.board.is_empty())
        };
        if f.advanced && (over || config.recovery == Recovery::Reno && !f.sack) {
            self.cwnd = self.ssthresh.min(if config.prr { CWND_MOST } else { self.ssthresh });
            (self.state, self.dupacks) = (State::Open, 0);
            self.undo_cwnd = None;
            self.resend_stamp = 0;
            self.board.none_lost();
            self.events.push(Event::RecoveryEnded);
            return;
        }
        let newly_lost = if f.sack || (f.advanced && self.una < self.high) {
            // A partial ACK: the next hole is at the left edge (RFC 6582).
            let before = self.board.lost;
            self.mark_holes(config, f.sack);
            self.board.lost > before
        } else {
            false
        };
        if config.prr {
            let delivered = if f.sack { f.delivered } else { f.acked.segments + u32::from(f.duplicate) };
            self.reduce(delivered, f.advanced && !newly_lost);
        } else if f.advanced && !f.sack {
            // Partial window deflation.
            self.cwnd = self.cwnd.saturating_sub(f.acked.segments).max(1) + u32::from(f.acked.segments > 0);
        } else if f.duplicate && !f.sack {
            self.cwnd = (self.cwnd + 1).min(CWND_MOST);
        }
    }

    /// RFC 6937, as Linux does it.
    fn reduce(&mut self, delivered: u32, safe: bool) {
        if self.prior_cwnd == 0 {
            return;
        }
        self.prr_delivered += delivered;
        let pipe = i64::from(self.board.pipe().saturating_sub(self.dupacks));
        let delta = i64::from(self.ssthresh) - pipe;
        let send = if delta < 0 {
            let share = u64::from(self.ssthresh) * u64::from(self.prr_delivered) + u64::from(self.prior_cwnd) - 1;
            (share / u64::from(self.prior_cwnd)) as i64 - i64::from(self.prr_out)
        } else {
            let most = (i64::from(self.prr_delivered) - i64::from(self.prr_out)).max(i64::from(delivered));
            (most + i64::from(safe)).min(delta)
        };
        let send = send.max(i64::from(self.prr_out == 0));
        self.cwnd = u32::try_from(pipe + send).unwrap_or(1).max(1);
    }

    fn in_loss(&mut self, config: &TcpConfig, s: &Segment, f: &Facts) {
        let recovered = if f.sack {
            self.una >= self.high
        } else {
            self.una > self.high || self.una >= self.high && self.board.is_empty()
        };
        if f.advanced && self.spurious_by_stamp(config, s) {
            self.undo(Event::TimeoutUndone);
            self.state = State::Open;
            return;
        }
        if self.frto {
            if f.original_sacked || (f.advanced && f.acked.original && !f.acked.resent) {
                // Step 3b: an original that was never sent again arrived, so the timeout was spurious.
                self.frto = false;
                self.undo(Event::TimeoutUndone);
                self.state = State::Open;
                return;
            }
            if self.frto_new_sent && !f.advanced {
                // Step 3a.
                self.frto = false;
                self.board.mark_lost(|_| true);
            } else if f.advanced && !recovered && self.next < self.written.min(self.window_end) {
                // Step 2b: two new segments tell.
                self.frto_new_sent = true;
                self.high = self.next;
                self.board.none_lost();
                self.cwnd = self.board.pipe() + 2;
                return;
            } else if f.advanced {
                self.frto = false;
            }
        }
        if recovered {
            (self.state, self.dupacks) = (State::Open, 0);
            self.undo_cwnd = None;
            self.resend_stamp = if config.eifel_first_stamp_defect { 0 } else { self.resend_stamp };
            self.board.none_lost();
            self.grow(f.acked.segments);
            return;
        }
        if !f.sack {
            self.dupacks = 0;
        }
        self.grow(f.acked.segments);
    }

    /// The echo is older than the first resend: what was acknowledged was the original (RFC 3522).
    fn spurious_by_stamp(&self, config: &TcpConfig, s: &Segment) -> bool {
        let Some((_, echo)) = s.timestamps.filter(|_| config.timestamps && config.eifel) else { return false };
        self.undo_cwnd.is_some()
            && self.resend_stamp != 0
            && echo != 0
            && (echo.wrapping_sub(self.resend_stamp) as i32) < 0
    }

    fn remember_for_undo(&mut self) {
        self.undo_cwnd = Some((self.cwnd, self.ssthresh));
        self.undo_from = self.una;
        self.undo_resends = 0;
    }

    fn undo(&mut self, event: Event) {
        if let Some((cwnd, ssthresh)) = self.undo_cwnd.take() {
            (self.cwnd, self.ssthresh) = (cwnd.max(self.cwnd), ssthresh.max(self.ssthresh));
        }
        self.undo_from = 0;
        self.resend_stamp = 0;
        self.dupacks = 0;
        self.board.none_lost();
        self.events.push(event);
    }

    /// Slow start, then a segment a window (RFC 5681 section 3.1, counted in segments as Linux).
    fn grow(&mut self, acked: u32) {
        let mut acked = acked;
        if self.cwnd < self.ssthresh {
            let room = self.ssthresh - self.cwnd;
            let step = acked.min(room);
            self.cwnd = (self.cwnd + step).min(CWND_MOST);
            acked -= step;
        }
        if acked > 0 {
            self.grown += acked;
            if self.grown >= self.cwnd {
                self.grown -= self.cwnd;
                self.cwnd = (self.cwnd + 1).min(CWND_MOST);
            }
        }
    }

    /// (Re)start the timer, or stop it when nothing is outstanding.
    pub fn arm(&mut self, config: &TcpConfig, now: Ns, sack: bool) {
        self.probe_armed = false;
        if self.board.is_empty() {
            self.timer = None;
            return;
        }
        let rto = self.rto.current(self.cwnd);
        self.timer = Some(now + rto);
        if config.tail_loss_probe
            && sack
            && matches!(self.state, State::Open | State::Disorder)
            && self.probed.is_none()
        {
            if let Some(srtt) = self.rto.srtt() {
                let wait = 2 * srtt + if self.board.len() == 1 { config.delayed_ack_timer.max(2 * MS) } else { 2 * MS };
                if self.board.sacked == 0 && wait < rto {
                    self.timer = Some(now + wait);
                    self.probe_armed = true;
                }
            }
        }
    }

    /// The timer fired. The segment to send, if it is a probe.
    pub fn on_timer(&mut self, config: &TcpConfig, now: Ns, sack: bool) -> Option<(u64, Trigger)> {
        self.timer = None;
        let first = *self.board.first()?;
        if std::mem::take(&mut self.probe_armed) {
            self.probed = Some(self.next);
            let last = self.board.iter().next_back().map(|e| e.start)?;
            self.timer = Some(now + self.rto.current(self.cwnd));
            return Some((last, Trigger::TailLossProbe));
        }
        let rto = self.rto.current(self.cwnd);
        self.events.push(Event::Timeout { seq: first.start, rto, backoff: self.rto.backoff });
        let again = self.state == State::Loss && first.copies > 1;
        if !again {
            self.remember_for_undo();
            self.ssthresh = (self.cwnd / 2).max(2);
            self.frto = config.frto && !first.syn && self.state != State::Loss;
            self.frto_new_sent = false;
            self.resend_stamp = 0;
        } else {
            self.frto = false;
        }
        self.cwnd = 1;
        (self.grown, self.dupacks, self.limited, self.prr_out) = (0, 0, 0, 0);
        self.rto.backoff = (self.rto.backoff + 1).min(16);
        self.high = self.next;
        self.state = State::Loss;
        self.board.all_lost(!sack);
        Some((first.start, Trigger::Rto))
    }

    /// What to send next, if the windows allow it: a lost segment first, then new data.
    pub fn next_to_send(&mut self, config: &TcpConfig, sack: bool) -> Option<Next> {
        let pipe = self.pipe(sack);
        if pipe < self.cwnd {
            if let Some(e) = self.board.next_lost() {
                if !(self.frto && self.frto_new_sent) {
                    let trigger = match self.state {
                        State::Loss => Trigger::GoBackN,
                        _ if sack => Trigger::Sack,
                        _ if self.undo_resends == 0 => Trigger::Fast,
                        _ => Trigger::PartialAck,
                    };
                    return Some(Next::Again(e.start, trigger));
                }
            }
        }
        let allowed = self.cwnd.saturating_add(if self.state == State::Disorder { self.limited } else { 0 });
        if pipe >= allowed {
            return None;
        }
        let limit = self.written.min(self.window_end);
        if self.next < limit {
            let len = (limit - self.next).min(u64::from(config.mss_bytes)) as u32;
            let last = self.next + u64::from(len) == self.written;
            // Nagle (RFC 1122 section 4.2.3.4): a small segment waits while anything is outstanding; so does one that only the
            // window makes small (silly window, section 4.2.3.4).
            let small = len < config.mss_bytes;
            if small && !self.board.is_empty() && (!last || config.nagle && !self.closed) {
                return None;
            }
            return Some(Next::New { len, fin: self.closed && last });
        }
        if self.closed && self.next == self.written {
            return Some(Next::New { len: 0, fin: true });
        }
        None
    }

    /// Note new data as sent.
    pub fn sent_new(&mut self, now: Ns, len: u32, syn: bool, fin: bool) {
        let end = self.next + u64::from(len) + u64::from(syn) + u64::from(fin);
        self.board.push(Entry {
            start: self.next,
            end,
            len,
            syn,
            fin,
            first_sent: now,
            last_sent: now,
            copies: 1,
            sacked: false,
            lost: false,
            resent: false,
        });
        self.next = end;
        self.prr_out += u32::from(self.state == State::Recovery);
    }

    /// Note a resend; the segment as it was.
    pub fn sent_again(&mut self, now: Ns, start: u64, stamp: u32) -> Option<Entry> {
        let e = self.board.resend(start, now)?;
        self.undo_resends += 1;
        self.prr_out += u32::from(self.state == State::Recovery);
        if self.resend_stamp == 0 {
            self.resend_stamp = stamp;
        }
        Some(e)
    }
}

/// Whether an ACK lies beyond the recovery point.
fn f_after(una: u64, high: u64, sack: bool) -> bool {
    if sack {
        una >= high
    } else {
        una > high
    }
}

/// What `next_to_send` found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Again(u64, Trigger),
    New { len: u32, fin: bool },
}

#[derive(Debug)]
struct Facts {
    advanced: bool,
    duplicate: bool,
    delivered: u32,
    acked: Acked,
    original_sacked: bool,
    sack: bool,
}
