//! One TCP connection: each packet is an ACK for one sender and a transmission of the other.

use super::ack::{Ack, AckKind, AckOutcome};
use super::handshake::Handshake;
use super::intervals::{ACCESS_NS, TICK_NS};
use super::ip_order::{Counters, Step};
use super::kinds::{Kind, Phase, State, Transmission};
use super::output::Out;
use super::piece::Piece;
use super::rows::SegmentRow;
use super::send::{Sent, SentOutcome};
use super::sender_state::SenderState;
use super::sender_view::Passed;
use super::timer::{FIRST_TIMEOUT_NS, MOST_ACK_DELAY_NS};
use super::trigger::LEAST_SYN_NS;
use super::wait_state::{delayed_ack, sends_at_once, wait_state};
use super::window::window_bytes;
use crate::notes::NoteKind;
use crate::packet::{flags, Packet, Tcp};

/// Times are limited to 73 years after the capture's start, so that sums cannot overflow.
const LAST_T_NS: i64 = 1 << 61;

#[derive(Debug, Default)]
pub struct Connection {
    pub id: u32,
    pub senders: [SenderState; 2],
    pub start: i64,
    pub start_packet: u64,
    pub last_t: i64,
    pub handshake: Handshake,
    pub handshake_done: bool,
    pub fins: u8,
    pub reset: bool,
    /// Direction according to the tap: packets of a that it marks as outgoing, and as incoming.
    pub local_votes: [u32; 2],
    /// Captured by a sniffer.
    pub on_air: bool,
}

impl Connection {
    pub fn new(id: u32, start: i64, packet: u64) -> Self {
        let mut c = Connection { id, start, start_packet: packet, last_t: start, ..Default::default() };
        c.senders[1].reverse = true;
        for h in &mut c.senders {
            (h.expired_at, h.pair_least, h.pair_loop) = (-1, i64::MAX, i64::MAX);
        }
        c
    }

    pub fn closed(&self) -> bool {
        self.reset || self.fins >= 2
    }

    /// Whether a packet begins a new connection on the same addresses: a SYN with another initial sequence number.
    pub fn is_reuse(&self, tcp: &Tcp, reverse: bool) -> bool {
        let sender = &self.senders[usize::from(reverse)];
        let other = &self.senders[usize::from(!reverse)];
        if tcp.flags & flags::SYN == 0 {
            return false;
        }
        let differs = sender.seq.base().is_some_and(|b| b != tcp.seq);
        if tcp.flags & flags::ACK == 0 {
            // A SYN of the other side after the end of the connection is a new one, too.
            return differs || (!sender.seq.is_set() && other.seq.is_set() && !other.syn_seen);
        }
        differs && self.closed()
    }

