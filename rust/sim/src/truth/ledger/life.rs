//! The life of one direction of a connection, divided into categories.

use super::below::Below;
use super::spans::Spans;
use crate::engine::Ns;
use crate::packet::PacketFate;
use crate::tcp::{Trigger, Wait};
use crate::truth::categories::Category;
use crate::truth::codes::trigger;
use crate::truth::trips::{Place, Trip, NEVER};
use crate::truth::PacketRow;

/// What is known of one direction.
pub(super) struct Direction<'a> {
    pub packets: &'a [PacketRow],
    /// Its packets, and those of the other direction, by id.
    pub sent: &'a [u32],
    pub back: &'a [u32],
    pub waits: &'a [(Ns, Wait)],
    /// Times in which its receiver delayed an ACK.
    pub delays: &'a [(Ns, Ns)],
    /// Expiries of its timer, and of the peer's: time, and first outstanding byte.
    pub timeouts: &'a [(Ns, u64)],
    pub peer_timeouts: &'a [(Ns, u64)],
    pub trips: &'a [Trip],
    pub below: &'a Below,
}

type Row = (Category, Ns, Ns);

/// A link that idles for no larger part of the time in which it sends is full: more data at once would gain no more than that.
const IDLE_PART: Ns = 10;

/// A packet's stay at a link, with its queue. `starts`: since when the link sends it, or tries to, or a station has it in its MAC.
/// `arrived`: data at the receiver.
struct Stay {
    place: Place,
    enters: Ns,
    starts: Ns,
    leaves: Ns,
    arrived: Ns,
}

/// The time that has no category yet, and the rows so far.
struct Canvas {
    left: Spans,
    rows: Vec<Row>,
}

impl Canvas {
    fn paint(&mut self, category: Category, time: &Spans) {
        let mine = self.left.and(time);
        if !mine.is_empty() {
            self.left = self.left.without(&mine);
            self.rows.extend(mine.0.iter().map(|(a, b)| (category, *a, *b)));
        }
    }
}

fn is_probe(p: &PacketRow) -> bool {
    p.span > 0 && p.trigger == trigger(Trigger::TailLossProbe)
}

