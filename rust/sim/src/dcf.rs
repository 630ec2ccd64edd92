//! The distributed coordination function: stations that share one channel (IEEE 802.11-2020 clause 10.3).
//!
//! All stations hear each other. From the instant at which a station starts to send until the medium is idle again nothing
//! else can happen, so a whole exchange (RTS, CTS, data, ACK) is computed at its start; its results are returned as
//! `Out`, each with its time.

mod frame;
mod station;

use crate::engine::{Ns, US};
use crate::phy::{airtime, Spaces, ACK_BYTES, CTS_BYTES, RTS_BYTES};
use crate::rate::RateControl;
use crate::rng::Rng;

pub use frame::{AirFrame, Channel, Damage, Fate, FrameKind, Msdu, Out, Perfect, StationId};
pub use station::MacConfig;
use station::Station;

/// One channel and its stations.
#[derive(Debug)]
pub struct Dcf {
    stations: Vec<Station>,
    spaces: Spaces,
    /// When the last frame ends.
    idle_at: Ns,
    /// Something has changed since the last call of `replanned`.
    changed: bool,
    /// The latest stations to start, and when: a buffer that is reused.
    senders: Vec<(StationId, Ns)>,
}

/// Two starts closer than this overlap: neither station can detect the other yet (propagation over 300 m).
const PROPAGATION: Ns = US;

impl Dcf {
    pub fn new(spaces: Spaces) -> Self {
        Dcf { stations: Vec::new(), spaces, idle_at: 0, changed: true, senders: Vec::new() }
    }

    /// Add a station.
    pub fn join(&mut self, config: MacConfig, rates: Box<dyn RateControl>, rng: Rng) -> StationId {
        self.stations.push(Station::new(config, rates, rng, self.spaces.difs()));
        self.stations.len() - 1
    }

    /// Whether a station's queue has room.
    pub fn has_room(&self, now: Ns, station: StationId) -> bool {
        let s = &self.stations[station];
        let held = s.queue.len() + usize::from(s.current.is_some()) + usize::from(now < s.finishing_until);
        held < s.config.queue_frames
    }

    /// Enqueue an MSDU at a station; false: its queue is full and the MSDU is lost.
    pub fn enqueue(&mut self, now: Ns, station: StationId, msdu: Msdu) -> bool {
        if !self.has_room(now, station) {
            return false;
        }
        self.changed = true;
        let idle = now >= self.idle_at;
        let slot = self.spaces.slot;
        let s = &mut self.stations[station];
        s.queue.push_back(msdu);
        if s.current.is_some() {
            return true;
        }
        s.load();
        // The rest of the backoff after the last frame remains.
        if idle && now >= s.count_from {
            let counted = (now - s.count_from) / slot;
            if s.backoff.is_none_or(|b| u64::from(b) <= counted) {
                // Idle for long enough: immediately (clause 10.3.4.2).
                (s.backoff, s.count_from) = (Some(0), now);
            }
        } else if s.backoff.is_none() {
            s.draw_backoff();
        }
        true
    }

    /// Keep a station from starting a transmission before a time.
    pub fn stall(&mut self, station: StationId, until: Ns) {
        self.changed = true;
        self.stations[station].stalled_until = until;
    }

    /// When the next station starts to send, if any has a frame; `advance` must be called then.
    pub fn next(&self) -> Option<Ns> {
        self.stations.iter().filter_map(|s| s.starts(self.spaces.slot)).min()
    }

    /// The same if it may have changed since the last call; None: it has not.
    pub fn replanned(&mut self) -> Option<Option<Ns>> {
        std::mem::take(&mut self.changed).then(|| self.next())
    }

    /// Run the stations whose time has come.
    pub fn advance(&mut self, now: Ns, channel: &mut dyn Channel, out: &mut Vec<Out>) {
        self.changed = true;
        let slot = self.spaces.slot;
        let mut senders = std::mem::take(&mut self.senders);
        senders.clear();
        for (i, s) in self.stations.iter_mut().enumerate() {
            match s.starts(slot).filter(|t| *t < now + PROPAGATION) {
                Some(t) => senders.push((i, t)),
                None => s.freeze(now, slot),
            }
        }
        match senders[..] {
            [] => {}
            [(one, start)] => self.exchange(one, start.max(now), channel, out),
            _ => self.collide(&senders, now, out),
        }
        self.senders = senders;
    }

