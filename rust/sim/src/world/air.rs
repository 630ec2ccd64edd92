//! The cell: packets to stations, frames on the air and into the sniffer's capture.

use super::taps::{beacon_body, names, roles};
use super::{Event, Hop, World, BEACON, MPDU_OVERHEAD};
use crate::dcf::{AirFrame, FrameKind, Msdu, Out, StationId};
use crate::engine::Ns;
use crate::packet::PacketFate;
use crate::phy::plcp;
use crate::taps::{self, Gather, Reception};
use crate::truth::Place;

impl World {
    /// Pass packets from a host's queue to its station while that has space.
    pub(super) fn pump(&mut self, now: Ns, station: StationId) {
        if let Some(adapter) = self.stations[station].adapter {
            return self.usb_pump(now, adapter);
        }
        while self.dcf.has_room(now, station) {
            let Some(packet) = self.stations[station].queue.take(now) else { return };
            let node = self.stations[station].node;
            let Some(Hop::Cell { to, .. }) = self.nodes[node].routes[packet.dst] else { continue };
            if packet.src == node {
                self.tap_host(now, node, &packet);
            }
            self.truth.starts(packet.id, Place::Station(station), now);
            let handle = self.keep(packet);
            let msdu = Msdu { to: Some(to), mpdu_bytes: packet.ip_bytes + MPDU_OVERHEAD, handle };
            self.dcf.enqueue(now, station, msdu);
        }
    }

    /// Schedule the next station's transmission.
    pub(super) fn plan_air(&mut self) {
        if let Some(next) = self.dcf.replanned() {
            self.air_plan.set(next, &mut self.queue, Event::Air);
        }
    }

    pub(super) fn on_air(&mut self, now: Ns) {
        let mut outs = std::mem::take(&mut self.outs);
        self.dcf.advance(now, &mut self.air, &mut outs);
        for out in outs.drain(..) {
            match out {
                Out::Aired(frame) => self.aired(&frame),
                Out::Delivered { msdu, .. } if msdu.handle == BEACON => {}
                Out::Delivered { at, station, msdu, .. } => {
                    self.queue.at(at, Event::FromAir { station, handle: msdu.handle });
                }
                Out::Done { at, station, msdu, acked, attempts } => {
                    self.queue.at(at, Event::AirDone { station, handle: msdu.handle, acked, attempts });
                }
            }
        }
        self.outs = outs;
    }

    pub(super) fn air_done(&mut self, now: Ns, station: StationId, handle: u64, acked: bool, attempts: u32) {
        if handle != BEACON {
            if let Some(packet) = self.release(handle) {
                self.truth.leaves(packet.id, Place::Station(station), now, acked);
                if let Some(row) = self.truth.row(packet.id) {
                    row.attempts += attempts;
                    // Dropped at the retry limit; a copy may still have arrived.
                    if !acked && row.fate == PacketFate::UnderWay {
                        (row.fate, row.ended) = (PacketFate::Air, now);
                    }
                }
            }
        }
        match self.stations[station].adapter {
            Some(adapter) => self.usb_free(now, adapter),
            None => self.pump(now, station),
        }
    }

    pub(super) fn aired(&mut self, frame: &AirFrame) {
        let packet = frame.msdu.and_then(|m| self.slab.get(m.handle as usize).copied().flatten());
        let signal_dbm = self.air.heard_dbm(frame.from, self.stations[frame.from].config.signal_dbm, frame.start);
        self.truth.frames.push(frame, packet.map(|p| p.id), signal_dbm as f32);
        let Some(tap) = &mut self.air_tap else { return };
        if tap.clock.misses() {
            return;
        }
        let beacon = frame.kind == FrameKind::Data && frame.msdu.is_some_and(|m| m.handle == BEACON);
        let roles = roles(&self.stations, self.ad_hoc, frame, packet.as_ref());
        let stamp = tap.clock.stamp(frame.end);
        let reception = Reception {
            tsf_us: (tap.clock.stamp(frame.start + plcp(frame.rate, frame.preamble)).max(0) as u64) / 1000,
            channel_mhz: self.channel_mhz,
            // A receiver measures power: that of a signal below the noise is the noise's.
            signal_dbm: signal_dbm.max(self.air.noise_dbm()).round() as i8,
            noise_dbm: self.air.noise_dbm().round() as i8,
            damaged: matches!(frame.fate, crate::dcf::Fate::Collision(_)),
        };
        let flows = &self.flows;
        let body = |out: &mut Gather| {
            if let Some(p) = &packet {
                out.put(&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
                taps::write_ip(p, names(flows, p), out);
            } else if beacon {
                beacon_body(frame.start, out);
            }
        };
        if let Err(e) = tap.file.record(stamp, |out| taps::air_frame(frame, &roles, body, beacon, &reception, out)) {
            self.failed.get_or_insert(e);
        }
    }
}