    /// Process one packet and write its row. `counters`: what its host's ids show.
    pub fn observe(
        &mut self,
        p: &Packet,
        tcp: &Tcp,
        reverse: bool,
        t_ns: Option<i64>,
        counters: Counters,
        out: &mut Out<'_>,
    ) {
        // The state uses a clock that never runs backwards; the row keeps the original timestamp.
        let t = t_ns.unwrap_or(self.last_t).min(LAST_T_NS).max(self.last_t);
        self.last_t = t;
        let payload = p.payload_bytes.unwrap_or(0);
        self.set_bases(tcp, reverse);
        self.learn_options(tcp, reverse, p);
        let [a, b] = &mut self.senders;
        let (me, peer) = if reverse { (b, a) } else { (a, b) };
        let sack_ok = me.sack_permitted && peer.sack_permitted || (!me.syn_seen && !peer.syn_seen);
        let rel_seq = me.seq.rel(tcp.seq);
        let has_ack = tcp.flags & flags::ACK != 0;
        let rel_ack = if has_ack { peer.seq.rel(tcp.ack) } else { None };
        let (syn, fin, rst) = (tcp.flags & flags::SYN != 0, tcp.flags & flags::FIN != 0, tcp.flags & flags::RST != 0);
        let span = i64::from(payload) + i64::from(syn) + i64::from(fin);
        peer.resets = if rst { peer.resets.saturating_add(1) } else { 0 };

        me.tally.packets += 1;
        me.tally.wire_bytes += u64::from(p.wire_bytes);
        me.tally.payload_bytes += u64::from(payload);
        me.tally.first_t.get_or_insert(t);
        if me.tally.first_packet == 0 {
            me.tally.first_packet = p.number;
        }
        me.tally.last_t = t;
        me.tally.ttl = p.ip_ttl.unwrap_or(me.tally.ttl);

        let mut row = SegmentRow {
            packet: p.number,
            time_ns: p.time_ns,
            t_ns,
            flow: self.id,
            reverse,
            kind: Kind::Ack,
            rel_seq,
            rel_ack,
            len: payload,
            timestamps: tcp.timestamps,
            transmission: Transmission::First,
            lost_before_tap: false,
            trigger: None,
            evidence: None,
            backoff: None,
            copy: Some(0),
            since_first_ns: None,
            since_previous_ns: None,
            rtt_ns: None,
            rtt_ambiguous: None,
            flight: None,
            window: None,
            dupacks: 0,
            srtt_ns: None,
            rttvar_ns: None,
            rto_ns: None,
            phase: None,
        };
        let repeats = if span > 0 { rel_seq < Some(me.end) } else { rel_ack <= Some(peer.una) };
        if let Some(transmission) = me.find_copy(p, tcp, t, repeats, peer.ts_clock.tick()) {
            row.transmission = transmission;
            row.kind = Kind::plain(tcp.flags, payload);
            me.tally.duplicates[transmission as usize - Transmission::NetworkDuplicate as usize] += 1;
            let number = out.segments.push(&row, false);
            me.remember_duplicate(transmission, number, rel_seq, span);
            return;
        }
        let mut sack = [(0, 0); 4];
        let blocks = usize::from(tcp.sack_blocks).min(4);
        for (slot, (left, right)) in sack.iter_mut().zip(&tcp.sack[..blocks]) {
            *slot = (peer.seq.rel(*left).unwrap_or(0), peer.seq.rel(*right).unwrap_or(0));
        }
        let ack = rel_ack.filter(|_| !rst).map(|ack| Ack {
            packet: p.number,
            t,
            ack,
            raw_window: tcp.window,
            window: window_bytes(me, peer, tcp),
            sack: &sack[..blocks],
            timestamps: tcp.timestamps,
            pure: span == 0,
            syn,
            sack_ok,
        });
        let intact = p.intact == Some(true);
        let admitted = syn
            || (rel_seq.is_none_or(|start| me.admits_segment(start, start + span, intact))
                && ack.as_ref().is_none_or(|a| peer.admits_ack(a, intact)));
        if !admitted {
            out.notes.add(NoteKind::SequenceJump, p.number, 0);
            row.kind = Kind::plain(tcp.flags, payload);
            (row.transmission, row.evidence) = me.what_was_rejected(rel_seq, span, tcp);
            out.segments.push(&row, false);
            return;
        }
        if let (Some(start), true) = (rel_seq, me.held_ack.is_some()) {
            me.settle_held_ack(start, out);
        }
        if syn {
            me.open(peer, t, has_ack, out.hosts);
        }
        let paused = me.previous_packet.is_some_and(|p| t - p >= FIRST_TIMEOUT_NS);
        let above = rel_seq.map_or(0, |r| r - me.captured_end);
        let missing = me.ids.missing(&counters);
        me.ids.host = counters;
        let next = if above > 0 || paused { None } else { me.ids.follow(p.ip_id) };
        let order = next.unwrap_or_else(|| {
            me.ids.observe(Step {
                ip_id: p.ip_id,
                gap: if above > 0 { (above + me.mss() - 1) / me.mss() } else { 0 },
                new: span > 0 && rel_seq.is_some() && above >= 0,
                silent: paused && me.phase == Phase::Open && rel_seq == Some(me.end),
                quiet: has_ack && !counters.is_shared() && me.nothing_to_say(tcp, rel_ack, peer),
                missing,
            })
        });
        if me.ids.unexplained && !me.ids.shared {
            me.doubt_counter(rel_seq, t);
        }
        if me.ids.step_missing && !counters.is_shared() {
            peer.acks_missing = Some(t);
        }
        me.stated = has_ack.then_some((tcp.ack, tcp.window));
        // Without the ACK flag the echo is not valid (RFC 7323 section 3.2).
        if let (Some(stamps), true) = (tcp.timestamps, has_ack) {
            me.own_clock_tick = peer.ts_clock.tick();
            me.note_echo(t, stamps, span > 0);
        }
        let previous_packet = me.previous_packet.replace(t);

        // The state of both senders until this packet.
        let handshake_done = self.handshake_done;
        // Only senders of data have intervals.
        let state_of = |h: &SenderState, sends: bool| match h.timeline {
            None if !sends => (State::Idle, None),
            _ => wait_state(h, handshake_done, t),
        };
        if let (Some(a), false) = (&ack, peer.slow_start.over) {
            if a.ack > peer.una && peer.una > 0 && peer.view.is_none() {
                peer.count_start_ack(t, a.ack - peer.una);
            }
        }
        let before = [state_of(me, payload > 0), state_of(peer, false)];
        let last_send_of_peer = peer.last_send;

        // Filled in place: copying a new outcome for every packet is slow.
        let mut acked = AckOutcome::NONE;
        let mut is_ack = false;
        let repaired = peer.phase;
        if let Some(a) = &ack {
            is_ack = true;
            peer.on_ack(a, &mut acked, out);
            if acked.kind == AckKind::Advance && span == 0 {
                me.note_ack_delay(t, &acked, peer, last_send_of_peer, out);
            }
        }
        let ends = peer.phase != repaired && matches!(repaired, Phase::Recovery | Phase::Loss);
        // In place, too.
        let start = rel_seq.unwrap_or(0);
        let s = Sent {
            packet: p.number,
            t,
            start,
            end: start + span,
            len: payload,
            ip_id: p.ip_id,
            order,
            tsval: tcp.timestamps.map(|x| x.0),
            control: syn || fin,
            more: payload > 0 && tcp.flags & (flags::PSH | flags::FIN) == 0,
            sack_ok: sack_ok || (me.may_use_sack() && peer.may_use_sack()),
        };
        let mut sent: Option<Option<Box<SentOutcome>>> = None;
        let mut kind = Kind::plain(tcp.flags, payload);
        if rel_seq.is_some() && !rst {
            // Keep-alives and probes repeat the byte before the window, or push one byte into a closed one.
            let closed = me.window == Some(0) || me.raw_window == Some(0);
            if !syn && !fin && payload <= 1 && start == me.una - 1 && me.end > 1 {
                kind = if closed && !me.drained() { Kind::WindowProbe } else { Kind::KeepAlive };
                me.keepalive_open = true;
            } else if payload > 0 && payload <= 2 && closed && start == me.una && me.end - me.una <= 2 {
                kind = Kind::WindowProbe;
                me.keepalive_open = true;
            }
            if matches!(kind, Kind::KeepAlive) {
                me.tally.keepalives += 1;
            } else if matches!(kind, Kind::WindowProbe) {
                me.tally.window_probes += 1;
                if start == me.end && payload > 0 {
                    me.on_send(&Sent { tsval: None, control: false, ..s }, out);
                }
            } else if span == 0 {
                if me.note_sent_until(&s) {
                    me.opened_by_timer(self.handshake.answered.filter(|_| !reverse), &s, out);
                }
            } else {
                me.segment = me.segment.max(i64::from(payload));
                me.previous_packet = previous_packet;
                me.peer_waits = peer.flight() > 0;
                if s.start < me.end || me.view.is_some() || me.may_be_unseen() {
                    me.sent_before_at = me.sent_at;
                    me.sent_at = s.tsval.and_then(|tsval| peer.ts_clock.made(tsval));
                    if let Some(sent) = me.sent_at.filter(|_| me.view.is_some()) {
                        me.stall.passes(t, sent, me.sent_before_at);
                    }
                }
                sent = Some(me.on_send(&s, out));
                me.previous_packet = Some(t);
            }
        }
        if is_ack && kind == Kind::Ack {
            kind = match acked.kind {
                AckKind::Same | AckKind::Duplicate if std::mem::take(&mut peer.keepalive_open) => Kind::KeepAliveAck,
                AckKind::Duplicate => Kind::DupAck,
                AckKind::Window => Kind::WindowUpdate,
                _ => Kind::Ack,
            };
        }
        row.kind = kind;

        // A repeated SYN may be answered by a plain ACK: the other end has not heard of the SYN+ACK yet.
        let waits = reverse && span == 0 && self.handshake.synack.is_some();
        if syn || !(self.handshake_done || waits) {
            // Data that comes late, and not next after the SYN: packets before it may be lost, and a timer may have sent it.
            let late = self.handshake.synack.is_some_and(|at| t - at >= LEAST_SYN_NS);
            let at_once = span == 0 || !late || self.senders[usize::from(reverse)].ids.next;
            self.follow_handshake(t, tcp, reverse, at_once);
        }
        if payload > 0 && self.senders[usize::from(reverse)].timeline.is_none() {
            let rest_ns = if p.mpdu.is_some() { ACCESS_NS } else { TICK_NS };
            self.begin_intervals(reverse, t, p.number, rest_ns, out);
        }
        let [a, b] = &mut self.senders;
        let (me, peer) = if reverse { (b, a) } else { (a, b) };

        // The time until this packet belongs to the state that each sender was in.
        let piece = |state: State, timeout, h: &SenderState, acked: i64, rtt: Option<i64>| Piece {
            start: 0,
            end: t,
            state,
            timeout,
            first_packet: p.number,
            last_packet: p.number,
            packets: 1,
            acked: u64::try_from(acked).unwrap_or(0),
            flight: h.flight_u32(),
            window: h.window,
            rtt_sum: rtt.unwrap_or(0),
            rtt_count: i64::from(rtt.is_some()),
            rtt_least: h.rtt_floor().unwrap_or(i64::MAX),
        };
        if let Some(mut timeline) = me.timeline.take() {
            let trip = me.view.as_ref().and_then(|v| v.round_trip());
            timeline.pass(piece(me.on_path(t, timeline.now(), before[0].0), before[0].1, me, 0, trip));
            if let Some(o) = &sent {
                me.follow_view();
                let echo = tcp.timestamps.filter(|_| has_ack).map(|x| x.1);
                if me.view.is_some() {
                    me.follow_sender(&s, o.as_deref(), echo, &mut timeline);
                } else if !me.judge_in_queue(&s, o.as_deref(), echo, &peer.ts_clock, &mut timeline, out) {
                    let by_ack = o.as_deref().is_some_and(SentOutcome::is_by_ack);
                    if !by_ack && !sends_at_once(me, timeline.rest_ns(), t) {
                        me.judge_silence(&s, o.is_none(), echo, &out.busy, &mut timeline);
                    } else if o.is_none() && me.released_small(&s) {
                        timeline.sent_all(me.tally.last_send.unwrap_or(t));
                    }
                }
                if o.is_none() {
                    me.note_write(&s, &out.busy, &mut timeline);
                    if fin {
                        // Without data it shows that there was no more after the latest bytes.
                        let since =
                            if payload == 0 { me.last_advance.min(me.tally.last_send) } else { me.last_advance };
                        timeline.sent_all(since.unwrap_or(0));
                    }
                }
            } else if kind == Kind::WindowProbe {
                timeline.probed = true;
            }
            me.timeline = Some(timeline);
        }
        if let Some(mut timeline) = peer.timeline.take() {
            let o = &acked;
            let silent = last_send_of_peer.map_or(0, |s| t - s);
            // An ACK that comes with data or a FIN waited for the application: the receiver had it ready (RFC 1122 section 4.2.3.2).
            let alone = span == 0;
            peer.learn_from_bursts(t, o, out.pairs);
            let quiet = out.busy.is_first_since(t - silent);
            let stall = alone.then(|| delayed_ack(peer, o, before[1].0, (silent, t - timeline.now()), quiet)).flatten();
            if o.rtt.is_some_and(|rtt| rtt < peer.pair_least) {
                peer.pair_least = out.pairs.least(peer.pair, o.rtt);
            }
            if peer.view.is_none() {
                peer.note_ack_of_path(t, o, &mut timeline);
            }
            peer.settle_first_delayed(o, &mut timeline);
            if let Some((stall, held)) = stall {
                let state = peer.on_path(t, timeline.now(), before[1].0);
                timeline.pass(Piece { end: t - held - stall, packets: 0, ..piece(state, before[1].1, peer, 0, None) });
                timeline.pass(Piece { end: t - held, packets: 0, ..piece(State::DelayedAck, None, peer, 0, None) });
                timeline.pass_stall(
                    state,
                    piece(if held > 0 { state } else { State::DelayedAck }, None, peer, o.acked, o.rtt),
                );
                peer.suppose_first_delayed(t, t - held - stall, state);
                if peer.ns_per_kib.is_none() {
                    timeline.doubt_stall(peer.flight_sent);
                }
            } else {
                let (state, timeout) = if o.unseen { (State::NotCaptured, None) } else { before[1] };
                let state = peer.on_path(t, timeline.now(), state);
                if o.unseen && before[1].0 == State::Idle {
                    // What the tap missed was sent at most a round trip and a delayed ACK before.
                    let idle_until = t - peer.tally.rtt_max.saturating_add(MOST_ACK_DELAY_NS);
                    if peer.tally.rtt_samples > 0 && idle_until > timeline.now() {
                        timeline.pass(Piece { end: idle_until, packets: 0, ..piece(State::Idle, None, peer, 0, None) });
                    }
                }
                timeline.pass(piece(state, timeout, peer, o.acked, o.rtt.filter(|_| peer.view.is_none())));
                peer.doubt_late_ack(t, &mut timeline);
                o.rtt.into_iter().for_each(|rtt| timeline.settle_answer(rtt, 0));
                peer.settle_kept_back(t, o, &mut timeline);
                if let Some(ns_per_kib) = peer.learn_speed(o) {
                    timeline.adjust_stall(ns_per_kib);
                }
            }
            if o.kind != AckKind::Absurd && o.kind != AckKind::Old {
                // All data was acknowledged before: an ACK that repeats this is no part of the transfer.
                if o.kind == AckKind::Advance || before[1].0 != State::Closing {
                    timeline.acked();
                }
                if let (Some(view), Some(a)) = (&mut peer.view, &ack) {
                    let tsval = a.timestamps.map(|x| x.0);
                    view.note_ack(Passed { t: a.t, ack: a.ack, window: a.window, tsval, ends }, o.rtt);
                }
            }
            timeline.trim(out.intervals, self.id, !reverse);
            peer.timeline = Some(timeline);
        }

        if let Some(None) = sent {
            me.after_first(&s, Transmission::First, &mut row, out);
        } else if let Some(Some(o)) = sent {
            row.transmission = o.transmission;
            row.lost_before_tap = o.lost_before_tap;
            row.trigger = o.trigger;
            row.evidence = o.evidence;
            row.backoff = o.backoff;
            row.copy = Some(o.copy);
            row.since_first_ns = o.t_first.map(|f| t - f);
            row.since_previous_ns = o.t_previous.map(|f| t - f);
            me.after_send(&s, &o, &mut row, out);
        } else {
            let subject = if span > 0 || rst { me } else { peer };
            subject.describe(&mut row);
            if is_ack {
                let o = &acked;
                row.rtt_ns = o.rtt;
                row.rtt_ambiguous = o.ambiguous;
                row.dupacks = if o.kind == AckKind::Duplicate { subject.dupacks } else { 0 };
            }
            out.segments.push(&row, false);
            self.reset |= rst;
            return;
        }
        if fin {
            let sender = &mut self.senders[usize::from(reverse)];
            if sender.fin_end.is_none() {
                sender.fin_end = rel_seq.map(|s| s + span);
                self.fins += 1;
            }
        }
    }