    /// The exchange of a single station.
    fn exchange(&mut self, from: StationId, start: Ns, channel: &mut dyn Channel, out: &mut Vec<Out>) {
        let Spaces { sifs, slot } = self.spaces;
        let s = &mut self.stations[from];
        let Some(current) = &mut s.current else { return };
        let (msdu, seq, attempt, retry) = (current.msdu, current.seq, current.attempts, current.aired);
        current.attempts += 1;
        let rate = s.rates.rate(start, attempt);
        let (preamble, control) = (s.config.preamble, s.config.control_rate);
        let data_time = airtime(rate, preamble, msdu.mpdu_bytes);
        let ack_time = airtime(control, preamble, ACK_BYTES);
        let cts_time = airtime(control, preamble, CTS_BYTES);
        let timeout = self.spaces.answer_timeout(preamble);
        let frame = |kind, start, end, from, to, rate, mpdu_bytes, duration: Ns, fate| AirFrame {
            start,
            end,
            kind,
            from,
            to,
            rate,
            preamble,
            mpdu_bytes,
            duration_us: u16::try_from(duration.div_ceil(US)).unwrap_or(0x7fff),
            seq,
            attempt,
            retry: retry && kind == FrameKind::Data,
            msdu: (kind == FrameKind::Data).then_some(msdu),
            fate,
        };
        let Some(to) = msdu.to else {
            let end = start + data_time;
            let f = frame(FrameKind::Data, start, end, from, None, rate, msdu.mpdu_bytes, 0, Fate::Received);
            out.push(Out::Aired(f));
            for station in (0..self.stations.len()).filter(|i| *i != from) {
                if channel.damage(from, station, rate, msdu.mpdu_bytes, start).is_none() {
                    out.push(Out::Delivered { at: end, station, from, msdu });
                }
            }
            self.idle_at = end;
            self.all_wait(end, false);
            self.finish(from, end, false, out);
            return;
        };

        let mut at = start;
        let with_rts = msdu.mpdu_bytes > self.stations[from].config.rts_threshold_bytes;
        if with_rts {
            let end = at + airtime(control, preamble, RTS_BYTES);
            let nav = 3 * sifs + cts_time + data_time + ack_time;
            let fate = fate_of(channel.damage(from, to, control, RTS_BYTES, at));
            let heard = fate == Fate::Received;
            out.push(Out::Aired(frame(FrameKind::Rts, at, end, from, Some(to), control, RTS_BYTES, nav, fate)));
            let mut answered = false;
            let mut idle = end;
            if heard {
                let (cts_start, cts_end) = (end + sifs, end + sifs + cts_time);
                let fate = fate_of(channel.damage(to, from, control, CTS_BYTES, cts_start));
                answered = fate == Fate::Received;
                let nav = nav - sifs - cts_time;
                out.push(Out::Aired(frame(
                    FrameKind::Cts,
                    cts_start,
                    cts_end,
                    to,
                    Some(from),
                    control,
                    CTS_BYTES,
                    nav,
                    fate,
                )));
                idle = cts_end;
            }
            if !answered {
                // A station that received the RTS but no data may reset its NAV (clause 10.3.2.4).
                self.idle_at = idle;
                self.all_wait((end + 2 * sifs + cts_time + 2 * slot).max(idle), false);
                self.stations[from].wait_from(idle.max(end + timeout), self.spaces.difs());
                self.failed(from, end + timeout, false, out);
                return;
            }
            at = idle + sifs;
        }
        if let Some(current) = &mut self.stations[from].current {
            current.aired = true;
            if with_rts {
                // A CTS resets the short retry counter (clause 10.3.4.4).
                current.short_retries = 0;
            }
        }
        let end = at + data_time;
        let fate = fate_of(channel.damage(from, to, rate, msdu.mpdu_bytes, at));
        let heard = fate == Fate::Received;
        let nav = sifs + ack_time;
        out.push(Out::Aired(frame(FrameKind::Data, at, end, from, Some(to), rate, msdu.mpdu_bytes, nav, fate)));
        if !heard {
            self.idle_at = end;
            self.all_wait(end + nav, false);
            // The receiver detects only a damaged frame.
            let eifs = self.spaces.eifs(preamble);
            self.stations[to].wait_from(end, eifs);
            self.stations[from].wait_from(end + timeout, self.spaces.difs());
            self.failed(from, end + timeout, with_rts, out);
            return;
        }
        if self.stations[to].is_new(from, seq) {
            out.push(Out::Delivered { at: end, station: to, from, msdu });
        }
        let (ack_start, ack_end) = (end + sifs, end + sifs + ack_time);
        let fate = fate_of(channel.damage(to, from, control, ACK_BYTES, ack_start));
        let acked = fate == Fate::Received;
        out.push(Out::Aired(frame(FrameKind::Ack, ack_start, ack_end, to, Some(from), control, ACK_BYTES, 0, fate)));
        self.idle_at = ack_end;
        self.all_wait(ack_end, false);
        if acked {
            self.finish(from, ack_end, true, out);
        } else {
            // It detects a damaged frame.
            let eifs = self.spaces.eifs(preamble);
            self.stations[from].wait_from(ack_end, eifs);
            self.failed(from, ack_end, with_rts, out);
        }
    }

