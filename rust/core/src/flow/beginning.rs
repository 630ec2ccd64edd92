//! The beginning of a connection, and of a direction's intervals.

use super::connection::Connection;
use super::intervals::{Timeline, TICK_NS};
use super::kinds::State;
use super::opening_time::{OpeningTime, Unheard};
use super::output::Out;
use super::piece::Piece;
use super::tap::{by_handshake, by_loops, came_from_link, on_link_of, Tap};
use crate::packet::{flags, Packet, Tcp};

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
                    (sender.opening_trip, sender.opened) = (h.took(sender.reverse), h.ack);
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
        let unheard =
            Unheard { early: opener.ids.early, opener_at_tap: opener.is_at_tap(), trip: answerer.pair_least / 2 };
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
        let syn = self.handshake.syn.or(self.handshake.synack);
        sender.syn_lost = syn.is_some() && self.handshake.timers(reverse).is_some() && !self.handshake.first_answered;
        let piece = Piece {
            start: 0,
            end: 0,
            state: State::Handshake,
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
        let mut opening = OpeningTime {
            timeline: Timeline::new(self.start, rest_ns),
            piece,
            handshake: &self.handshake,
            sender: &self.senders[usize::from(reverse)],
            reverse,
            t,
            done: self.handshake.ack.unwrap_or(t).max(syn.unwrap_or(t)).min(t),
            loop_ns: loops[0],
        };
        if syn.is_some() {
            opening.pass_handshake(unheard, out);
        }
        let timeline = opening.pass_rest();
        self.senders[usize::from(reverse)].timeline = Some(Box::new(timeline));
    }
}
