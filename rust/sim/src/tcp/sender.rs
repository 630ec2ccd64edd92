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
    /// The third duplicate ACK for `seq` came and nothing was sent again for it.
    ThirdDuplicate {
        seq: u64,
    },
    /// A closed window was asked after.
    WindowProbe {
        wait: Ns,
    },
    /// From here on only the peer's window keeps the sender from sending: it is filled, or holds no segment; no longer.
    WindowFilled,
    WindowClosed,
    WindowFreed,
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
    /// Whether the window was filled of late, and how far (RFC 7661's question, Linux's answer).
    filled: bool,
    most_out: u32,
    usage_until: u64,
    /// The peer's window: its right edge; the greatest it has offered; what it was told by.
    pub window_end: u64,
    pub window_most: u32,
    window_told_by: u64,
    window_state: Event,
    pub rto: Rto,
    /// When the retransmission timer, the probe's or the closed window's fires.
    pub timer: Option<Ns>,
    timer_is: Timer,
    /// Probes of a closed window without an open one in between.
    window_probes: u32,
    probed: Option<u64>,
    /// Recovery point.
    high: u64,
    /// Duplicate ACKs that count for segments that left the network (no SACK).
    dupacks: u32,
    /// Duplicate ACKs in a row for `una`, whatever they count for.
    in_a_row: u32,
    /// Duplicate ACKs needed: more after reordering was seen.
    threshold: u32,
    /// Proportional rate reduction.
    prr_delivered: u32,
    prr_out: u32,
    prior_cwnd: u32,
    /// The recovery under way has sent something again.
    resent_fast: bool,
    /// For undo.
    undo_cwnd: Option<(u32, u32)>,
    undo_resends: u32,
    undo_of_timeout: bool,
    /// Timestamp of the first resend; 0 for none.
    resend_stamp: u32,
    /// Expiries since the last ACK of new data.
    expiries: u32,
    frto: bool,
    /// F-RTO's step 2b: new data goes first, and alone if there is any.
    new_first: bool,
    /// End of the last small segment sent (Minshall).
    small_end: u64,
    pub events: Vec<Event>,
}

/// What the one timer was set for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Timer {
    #[default]
    Retransmission,
    TailLossProbe,
    WindowProbe,
    KeepAlive,
}