    fn set_bases(&mut self, tcp: &Tcp, reverse: bool) {
        let [a, b] = &mut self.senders;
        let (me, peer) = if reverse { (b, a) } else { (a, b) };
        let syn = tcp.flags & flags::SYN != 0;
        if !me.seq.is_set() {
            // Without the SYN the first byte seen counts as number 1, as in Wireshark.
            let first = i64::from(!syn);
            me.seq.set(tcp.seq, first);
            (me.una, me.end) = (first, first);
        }
        me.syn_seen |= syn;
        if tcp.flags & flags::ACK != 0 && tcp.flags & flags::RST == 0 && !peer.seq.is_set() {
            peer.seq.set(tcp.ack, 1);
            (peer.una, peer.end) = (1, 1);
        }
    }

    /// Keep only what an idle sender may still need.
    pub fn compact(&mut self) {
        for sender in &mut self.senders {
            sender.scoreboard.compact();
            sender.past = Default::default();
            sender.recent.compact();
        }
    }

    /// Close the connection and write the rows that are left.
    pub fn finish(&mut self, now: i64, out: &mut Out<'_>) {
        out.flow = self.id;
        let t = self.last_t;
        for sender in &mut self.senders {
            sender.decide_all(t, out);
            let reverse = sender.reverse;
            if let Some(mut timeline) = sender.timeline.take() {
                sender.end_in_queue(now, self.handshake.longest_trip(), &mut timeline);
                sender.end_view(now, &mut timeline);
                timeline.settle_answer(sender.least_of_others(), sender.outstanding_ns(t));
                timeline.finish(out.intervals, self.id, reverse);
            }
        }
    }
}