impl Direction<'_> {
    /// Intervals without a gap, in order.
    pub fn ledger(&self) -> Vec<Row> {
        let acks = self.advances();
        let Some((start, end)) = self.life() else { return Vec::new() };
        let during = |which: fn(Wait) -> bool| self.during(which, start, end);
        let mut canvas = Canvas { left: Spans::of(vec![(start, end)]), rows: Vec::new() };
        self.handshake(&mut canvas, &during(|w| w == Wait::Handshake));
        canvas.paint(Category::Unknown, &during(|w| w == Wait::Closed));
        canvas.paint(Category::Application, &during(|w| w == Wait::Application));
        canvas.paint(Category::ReceiverWindow, &during(|w| w == Wait::ClosedWindow));
        let (waits, backoffs) = self.timers(&acks, end);
        canvas.paint(Category::RtoWait, &waits);
        canvas.paint(Category::RtoBackoff, &backoffs);
        for (wait, category) in [(Wait::Loss, Category::LossRecovery), (Wait::Recovery, Category::FastRecovery)] {
            let (spurious, real) = self.recoveries(wait, &acks, end);
            canvas.paint(Category::SpuriousRecovery, &spurious);
            canvas.paint(category, &real);
        }
        let blocked = during(|w| matches!(w, Wait::Window | Wait::SlowStart | Wait::Congestion | Wait::SmallSegment));
        let delayed = Spans::of(self.delays.to_vec()).and(&blocked);
        if !delayed.is_empty() {
            // Nothing is under way, data or ACK: only the receiver makes the sender wait.
            canvas.paint(Category::DelayedAck, &delayed.without(&Spans::of(self.under_way().collect())));
        }
        let full = self.full_links(end);
        canvas.paint(Category::ReceiverWindow, &during(|w| w == Wait::Window).without(&full));
        canvas.paint(Category::SlowStart, &during(|w| w == Wait::SlowStart).without(&full));
        let below = self.below;
        canvas.paint(Category::AirUseful, &below.useful);
        canvas.paint(Category::AirRetries, &below.retries);
        canvas.paint(Category::AirUseful, &below.access_idle);
        canvas.paint(Category::AirOthers, &below.access_busy);
        canvas.paint(Category::AirOthers, &below.in_station);
        canvas.paint(Category::Usb, &below.bus);
        let queue = self.queues(&canvas.left, &full);
        canvas.paint(Category::Queue, &queue);
        let rest = canvas.left.clone();
        canvas.paint(Category::Path, &rest);
        joined(canvas.rows)
    }

    fn rows<'b>(&'b self, which: &'b [u32]) -> impl DoubleEndedIterator<Item = &'b PacketRow> + 'b {
        which.iter().filter_map(|i| self.packets.get(*i as usize))
    }

    /// Each packet's time between the stacks, in both directions.
    fn under_way(&self) -> impl Iterator<Item = (Ns, Ns)> + '_ {
        let both = self.rows(self.sent).chain(self.rows(self.back));
        both.map(|p| (p.made, if p.fate == PacketFate::UnderWay { NEVER } else { p.ended }))
    }

    /// When the first outstanding byte moved, and to where.
    fn advances(&self) -> Vec<(Ns, u64)> {
        let mut acks: Vec<(Ns, u64)> = self
            .rows(self.back)
            .filter(|p| p.fate == PacketFate::Delivered && p.ack > 0)
            .map(|p| (p.ended, p.ack))
            .collect();
        acks.sort_unstable();
        let mut most = 0;
        acks.retain(|a| {
            let newer = a.1 > most;
            most = most.max(a.1);
            newer
        });
        acks
    }

    /// From the connection's first packet to the last one with news that came back to this end; to the last one at this end or its tap if
    /// something is outstanding then or is sent later, and to the ACK of everything, FIN included.
    fn life(&self) -> Option<(Ns, Ns)> {
        let first = |which| self.rows(which).next().map(|p| p.made);
        let start = [first(self.sent), first(self.back)].into_iter().flatten().min()?;
        let sent = self.rows(self.sent).map(|p| p.tapped.map_or(p.made, |t| t.max(p.made))).max();
        let arrived = || self.rows(self.back).filter(|p| p.fate == PacketFate::Delivered);
        // A late ACK of what is acknowledged already is no part of it.
        let most = arrived().map(|p| p.ack).max();
        let came = arrived().filter(|p| p.span > 0 || Some(p.ack) == most).map(|p| p.ended).max();
        let then = came.and_then(|t| self.waits[..self.waits.partition_point(|w| w.0 <= t)].last());
        let end = match then {
            Some((t, Wait::Closed)) => Some(*t),
            Some((_, Wait::Application)) if self.rows(self.sent).all(|p| p.span == 0 || Some(p.made) <= came) => came,
            _ => sent.max(came),
        }?;
        (start < end).then_some((start, end))
    }

    /// The time in which the sender waited for one of some things.
    fn during(&self, which: fn(Wait) -> bool, start: Ns, end: Ns) -> Spans {
        let first = (start, Wait::Handshake);
        let from = std::iter::once(&first).chain(self.waits);
        let to = self.waits.iter().map(|w| w.0).chain([end]);
        Spans::of(from.zip(to).filter(|(w, _)| which(w.1)).map(|(w, to)| (w.0, to.min(end))).collect())
    }

    /// The handshake, without the time to the expiries of a timer at either end, of a SYN or, at the peer, of data: what ends this end's
    /// handshake may be its copy, or a probe. The peer's count only up to that packet: later ones delayed nothing here.
    fn handshake(&self, canvas: &mut Canvas, whole: &Spans) {
        let Some((&(start, _), &(_, end))) = whole.0.first().zip(whole.0.last()) else { return };
        let came = self.rows(self.back).filter(|p| p.fate == PacketFate::Delivered && p.ended == end).map(|p| p.made);
        let last_of_peer = came.min().unwrap_or(end);
        let own = self.timeouts.iter().map(|t| t.0).filter(|t| *t <= end);
        let probes = self.rows(self.back).filter(|p| is_probe(p)).map(|p| p.made);
        let peers = self.peer_timeouts.iter().map(|t| t.0).chain(probes).filter(|t| *t <= last_of_peer);
        let mut expiries: Vec<Ns> = own.chain(peers).collect();
        expiries.sort_unstable();
        if let Some((first, last)) = expiries.first().zip(expiries.last()) {
            canvas.paint(Category::RtoWait, &whole.and(&Spans::of(vec![(start, *first)])));
            canvas.paint(Category::RtoBackoff, &whole.and(&Spans::of(vec![(*first, *last)])));
        }
        canvas.paint(Category::Handshake, whole);
    }

    /// Whether a timer expired while the first outstanding byte, or to the end the copy that it made, was in the queue of its own host: the
    /// sender waits for that queue, and a copy is behind it (Linux sends none: `skb_still_in_host_queue`).
    fn in_host(&self, (t, seq): (Ns, u64)) -> bool {
        let until = self.sent.partition_point(|i| self.packets[*i as usize].made <= t);
        let copies = self.rows(&self.sent[..until]).rev().filter(|p| p.seq <= seq && seq < p.seq + u64::from(p.span));
        let waits = |p: &PacketRow| p.tapped.map_or(p.fate == PacketFate::UnderWay, |tapped| p.made < t && t < tapped);
        // The copy that it made, and what that repeats.
        copies.take(2).any(waits)
    }

    /// Waits for the retransmission timer: from the last data before the first expiry to the first ACK of new data. From the
    /// first expiry on it is backoff, if there is a second. The wait for a tail loss probe counts too.
    fn timers(&self, acks: &[(Ns, u64)], end: Ns) -> (Spans, Spans) {
        let data: Vec<Ns> = self.rows(self.sent).filter(|p| p.span > 0).map(|p| p.made).collect();
        let last_sent = |t: Ns| data[..data.partition_point(|made| *made < t)].last().copied();
        let expiries: Vec<(Ns, u64)> = self.timeouts.iter().copied().filter(|e| !self.in_host(*e)).collect();
        let (mut waits, mut backoffs) = (Vec::new(), Vec::new());
        // Linux sends no probe either for data in the queue of its host (`tcp_send_loss_probe`).
        let probes = self.rows(self.sent).filter(|p| is_probe(p) && !self.in_host((p.made, p.seq)));
        for p in probes {
            waits.extend(last_sent(p.made).map(|from| (from, p.made)));
        }
        let mut i = 0;
        while let Some(&(first, seq)) = expiries.get(i) {
            let progress = acks[acks.partition_point(|a| a.0 <= first)..].iter().find(|a| a.1 > seq).map(|a| a.0);
            let before = |t: Ns| expiries[i..].partition_point(|x| x.0 < t);
            let more = progress.map_or(expiries.len() - i, before).max(1);
            let progress = progress.unwrap_or(end);
            waits.extend(last_sent(first).map(|from| (from, first)));
            if more > 1 { &mut backoffs } else { &mut waits }.push((first, progress));
            i += more;
        }
        (Spans::of(waits), Spans::of(backoffs))
    }

    /// Times of a recovery: those in which nothing that was outstanding when it began had been lost, and the others.
    fn recoveries(&self, wait: Wait, acks: &[(Ns, u64)], end: Ns) -> (Spans, Spans) {
        let (mut spurious, mut real) = (Vec::new(), Vec::new());
        for (i, &(t, which)) in self.waits.iter().enumerate() {
            // A timeout that changed nothing on the way begins no recovery.
            let in_queue =
                || self.timeouts.binary_search_by_key(&t, |e| e.0).is_ok_and(|e| self.in_host(self.timeouts[e]));
            if which == wait && !in_queue() {
                let until = self.waits.get(i + 1).map_or(end, |next| next.0);
                if self.lost_before(t, acks) { &mut real } else { &mut spurious }.push((t, until));
            }
        }
        (Spans::of(spurious), Spans::of(real))
    }

    /// Whether anything outstanding at a time had been lost: no copy sent before arrived and was taken, or will be.
    fn lost_before(&self, t: Ns, acks: &[(Ns, u64)]) -> bool {
        let una = acks[..acks.partition_point(|a| a.0 <= t)].last().map_or(0, |a| a.1);
        let before = self.sent.partition_point(|i| self.packets[*i as usize].made < t);
        let (mut arrived, mut next) = (Vec::new(), una);
        for p in self.rows(&self.sent[..before]).rev().filter(|p| p.span > 0) {
            let end = p.seq + u64::from(p.span);
            if end <= una {
                // Originals are in order: all others are older.
                if p.copy == 0 {
                    break;
                }
                continue;
            }
            next = next.max(end);
            if matches!(p.fate, PacketFate::Delivered | PacketFate::UnderWay) && !p.refused {
                arrived.push((p.seq, end));
            }
        }
        let outstanding = Spans::of(vec![(una, next)]);
        !outstanding.without(&Spans::of(arrived)).is_empty()
    }

    /// Times in which a link had data of this direction, but for gaps of a tenth of the time in which it sent before each: for longer than it
    /// takes until an answer to the first of it is back, or up to the end for longer than that ever took before. More data could not have been
    /// sent faster. The air is one link for data and ACKs: one waits for the other.
    fn full_links(&self, end: Ns) -> Spans {
        // The next ACK that arrives of those made from some time on.
        let mut answers: Vec<(Ns, Ns)> =
            self.rows(self.back).filter(|p| p.fate == PacketFate::Delivered).map(|p| (p.made, p.ended)).collect();
        answers.sort_unstable();
        let mut earliest = NEVER;
        for a in answers.iter_mut().rev() {
            earliest = earliest.min(a.1);
            a.1 = earliest;
        }
        let reverse = self.rows(self.sent).next().is_some_and(|p| p.reverse);
        let mut stays: Vec<Stay> = Vec::new();
        for trip in self.below.trips.iter().filter_map(|i| self.trips.get(*i as usize)) {
            let Some(p) = self.packets.get(trip.packet as usize) else { continue };
            let data = p.reverse == reverse && p.len > 0;
            let place = match trip.place {
                Place::Station(_) => Place::Station(0),
                wire @ Place::Wire(..) if data => wire,
                Place::Wire(..) => continue,
            };
            let arrived = if data && p.fate == PacketFate::Delivered { p.ended } else { NEVER };
            // What leaves it after the life was in it at the end.
            let leaves = if trip.leaves == NEVER { end } else { trip.leaves };
            stays.push(Stay { place, enters: trip.enters, starts: trip.starts.min(leaves), leaves, arrived });
        }
        // Trips are in order of time.
        stays.sort_by_key(|s| s.place);
        let (mut full, mut longest) = (Vec::new(), self.below.round_trip);
        let mut k = 0;
        while k < stays.len() {
            let Stay { place, enters: start, starts, leaves: mut until, mut arrived } = stays[k];
            let mut served = until - starts;
            k += 1;
            while let Some(next) = stays.get(k).filter(|s| s.place == place && s.enters <= until + served / IDLE_PART) {
                // A MAC may have several packets at once.
                served =
                    next.leaves.saturating_sub(next.starts.max(until)) + if next.enters > until { 0 } else { served };
                until = until.max(next.leaves);
                arrived = arrived.min(next.arrived);
                k += 1;
            }
            let answer = answers.get(answers.partition_point(|a| a.0 < arrived)).map_or(NEVER, |a| a.1);
            let to_end = until >= end && arrived == NEVER && end.saturating_sub(start) > longest;
            if answer != NEVER {
                longest = longest.max(answer - start);
            }
            if answer < until || to_end {
                full.push((start, until));
            }
        }
        Spans::of(full)
    }

    /// Queueing delay: packets wait for a line that sends others' packets, and that this direction does not keep busy by
    /// itself. Of such time the share of the packets under way that wait.
    fn queues(&self, left: &Spans, full: &Spans) -> Spans {
        let below = self.below;
        let time = left.and(&below.before_line).without(&below.on_line).without(full);
        if time.is_empty() {
            return time;
        }
        let mut steps: Vec<(Ns, i32, i32)> = Vec::new();
        for (a, b) in &below.waiting {
            steps.extend([(*a, 1, 0), (*b, -1, 0)]);
        }
        for (a, b) in self.under_way() {
            steps.extend([(a, 0, 1), (b, 0, -1)]);
        }
        steps.sort_unstable_by_key(|s| s.0);
        let (mut out, mut k) = (Vec::new(), 0);
        let (mut waiting, mut flying, mut owed) = (0i32, 0i32, 0.0f64);
        for (a, b) in time.0 {
            let mut from = a;
            while from < b {
                while let Some(s) = steps.get(k).filter(|s| s.0 <= from) {
                    (waiting, flying, k) = (waiting + s.1, flying + s.2, k + 1);
                }
                let to = steps.get(k).map_or(b, |s| s.0.min(b));
                owed += (to - from) as f64 * f64::from(waiting) / f64::from(flying.max(1));
                let take = (owed as Ns).min(to - from);
                owed -= take as f64;
                out.push((from, from + take));
                from = to;
            }
        }
        Spans::of(out)
    }
}

/// In order of time; neighbours of one category are one.
fn joined(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_unstable_by_key(|r| r.1);
    let mut out: Vec<Row> = Vec::with_capacity(rows.len());
    for row in rows {
        match out.last_mut() {
            Some(last) if last.0 == row.0 && last.2 == row.1 => last.2 = row.2,
            _ => out.push(row),
        }
    }
    out
}