/// A full window of 16 bits, in segments, is beyond any path simulated here.
const CWND_MOST: u32 = 1 << 20;
/// No path reorders by more (Linux's tcp_max_reordering).
const THRESHOLD_MOST: u32 = 300;

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
            filled: false,
            most_out: 0,
            usage_until: 0,
            window_end: 1,
            window_most: 0,
            window_told_by: 0,
            window_state: Event::WindowFreed,
            rto: Rto::new(config.rto),
            timer: None,
            timer_is: Timer::Retransmission,
            window_probes: 0,
            probed: None,
            high: 0,
            dupacks: 0,
            in_a_row: 0,
            threshold: config.dupack_threshold,
            prr_delivered: 0,
            prr_out: 0,
            prior_cwnd: 0,
            resent_fast: false,
            undo_cwnd: None,
            undo_resends: 0,
            undo_of_timeout: false,
            resend_stamp: 0,
            expiries: 0,
            frto: false,
            new_first: false,
            small_end: 0,
            events: Vec::new(),
        }
    }

    /// Everything written, FIN included, is acknowledged.
    pub fn drained(&self) -> bool {
        self.una >= self.written + u64::from(self.closed) && self.board.is_empty()
    }

    /// Segments that count against the congestion window.
    fn pipe(&self, config: &TcpConfig, sack: bool) -> u32 {
        if sack {
            return self.board.pipe();
        }
        match self.state {
            // RFC 5681 inflates the window instead.
            State::Recovery if inflates(config) => self.board.len(),
            State::Open | State::Disorder if !config.limited_transmit => self.board.pipe(),
            _ => self.board.pipe().saturating_sub(self.dupacks),
        }
    }

    /// Take an ACK in. `stamp` is this host's timestamp clock now.
    pub fn on_ack(&mut self, config: &TcpConfig, now: Ns, stamp: u32, s: &Segment, ack: u64, sack: bool) {
        let pure = s.span() == 0;
        if ack > self.next || ack < self.una {
            return;
        }
        let prior_una = self.una;
        let advanced = ack > prior_una;
        let window_update = self.take_window(s, ack);
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
        let outstanding = !self.board.is_empty();
        let acked = if advanced {
            self.una = ack;
            self.expiries = 0;
            self.board.acked(ack)
        } else {
            Acked::default()
        };
        if !outstanding {
            self.when_idle(config, now);
            return;
        }
        let duplicate = !advanced && pure && !window_update;
        self.in_a_row = if duplicate { self.in_a_row + 1 } else { 0 };
        if advanced {
            self.measure(config, now, stamp, s, &acked);
            self.probed = self.probed.filter(|end| *end > ack);
        }
        let mut facts =
            Facts { advanced, duplicate, delivered: 0, acked, original_sacked, sack, news, newly_lost: false, dsack };
        facts.delivered = self.delivered(&facts);
        self.decide(config, s, &mut facts);
        self.steer(config, &facts);
        // After a timeout what was sent again is not sent once more, whatever the ACKs tell.
        let after_timeout = self.state == State::Loss;
        if self.in_a_row == 3 && self.board.first().is_some_and(|e| if e.resent { after_timeout } else { !e.lost }) {
            self.events.push(Event::ThirdDuplicate { seq: self.una });
        }
        if advanced {
            self.arm(config, now, sack);
        }
    }

    /// RFC 9293 section 3.10.7.4: newer segments tell the window, and of one segment's age greater windows.
    fn take_window(&mut self, s: &Segment, ack: u64) -> bool {
        let offered = self.window_end.saturating_sub(self.una);
        let window = u64::from(s.window);
        let newer = ack > self.una
            || s.seq > self.window_told_by
            || (s.seq == self.window_told_by && (window > offered || window == 0 && offered > 0));
        if newer {
            self.window_told_by = s.seq;
            self.window_end = ack + window;
            self.window_most = self.window_most.max(s.window);
        }
        newer
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

    /// Segments that this ACK says have arrived. Without SACK those that duplicate ACKs told of count no second time.
    fn delivered(&self, f: &Facts) -> u32 {
        if f.sack {
            f.acked.fresh + f.news
        } else if f.advanced {
            f.acked.segments.saturating_sub(self.dupacks).max(u32::from(f.acked.segments > 0))
        } else {
            0
        }
    }

    /// Without SACK: one of the segments acknowledged was the hole, the others had been counted.
    fn uncount_dupacks(&mut self, f: &Facts) {
        if !f.sack && f.acked.segments > 0 {
            self.dupacks = self.dupacks.saturating_sub(f.acked.segments - 1);
            self.limit_dupacks(f.acked.segments);
        }
    }

    /// Without SACK every duplicate ACK stands for a segment that has left the network.
    fn count_dupack(&mut self, f: &mut Facts) {
        if !f.sack && f.duplicate {
            let before = self.dupacks;
            self.dupacks += 1;
            self.limit_dupacks(0);
            f.delivered += self.dupacks.saturating_sub(before);
        }
    }

    /// More duplicate ACKs than segments beside the holes: the network reorders or duplicates.
    fn limit_dupacks(&mut self, acked: u32) {
        let out = self.board.len();
        let holes = self.board.lost.max(1).min(out);
        if self.dupacks + holes > out {
            self.dupacks = out - holes;
            self.threshold = self.threshold.max((out + acked).min(THRESHOLD_MOST));
        }
    }

    fn decide(&mut self, config: &TcpConfig, s: &Segment, f: &mut Facts) {
        self.uncount_dupacks(f);
        if self.state == State::Recovery && self.una >= self.high && !self.leave_recovery(config, s, f) {
            return;
        }
        match self.state {
            State::Loss => {
                self.in_loss(config, s, f);
                if self.state == State::Open {
                    let stale = config.stale_dupacks && !f.sack && self.dupacks >= self.threshold;
                    self.in_order(config, f);
                    if stale && self.una < self.next && self.state != State::Recovery {
                        self.enter_recovery(config, f);
                    }
                }
            }
            State::Recovery => self.in_recovery(config, s, f),
            State::Open | State::Disorder => self.in_order(config, f),
        }
    }

    fn in_order(&mut self, config: &TcpConfig, f: &mut Facts) {
        if f.dsack && self.undo_cwnd.is_some() && self.undo_resends == 0 {
            // Every resend was reported as a duplicate (RFC 3708).
            let event = if self.undo_of_timeout { Event::TimeoutUndone } else { Event::RecoveryUndone };
            self.undo(false, event);
        }
        if f.advanced && !f.sack {
            // New data acknowledged out of recovery: what was counted belongs to the past.
            self.dupacks = 0;
        }
        self.count_dupack(f);
        if self.state == State::Open && !f.advanced {
            self.resend_stamp = 0;
        }
        let signs = if f.sack { self.board.sacked } else { self.dupacks };
        if self.una < self.next && self.is_lost(config, f.sack, signs) {
            return self.enter_recovery(config, f);
        }
        let state = if signs > 0 || self.board.resent > 0 { State::Disorder } else { State::Open };
        if state != self.state {
            self.state = state;
            self.high = self.next;
        }
    }

    /// RFC 5681's threshold, RFC 6675's count of SACKed segments, or FACK's distance.
    fn is_lost(&self, config: &TcpConfig, sack: bool, signs: u32) -> bool {
        let by_distance = sack
            && config.fack
            && self.board.sacked_end().is_some_and(|end| {
                end.saturating_sub(self.una) > u64::from(config.dupack_threshold) * u64::from(config.mss_bytes)
            });
        signs >= if sack { config.dupack_threshold } else { self.threshold } || by_distance
    }

    fn enter_recovery(&mut self, config: &TcpConfig, f: &mut Facts) {
        self.remember_for_undo();
        self.undo_of_timeout = false;
        self.prior_cwnd = self.cwnd;
        self.ssthresh = (self.cwnd / 2).max(2);
        (self.prr_delivered, self.prr_out, self.grown) = (0, 0, 0);
        self.high = self.next;
        (self.state, self.resent_fast) = (State::Recovery, false);
        self.events.push(Event::RecoveryBegan { seq: self.una });
        f.newly_lost = self.mark_holes(config, f.sack) > 0;
        if inflates(config) {
            self.cwnd = self.ssthresh + if f.sack { 0 } else { config.dupack_threshold };
        }
    }

    /// What is taken for lost now; how many segments that is news for.
    fn mark_holes(&mut self, config: &TcpConfig, sack: bool) -> u32 {
        let una = self.una;
        let Some(end) = self.board.sacked_end().filter(|_| sack) else {
            return self.board.mark_lost(una + 1, |_| true);
        };
        // A segment is lost when three SACKed ones lie above it (RFC 6675), or as far as FACK reaches.
        let threshold = config.dupack_threshold;
        let reach = if config.fack {
            end.saturating_sub(u64::from(threshold) * u64::from(config.mss_bytes))
        } else {
            self.board.iter().rev().filter(|e| e.sacked).nth(threshold as usize - 1).map_or(0, |e| e.start)
        };
        self.board.mark_lost(reach.max(una + 1), |e| e.end <= reach || e.start == una)
    }

    /// Everything sent before the recovery is acknowledged. False: the state is kept, and this ACK has no more to say.
    fn leave_recovery(&mut self, config: &TcpConfig, s: &Segment, f: &Facts) -> bool {
        self.dupacks = 0;
        if self.may_undo(config, s) {
            self.undo(false, Event::RecoveryUndone);
        }
        let careful = !f.sack && config.recovery != Recovery::NewRenoCareless;
        if careful && self.una == self.high {
            // RFC 6582 section 4: duplicate ACKs for what the recovery itself sent are no loss.
            return false;
        }
        self.end_recovery(config);
        true
    }

    fn end_recovery(&mut self, config: &TcpConfig) {
        if self.undo_cwnd.is_some() {
            self.cwnd = if config.rate_halving { self.cwnd.min(self.ssthresh) } else { self.ssthresh };
        }
        (self.state, self.resend_stamp) = (State::Open, 0);
        self.events.push(Event::RecoveryEnded);
    }

    fn in_recovery(&mut self, config: &TcpConfig, s: &Segment, f: &mut Facts) {
        if !f.advanced {
            self.count_dupack(f);
        } else if self.spurious_by_stamp(config, s) || (self.undo_resends == 0 && f.sack) {
            self.undo(true, Event::RecoveryUndone);
            self.state = if self.board.resent > 0 { State::Disorder } else { State::Open };
            return;
        } else if config.recovery == Recovery::Reno && !f.sack {
            self.dupacks = 0;
            return self.end_recovery(config);
        }
        if f.sack || f.advanced {
            // A partial ACK: the next hole is at the left edge (RFC 6582).
            f.newly_lost = self.mark_holes(config, f.sack) > 0;
        }
    }

    /// What the ACK does to the congestion window.
    fn steer(&mut self, config: &TcpConfig, f: &Facts) {
        if self.state != State::Recovery {
            if f.advanced {
                self.grow(config, f.delivered);
            }
        } else if config.rate_halving {
            self.halve(config, f);
        } else if config.prr {
            self.reduce(config, f);
        } else if !f.sack {
            if f.advanced {
                // Partial window deflation.
                self.cwnd = self.cwnd.saturating_sub(f.acked.segments).max(1) + u32::from(f.acked.segments > 0);
            } else if f.duplicate && self.in_a_row > self.threshold {
                self.cwnd = (self.cwnd + 1).min(CWND_MOST);
            }
        }
    }

    /// A segment less for every second ACK (Linux 2.4, after Mathis and Mahdavi's rate halving).
    fn halve(&mut self, config: &TcpConfig, f: &Facts) {
        self.grown += 1;
        if self.grown >= 2 {
            self.grown = 0;
            self.cwnd -= u32::from(self.cwnd > self.ssthresh / 2);
        }
        self.cwnd = self.cwnd.min(self.pipe(config, f.sack) + 1);
    }

    /// RFC 6937, as Linux does it.
    fn reduce(&mut self, config: &TcpConfig, f: &Facts) {
        if self.prior_cwnd == 0 || f.delivered == 0 {
            return;
        }
        self.prr_delivered += f.delivered;
        let pipe = i64::from(self.pipe(config, f.sack));
        let delta = i64::from(self.ssthresh) - pipe;
        let send = if delta < 0 {
            let share = u64::from(self.ssthresh) * u64::from(self.prr_delivered) + u64::from(self.prior_cwnd) - 1;
            (share / u64::from(self.prior_cwnd)) as i64 - i64::from(self.prr_out)
        } else {
            let most = (i64::from(self.prr_delivered) - i64::from(self.prr_out)).max(i64::from(f.delivered));
            (most + i64::from(f.advanced && !f.newly_lost)).min(delta)
        };
        let send = send.max(i64::from(self.prr_out == 0));
        self.cwnd = u32::try_from(pipe + send).unwrap_or(1).max(1);
    }

    fn in_loss(&mut self, config: &TcpConfig, s: &Segment, f: &mut Facts) {
        let recovered = self.una >= self.high;
        if f.advanced && self.may_undo(config, s) {
            self.undo(true, Event::TimeoutUndone);
            if f.sack || self.una > self.high {
                self.leave_loss();
            }
            return;
        }
        if self.frto {
            let original =
                f.original_sacked || (!f.acked.resent && f.acked.original.is_some_and(|end| end <= self.high));
            if original {
                // Step 3b: an original that was never sent again arrived, so the timeout was spurious.
                self.frto = false;
                self.undo(true, Event::TimeoutUndone);
                self.leave_loss();
                return;
            }
            if self.next > self.high {
                if f.duplicate || f.news > 0 {
                    // Step 3a: the loss was real.
                    self.frto = false;
                }
            } else if f.advanced && !recovered {
                // Step 2b: two new segments tell.
                self.high = self.next;
                if self.next < self.written.min(self.window_end) {
                    self.new_first = true;
                    return;
                }
                self.frto = false;
            }
        }
        if recovered {
            let all = config.repairs_all_first && self.board.is_empty();
            if f.sack || all || self.una > self.high || config.recovery == Recovery::NewRenoCareless {
                self.leave_loss();
            }
            return;
        }
        if !f.sack {
            if self.next > self.high && f.duplicate {
                self.count_dupack(f);
            } else if f.advanced {
                self.dupacks = 0;
            }
        }
    }

    fn leave_loss(&mut self) {
        (self.state, self.resend_stamp, self.frto) = (State::Open, 0, false);
    }

    fn may_undo(&self, config: &TcpConfig, s: &Segment) -> bool {
        self.undo_cwnd.is_some() && (self.undo_resends == 0 || self.spurious_by_stamp(config, s))
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
        self.undo_resends = self.board.resent;
    }

    fn undo(&mut self, unmark: bool, event: Event) {
        if let Some((cwnd, ssthresh)) = self.undo_cwnd.take() {
            (self.cwnd, self.ssthresh) = (cwnd.max(self.cwnd), ssthresh.max(self.ssthresh));
        }
        self.resend_stamp = 0;
        if unmark {
            self.dupacks = 0;
            self.board.none_lost();
        }
        self.events.push(event);
    }

    /// Slow start, then a segment a window (RFC 5681 section 3.1, counted in segments as Linux); not of a window that was
    /// not filled.
    fn grow(&mut self, config: &TcpConfig, delivered: u32) {
        let slow_start = self.cwnd < self.ssthresh;
        if config.cwnd_validation && !self.filled && !(slow_start && self.cwnd < 2 * self.most_out) {
            return;
        }
        let mut left = if config.counts_segments { delivered } else { 1 };
        if slow_start {
            let step = left.min(self.ssthresh - self.cwnd);
            self.cwnd = (self.cwnd + step).min(CWND_MOST);
            left -= step;
        }
        if left == 0 {
            return;
        }
        if self.grown >= self.cwnd {
            self.grown = 0;
            self.cwnd = (self.cwnd + 1).min(CWND_MOST);
        }
        self.grown += left;
        if self.grown >= self.cwnd {
            let steps = self.grown / self.cwnd;
            self.grown -= steps * self.cwnd;
            self.cwnd = (self.cwnd + steps).min(CWND_MOST);
        }
    }

    /// After sending, or trying to: whether only the peer's window stands in the way.
    pub fn watch_window(&mut self, config: &TcpConfig, sack: bool) {
        let unsent = self.written.saturating_sub(self.next);
        let least = unsent.min(u64::from(config.mss_bytes));
        let room = self.window_end.saturating_sub(self.next);
        let limited = unsent > 0 && room < least && self.pipe(config, sack) < self.cwnd;
        let state = match () {
            () if !limited => Event::WindowFreed,
            () if self.window_end - self.una < least => Event::WindowClosed,
            () => Event::WindowFilled,
        };
        if state != self.window_state {
            self.window_state = state;
            self.events.push(state);
        }
    }

    /// After sending, or trying to: whether the window was filled.
    pub fn validate(&mut self, config: &TcpConfig, sack: bool, sent: bool) {
        let limited = self.pipe(config, sack) >= self.cwnd;
        let out = self.board.len();
        if (sent || limited) && (self.una >= self.usage_until || limited || (!self.filled && out > self.most_out)) {
            (self.filled, self.most_out, self.usage_until) = (limited, out, self.next);
        }
    }

    /// (Re)start the timer, or stop it when nothing is outstanding.
    pub fn arm(&mut self, config: &TcpConfig, now: Ns, sack: bool) {
        self.timer_is = Timer::Retransmission;
        self.window_probes = 0;
        if self.board.is_empty() {
            self.timer = None;
            return;
        }
        let rto = self.rto.current(self.cwnd);
        self.timer = Some(config.wheel.fires(now, rto));
        if config.tail_loss_probe
            && sack
            && matches!(self.state, State::Open | State::Disorder)
            && self.probed.is_none()
        {
            if let Some(srtt) = self.rto.srtt() {
                let wait = 2 * srtt + if self.board.len() == 1 { config.delayed_ack_timer.max(2 * MS) } else { 2 * MS };
                if self.board.sacked == 0 && wait < rto {
                    self.timer = Some(now + wait);
                    self.timer_is = Timer::TailLossProbe;
                }
            }
        }
    }

    /// Nothing is outstanding: where something is to be sent and the window is closed, ask after it (RFC 9293 section
    /// 3.8.6.1); else ask now and then whether the peer still lives.
    pub fn when_idle(&mut self, config: &TcpConfig, now: Ns) {
        if !self.board.is_empty() {
            return;
        }
        if self.next >= self.written || self.next < self.window_end {
            (self.timer, self.window_probes) = (None, 0);
            if config.keep_alive > 0 && self.una >= 1 {
                self.timer_is = Timer::KeepAlive;
                self.timer = Some(now + config.keep_alive);
            }
            return;
        }
        if self.timer_is == Timer::WindowProbe && self.timer.is_some() {
            return;
        }
        self.timer_is = Timer::WindowProbe;
        self.timer = Some(now + self.rto.backed_off(self.cwnd, self.window_probes));
    }

    /// The timer fired.
    pub fn on_timer(&mut self, config: &TcpConfig, now: Ns, sack: bool) -> Option<Fired> {
        self.timer = None;
        if self.timer_is == Timer::KeepAlive {
            self.when_idle(config, now);
            return Some(Fired::AskWindow);
        }
        if self.timer_is == Timer::WindowProbe {
            let wait = self.rto.backed_off(self.cwnd, self.window_probes);
            self.events.push(Event::WindowProbe { wait });
            self.window_probes += 1;
            self.when_idle(config, now);
            return Some(Fired::AskWindow);
        }
        let first = *self.board.first()?;
        if self.timer_is == Timer::TailLossProbe {
            self.probed = Some(self.next);
            self.timer_is = Timer::Retransmission;
            let last = self.board.iter().next_back().map(|e| e.start)?;
            self.timer = Some(config.wheel.fires(now, self.rto.current(self.cwnd)));
            return Some(Fired::Again(last, Trigger::TailLossProbe));
        }
        let rto = self.rto.current(self.cwnd);
        self.events.push(Event::Timeout { seq: first.start, rto, backoff: self.rto.backoff });
        self.rto.expired(self.cwnd);
        let calm = matches!(self.state, State::Open | State::Disorder);
        if !sack {
            self.dupacks = 0;
        }
        self.board.all_lost(!sack);
        let repairing = self.state == State::Loss && config.repairs_all_first;
        if calm || self.una >= self.high || (self.state == State::Loss && self.expiries == 0 && !repairing) {
            self.remember_for_undo();
            self.undo_of_timeout = true;
            self.prior_cwnd = self.cwnd;
            self.ssthresh = (self.cwnd / 2).max(2);
            if !config.eifel_first_stamp_defect {
                self.resend_stamp = 0;
            }
        }
        self.frto = config.frto && !first.syn && (calm || self.expiries > 0);
        self.new_first = false;
        if !repairing {
            self.cwnd = 1;
        }
        (self.grown, self.prr_out) = (0, 0);
        self.expiries += 1;
        self.high = self.next;
        self.state = State::Loss;
        Some(Fired::Again(first.start, Trigger::Rto))
    }

    /// What to send next, if the windows allow it: a lost segment first, then new data. `nagle`: small segments wait.
    pub fn next_to_send(&mut self, config: &TcpConfig, sack: bool, nagle: bool) -> Option<Next> {
        let pipe = self.pipe(config, sack);
        if !self.new_first {
            if let Some(e) = self.board.next_lost() {
                // Whatever the window says, classic recovery resends, and one by SACK its first (RFC 6675 section 5, 4.3).
                let forced = self.state == State::Recovery && inflates(config) && !(sack && self.resent_fast);
                if pipe < self.cwnd || forced {
                    let trigger = match self.state {
                        State::Loss => Trigger::GoBackN,
                        _ if sack => Trigger::Sack,
                        _ if !self.resent_fast => Trigger::Fast,
                        _ => Trigger::PartialAck,
                    };
                    return Some(Next::Again(e.start, trigger));
                }
            }
        }
        let may = self.state != State::Loss || !config.repairs_all_first;
        let new = if may && pipe < self.cwnd { self.new_segment(config, nagle) } else { None };
        if new.is_none() && std::mem::take(&mut self.new_first) && self.next <= self.high {
            // Nothing new went out: conventional recovery.
            self.frto = false;
            return self.next_to_send(config, sack, nagle);
        }
        new
    }

    fn new_segment(&self, config: &TcpConfig, nagle: bool) -> Option<Next> {
        let limit = self.written.min(self.window_end);
        if self.next < limit {
            let len = (limit - self.next).min(u64::from(config.mss_bytes)) as u32;
            let last = self.next + u64::from(len) == self.written;
            if len < config.mss_bytes && !self.board.is_empty() && !self.small_may_go(config, last, nagle) {
                return None;
            }
            return Some(Next::New { len, fin: self.closed && last });
        }
        (self.closed && self.next == self.written).then_some(Next::New { len: 0, fin: true })
    }

    /// Whether a segment below the MSS may follow others: not one that only the window makes small (silly window, RFC 9293
    /// section 3.8.6.2.1), and not while an earlier one (Nagle), or an earlier small one (Minshall, as Linux), is outstanding.
    fn small_may_go(&self, config: &TcpConfig, last: bool, nagle: bool) -> bool {
        let last = last || !config.silly_window_avoidance;
        let waits = config.nagle && nagle && !self.closed && (!config.minshall || self.small_end > self.una);
        last && !waits
    }

    /// Note new data as sent.
    pub fn sent_new(&mut self, config: &TcpConfig, now: Ns, sent: New) {
        let New { len, syn, fin, psh } = sent;
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
            psh,
        });
        if len > 0 && len < config.mss_bytes {
            self.small_end = end;
        }
        self.next = end;
        self.prr_out += u32::from(self.state == State::Recovery);
    }

    /// The timestamp of the SYN stands for the first resend's until that is set (Linux 2.4's defect).
    pub fn keep_stamp(&mut self, stamp: u32) {
        self.resend_stamp = stamp;
    }

    /// Note a resend; the segment as it was.
    pub fn sent_again(&mut self, now: Ns, start: u64, stamp: u32) -> Option<Entry> {
        let e = self.board.resend(start, now)?;
        self.undo_resends += 1;
        self.resent_fast = true;
        self.prr_out += u32::from(self.state == State::Recovery);
        if self.resend_stamp == 0 {
            self.resend_stamp = stamp;
        }
        Some(e)
    }
}

/// What `next_to_send` found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Again(u64, Trigger),
    New { len: u32, fin: bool },
}

/// What the timer wants sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fired {
    Again(u64, Trigger),
    /// A segment that has no data and makes the peer tell its window.
    AskWindow,
}

/// A segment sent for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct New {
    pub len: u32,
    pub syn: bool,
    pub fin: bool,
    pub psh: bool,
}

#[derive(Debug)]
struct Facts {
    advanced: bool,
    duplicate: bool,
    delivered: u32,
    acked: Acked,
    original_sacked: bool,
    sack: bool,
    /// Segments newly SACKed, and whether any was newly taken for lost.
    news: u32,
    newly_lost: bool,
    /// It reports a duplicate.
    dsack: bool,
}

/// Whether duplicate ACKs inflate the window in a recovery (RFC 5681), instead of a rule for what each ACK lets out.
fn inflates(config: &TcpConfig) -> bool {
    !config.prr && !config.rate_halving
}
