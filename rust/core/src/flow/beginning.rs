//! The beginning of a connection, and of a direction's intervals.

use super::connection::Connection;
use super::intervals::{Timeline, TICK_NS};
use super::kinds::State;
use super::output::Out;
use super::piece::Piece;
use super::tap::{by_handshake, by_loops, came_from_link, on_link_of, Tap};
use super::timer::LEAST_TIMEOUT_NS;
use crate::packet::{flags, Packet, Tcp};

/// The first timeout of a SYN.
pub const SYN_TIMEOUT_NS: i64 = 1_000_000_000;
/// The longest in use: 3 s (RFC 1122 section 4.2.3.1), and a tenth for ticks.
pub const SYN_TIMEOUT_MAX_NS: i64 = 3_300_000_000;

impl Connection {
    /// Learn the options of a SYN, whether the sender uses timestamps, and on which side of the tap it is.
    #[inline]
    pub fn learn_options(&mut self, tcp: &Tcp, reverse: bool, p: &Packet) {
        if tcp.flags & flags::SYN != 0 {
            let me = &mut self.senders[usize::from(reverse)];
            me.mss = tcp.mss.or(me.mss);
            me.wscale = tcp.wscale.or(me.wscale);
            me.sack_permitted |= tcp.sack_permitted;
            me.options_cut |= tcp.options_cut;
            let [a, b] = self.senders.each_ref().map(|h| h.mss);
            let accepted = a.zip(b).map_or(0, |(a, b)| i64::from(a.min(b)));
            self.senders.iter_mut().for_each(|h| h.accepted = accepted);
        }
        self.senders[usize::from(reverse)].timestamps |= tcp.timestamps.is_some();
        self.on_air |= p.mpdu.is_some();
        if let Some(outgoing) = p.outgoing {
            // The votes are for a being local.
            self.local_votes[usize::from(outgoing != reverse)] += 1;
        }
    }

    #[cold]
    pub fn follow_handshake(&mut self, t: i64, tcp: &Tcp, reverse: bool, at_once: bool) {
        let h = &mut self.handshake;
        if tcp.flags & flags::SYN != 0 {
            h.opening(t, tcp.flags & flags::ACK != 0, tcp.timestamps);
        } else if !self.handshake_done {
            if h.synack.is_some() && h.syn.is_some() && !reverse && h.ack.is_none() {
                h.done(t, tcp.timestamps);
                // The time between two SYN+ACKs is a timer, not a path.
                let whole = h.parts().filter(|_| at_once).map(|(to_b, to_a)| to_b.saturating_add(to_a));
                for sender in &mut self.senders {
                    sender.rtt_whole = whole;
                    let tap = by_handshake(h, sender.reverse);
                    sender.near_receiver = tap == Some(Tap::NearReceiver);
                    sender.near_sender = tap == Some(Tap::NearSender);
                    sender.loop_syn = h.longest_loop(sender.reverse);
                }
            }
            self.handshake_done = true;
        }
    }