    /// Several stations in one slot: no frame arrives.
    fn collide(&mut self, senders: &[(StationId, Ns)], now: Ns, out: &mut Vec<Out>) {
        let Spaces { sifs, .. } = self.spaces;
        let mut ends = Vec::with_capacity(senders.len());
        for (i, &(from, start)) in senders.iter().enumerate() {
            let other = senders[usize::from(i == 0)].0;
            let s = &mut self.stations[from];
            let Some(current) = &mut s.current else { continue };
            let (msdu, seq, attempt) = (current.msdu, current.seq, current.attempts);
            current.attempts += 1;
            let with_rts = msdu.to.is_some() && msdu.mpdu_bytes > s.config.rts_threshold_bytes;
            let retry = current.aired && !with_rts;
            current.aired |= !with_rts;
            let data_rate = s.rates.rate(start, attempt);
            let (preamble, control) = (s.config.preamble, s.config.control_rate);
            let ack = sifs + airtime(control, preamble, ACK_BYTES);
            let data_time = airtime(data_rate, preamble, msdu.mpdu_bytes);
            let (kind, rate, mpdu_bytes, nav) = if with_rts {
                let cts = sifs + airtime(control, preamble, CTS_BYTES);
                (FrameKind::Rts, control, RTS_BYTES, cts + sifs + data_time + ack)
            } else {
                (FrameKind::Data, data_rate, msdu.mpdu_bytes, if msdu.to.is_some() { ack } else { 0 })
            };
            let start = start.max(now);
            let end = start + airtime(rate, preamble, mpdu_bytes);
            out.push(Out::Aired(AirFrame {
                start,
                end,
                kind,
                from,
                to: msdu.to,
                rate,
                preamble,
                mpdu_bytes,
                duration_us: u16::try_from(nav.div_ceil(US)).unwrap_or(0x7fff),
                seq,
                attempt,
                retry,
                msdu: (kind == FrameKind::Data).then_some(msdu),
                fate: Fate::Collision(other),
            }));
            ends.push((from, end, preamble, msdu.to.is_none()));
        }
        let idle = ends.iter().map(|e| e.1).max().unwrap_or(now);
        self.idle_at = idle;
        self.all_wait(idle, true);
        for (from, end, preamble, to_all) in ends {
            if to_all {
                self.stations[from].wait_from(idle, self.spaces.difs());
                self.finish(from, end, false, out);
                continue;
            }
            let timeout = end + self.spaces.answer_timeout(preamble);
            self.stations[from].wait_from(idle.max(timeout), self.spaces.difs());
            self.failed(from, timeout, false, out);
        }
    }

    /// Every station waits for its interframe space from `at` on; EIFS after a frame that no station could decode.
    fn all_wait(&mut self, at: Ns, unreadable: bool) {
        let (difs, spaces) = (self.spaces.difs(), self.spaces);
        for s in &mut self.stations {
            let space = if unreadable { spaces.eifs(s.config.preamble) } else { difs };
            s.wait_from(at, space);
        }
    }

    /// A transmission failed: retry with a larger window, or give up (clause 10.3.4.4). `long`: a frame longer than the RTS
    /// threshold, after its CTS; an RTS without CTS and a frame without RTS count on the short retry limit.
    fn failed(&mut self, station: StationId, at: Ns, long: bool, out: &mut Vec<Out>) {
        let s = &mut self.stations[station];
        let Some(current) = &mut s.current else { return };
        s.rates.failed(at);
        let (count, limit) = if long {
            (&mut current.long_retries, s.config.long_retry_limit)
        } else {
            (&mut current.short_retries, s.config.short_retry_limit)
        };
        *count += 1;
        if *count >= limit.max(1) {
            s.rates.dropped(at);
            self.end(station, at, false, out);
            return;
        }
        s.cw = ((s.cw + 1) * 2 - 1).min(s.config.cw_max);
        s.draw_backoff();
    }

    fn finish(&mut self, station: StationId, at: Ns, acked: bool, out: &mut Vec<Out>) {
        if acked {
            self.stations[station].rates.succeeded(at);
        }
        self.end(station, at, acked, out);
    }

    fn end(&mut self, station: StationId, at: Ns, acked: bool, out: &mut Vec<Out>) {
        let s = &mut self.stations[station];
        let Some(current) = s.current.take() else { return };
        out.push(Out::Done { at, station, msdu: current.msdu, acked, attempts: current.attempts });
        s.cw = s.config.cw_min;
        s.finishing_until = at;
        s.backoff = None;
        s.load();
        if s.config.post_backoff || s.current.is_some() {
            s.draw_backoff();
        }
    }
}

fn fate_of(damage: Option<Damage>) -> Fate {
    damage.map_or(Fate::Received, Fate::Damaged)
}

#[cfg(test)]
mod tests;