    /// The first data of a direction: its intervals start with the connection.
    #[cold]
    pub fn begin_intervals(&mut self, reverse: bool, t: i64, packet: u64, rest_ns: i64, out: &mut Out<'_>) {
        for sender in &mut self.senders {
            sender.pair_least = out.pairs.least(sender.pair, sender.measured_least());
        }
        // What goes on from the tap to this sender and comes back is data, or ACKs, of its peer.
        let back = self.senders[usize::from(!reverse)].pair;
        // On the link of a host that sent without a pause since it was answered: it is near, and its own queue kept what it sends now.
        let answered = self.handshake.answered.filter(|_| !reverse && rest_ns <= TICK_NS);
        let behind_own = answered.is_some_and(|at| out.busy.has_no_pause(at)) && on_link_of(&self.senders, reverse);
        if behind_own {
            out.hosts.loop_ns(self.senders[usize::from(reverse)].host, Some(0));
        }
        let mut loops = [reverse, !reverse].map(|side| {
            let s = &self.senders[usize::from(side)];
            out.hosts.loop_ns(s.host, s.longest_loop())
        });
        // In a capture of one host's packets that host is near, however long its own queue always keeps what it sends, unless its peers are.
        let places = self.senders.each_ref().map(|s| s.host);
        for (side, i) in [reverse, !reverse].into_iter().map(usize::from).enumerate() {
            let own = out.hosts.is_of_all(places[i], places[1 - i]) && came_from_link(&self.senders[i]);
            if own && rest_ns <= TICK_NS && loops[1 - side] > TICK_NS {
                loops[side] = out.hosts.loop_ns(places[i], Some(0));
            }
        }
        let [opener, answerer] = &self.senders;
        let (early, opener_at_tap, trip_to_opener) = (opener.ids.early, opener.is_at_tap(), answerer.pair_least / 2);
        let sender = &mut self.senders[usize::from(reverse)];
        // Frames wait for the air between the sender and a sniffer, however near it is.
        sender.sniffed = rest_ns > TICK_NS;
        let near = by_loops(loops);
        sender.at_host = loops[0] <= TICK_NS && near != Tap::NearReceiver;
        // Other connections showed an end to be near that was slow in this handshake, or behind its own queue.
        let known = !sender.sniffed && sender.longest_loop().is_some() && loops.iter().all(|l| *l < i64::MAX);
        match near {
            Tap::NearSender if known => (sender.near_sender, sender.near_receiver) = (true, false),
            Tap::NearReceiver if known => (sender.near_sender, sender.near_receiver) = (false, true),
            _ => {}
        }
        sender.follow_view();
        // The answer to its SYN is the first of its round trips. Away from it the tap has measured a part of one.
        let whole = sender.measured_least().filter(|_| sender.view.is_none());
        sender.late = whole.is_none_or(|least| least - sender.pair_least > sender.pair_least / 2);
        sender.pair_loop = out.pairs.least(back, sender.loop_ns());
        let mut timeline = Timeline::new(self.start, rest_ns);
        let piece = |end, state| Piece {
            start: 0,
            end,
            state,
            timeout: None,
            first_packet: self.start_packet,
            last_packet: packet,
            packets: 0,
            acked: 0,
            flight: 0,
            window: None,
            rtt_sum: 0,
            rtt_count: 0,
            rtt_least: i64::MAX,
        };
        if let Some(syn) = self.handshake.syn.or(self.handshake.synack) {
            let done = self.handshake.ack.unwrap_or(t).max(syn).min(t);
            // Away from the sender, a copy of its SYN that passes after the answer, and later than a first timer sends it: a queue held it,
            // and the sender may have read the answer long before.
            let answered = self.handshake.answered.filter(|_| !sender.near_sender && !reverse);
            let timers = self.handshake.timers(reverse);
            sender.syn_lost = timers.is_some() && !self.handshake.first_answered;
            let held = |first: i64, answer| first > answer && first - timeline.now() > SYN_TIMEOUT_MAX_NS;
            let held_since = answered.zip(timers).and_then(|(answer, timers)| held(timers.0, answer).then_some(answer));
            if let Some(answer) = held_since {
                timeline.pass(piece(answer.min(t), State::Handshake));
                timeline.pass(piece(done, State::Undecided));
            } else if let Some((first, last)) = timers {
                // A SYN's first timer takes 1 s to 3 s (RFC 6298 section 2.1): a longer one had expired before, and the tap missed that.
                let began = timeline.now();
                if first - began > SYN_TIMEOUT_MAX_NS {
                    timeline.pass(piece((began + SYN_TIMEOUT_NS).min(t), State::RtoWait));
                    timeline.pass(piece((began + SYN_TIMEOUT_MAX_NS).min(t), State::Undecided));
                } else {
                    timeline.pass(piece(first.min(t), State::RtoWait));
                }
                timeline.pass(piece(last.min(t), State::BackoffWait));
            }
            // At the end that answered the SYN: for a timer's time it hears nothing, and by the ids packets are missing: an ACK, and data that a
            // timer repeated; or only the ACK, and the application was late, or the answer to a repeated SYN+ACK.
            let far = if reverse { !opener_at_tap } else { !sender.is_at_tap() };
            let missing = far && early > 0 && timers.is_none() && self.handshake.last_answer_timer().is_none();
            if let Some(at) = self.handshake.answered.filter(|at| missing && done - at >= LEAST_TIMEOUT_NS) {
                let trip = if trip_to_opener * 2 < done - at { trip_to_opener } else { 0 };
                timeline.pass(piece(if reverse { at } else { at + trip }, State::Handshake));
                timeline.pass(piece(done - trip, if early > 1 { State::RtoWait } else { State::Undecided }));
            }
            // Away from the sender: its SYN's timer has expired meanwhile (RFC 6298 section 2.1), and the copies have not come here.
            // A sender near the tap answers the SYN+ACK at once; if it seems not to, it is not near, or the SYN+ACK was lost after the tap.
            let late = !reverse && self.handshake.answered.is_some_and(|t| done - t >= SYN_TIMEOUT_NS);
            let at_tap = sender.is_at_tap();
            let silent = (!at_tap || late) && done - timeline.now() >= SYN_TIMEOUT_NS;
            // A sender at the tap answers a SYN+ACK at once: what passes later waited in its host's queue, above the tap. In a shorter wait no
            // timer of lost data expires.
            let answered = self.handshake.answered.filter(|at| at_tap && !reverse && *at <= done);
            if let Some(at) = answered {
                out.hosts.note_delay(sender.host, done, done - at, true);
            }
            let opened = match answered {
                Some(at) if done - at > rest_ns && (t - at < LEAST_TIMEOUT_NS || out.busy.delays(at, t)) => {
                    Some((at, if t - done <= rest_ns { t } else { done }, State::SlowStart))
                }
                Some(at) if sender.at_host && done - at >= LEAST_TIMEOUT_NS => Some((at, done, State::Undecided)),
                _ => None,
            };
            // A SYN+ACK that its timer repeated is answered with data, and at once: the earlier ones were lost, or what they caused, and timers
            // ran. What comes later may have waited in a queue.
            let repeated = self.handshake.last_answer_timer().filter(|at| {
                silent
                    && !reverse
                    && (timeline.now()..=done).contains(at)
                    && done - at < LEAST_TIMEOUT_NS
                    && t - done <= rest_ns
            });
            if let Some(at) = repeated.filter(|_| opened.is_none()) {
                timeline.pass(piece(at, if timers.is_some() { State::BackoffWait } else { State::RtoWait }));
            }
            let unknown = silent && opened.is_none() && repeated.is_none();
            let state = if unknown { State::Undecided } else { State::Handshake };
            timeline.pass(piece(opened.map_or(done, |o| o.0), state));
            // The answer to the first of many SYNs was late: otherwise each had an answer, and all of those were lost.
            let few = timers.is_none_or(|(first, last)| first == last);
            if at_tap && !reverse && (few || self.handshake.later_answered()) {
                timeline.doubt_answer();
            }
            if let Some((_, end, state)) = opened {
                timeline.pass(piece(end, state));
            }
        }
        let sender = &self.senders[usize::from(reverse)];
        let hears = timeline.now().saturating_add(sender.hears_late(rest_ns)).min(t);
        if hears > timeline.now() {
            timeline.pass(piece(hears, State::Undecided));
        }
        if let Some((closed, opened)) =
            sender.closed.zip(sender.reopened).filter(|(c, o)| c < o && *o >= timeline.now())
        {
            // The capture began later than the connection: its data waited for the window, and is sent as soon as that opens.
            if t - opened <= rest_ns {
                timeline.pass(piece(closed, State::Idle));
                timeline.pass(piece(t, State::ZeroWindow));
            }
        }
        timeline.pass(piece(t, State::Idle));
        self.senders[usize::from(reverse)].timeline = Some(Box::new(timeline));
    }
}
