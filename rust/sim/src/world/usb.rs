//! Hosts with USB adapters: packets to the adapter and received frames from it, as URBs over a bus.

use super::adapter::Urb;
use super::taps::{mac, names};
use super::{Event, Hop, World, MPDU_OVERHEAD};
use crate::dcf::Msdu;
use crate::engine::Ns;
use crate::packet::{Packet, PacketFate};
use crate::taps::{self, Gather, Prism2, UrbRecord, IN};
use crate::truth::{Place, UrbRow};
use crate::usb_host::{Done, List, Times};

const BUS: u16 = 1;
const DEVICE: u8 = 2;
const ENDPOINT_IN: u8 = 1 | IN;
const ENDPOINT_OUT: u8 = 2;
/// Buffer size of a posted IN transfer: the longest frame with its descriptor.
const IN_ROOM_BYTES: u32 = 2376;
/// A full-speed device of a vendor's class with two bulk endpoints (USB 2.0 tables 9-8, 9-10, 9-12 and 9-13).
const DEVICE_DESCRIPTOR: [u8; 18] = [18, 1, 0x10, 1, 0xff, 0, 0, 64, 0x9f, 0x04, 0x33, 0x00, 0, 1, 0, 0, 0, 1];
const CONFIGURATION: [u8; 32] = [
    9,
    2,
    32,
    0,
    1,
    1,
    0,
    0x80,
    250,
    9,
    4,
    0,
    0,
    2,
    0xff,
    0,
    0,
    0,
    7,
    5,
    ENDPOINT_IN,
    2,
    64,
    0,
    0,
    7,
    5,
    ENDPOINT_OUT,
    2,
    64,
    0,
    0,
];

impl World {
    /// The driver posts its transfers, and the capture begins with the device's descriptors.
    pub(super) fn usb_begin(&mut self, now: Ns, adapter: usize) {
        for _ in 0..self.adapters[adapter].config.urbs_in {
            self.usb_post(now, adapter);
        }
        self.usb_describe(now, adapter, 0);
    }

    /// The steps of reading the descriptors: two control transfers, submitted and completed.
    pub(super) fn usb_describe(&mut self, now: Ns, adapter: usize, step: u8) {
        let (kind, data): (u8, &'static [u8]) = if step < 2 { (1, &DEVICE_DESCRIPTOR) } else { (2, &CONFIGURATION) };
        let submit = step % 2 == 0;
        let urb = UrbRecord {
            id: 0xffff_8800_0001_0000,
            submit,
            endpoint: IN,
            device: DEVICE,
            bus: BUS,
            status: 0,
            length: data.len() as u32,
            // GET_DESCRIPTOR (USB 2.0 section 9.4.3).
            setup: submit.then_some([0x80, 6, 0, kind, 0, 0, data.len() as u8, 0]),
            data_bytes: if submit { 0 } else { data.len() as u32 },
        };
        let node = self.adapters[adapter].node;
        if let Some(tap) = self.usb_tap.as_mut().filter(|t| t.node == node) {
            let stamp = tap.clock.stamp(now);
            let written = tap.file.record(stamp, |out| {
                taps::urb_record(&urb, stamp, |out| out.lend(if submit { &[] } else { data }), out);
            });
            if let Err(e) = written {
                self.failed.get_or_insert(e);
            }
        }
        if step < 3 {
            self.queue.at(now + crate::engine::MS, Event::UsbDescribe { adapter, step: step + 1 });
        }
    }

    /// Pass packets from the host's queue to the driver while it may have more outstanding.
    pub(super) fn usb_pump(&mut self, now: Ns, adapter: usize) {
        let a = &self.adapters[adapter];
        if a.out.len() < a.config.urbs_out as usize && !self.stations[a.station].queue.is_empty() {
            self.usb_catch_up(now, adapter);
            self.usb_submit(now, adapter);
            self.plan_usb(adapter);
        }
    }

    fn usb_submit(&mut self, now: Ns, adapter: usize) {
        let a = &self.adapters[adapter];
        let (station, node, most) = (a.station, a.node, a.config.urbs_out as usize);
        while self.adapters[adapter].out.len() < most {
            let Some(packet) = self.stations[station].queue.take(now) else { return };
            if packet.src == node {
                self.tap_host(now, node, &packet);
            }
            let a = &mut self.adapters[adapter];
            let bytes = taps::out_bytes(packet.ip_bytes);
            let submitted = a.works(now + a.driver);
            let urb = Urb { id: a.next_id(), submitted, packet: Some(packet), bytes, found: 0 };
            a.out.push_back(urb);
            a.host.submit(submitted, bytes);
            self.tap_urb(submitted, adapter, List::Out, true, &urb);
        }
    }

    /// The adapter received a frame from the air.
    pub(super) fn usb_received(&mut self, now: Ns, adapter: usize, packet: Packet) {
        self.usb_catch_up(now, adapter);
        let a = &mut self.adapters[adapter];
        if a.received.len() >= a.config.receive_buffer_frames as usize {
            return self.truth.ended(packet.id, now, PacketFate::AdapterQueue);
        }
        a.received.push_back(packet);
        a.host.receive(now, taps::in_bytes(packet.ip_bytes));
        self.plan_usb(adapter);
    }

    /// The adapter is done with a packet for the air.
    pub(super) fn usb_free(&mut self, now: Ns, adapter: usize) {
        self.usb_catch_up(now, adapter);
        if self.adapters[adapter].host.free(now) {
            self.plan_usb(adapter);
        }
    }

    /// A node's USB adapter, if it has one, holds received frames or passes them on; returns the packets held.
    pub(super) fn usb_hold(&mut self, now: Ns, node: usize, holding: bool) -> Vec<Packet> {
        let Some(adapter) = self.adapters.iter().position(|a| a.node == node) else { return Vec::new() };
        self.usb_catch_up(now, adapter);
        let a = &mut self.adapters[adapter];
        a.host.hold(holding);
        let kept = a.received.iter().skip(a.received.len() - a.host.kept()).copied().collect();
        self.plan_usb(adapter);
        kept
    }

    /// The bus's scheduled time has come.
    pub(super) fn on_usb(&mut self, now: Ns, adapter: usize, event: Event) {
        if self.adapters[adapter].plan.rings(&mut self.queue, event) {
            self.usb_catch_up(now, adapter);
            self.plan_usb(adapter);
        }
    }

    fn plan_usb(&mut self, adapter: usize) {
        let a = &mut self.adapters[adapter];
        let next = a.host.due();
        a.plan.set(next, &mut self.queue, Event::Usb { adapter });
    }

    /// Process the results of the bus until now.
    fn usb_catch_up(&mut self, now: Ns, adapter: usize) {
        let mut done = std::mem::take(&mut self.usb_done);
        self.adapters[adapter].host.advance(now, &mut done);
        for d in done.drain(..) {
            match d {
                Done::Taken { .. } => self.usb_taken(now, adapter),
                Done::Completed { list: List::Out, times, .. } => self.usb_out_completed(now, adapter, times),
                Done::Completed { list: List::In, times, .. } => self.usb_in_completed(now, adapter, times),
            }
        }
        self.usb_done = done;
    }

    /// The adapter has a packet completely: pass it to the MAC.
    fn usb_taken(&mut self, now: Ns, adapter: usize) {
        let a = &mut self.adapters[adapter];
        let (node, station) = (a.node, a.station);
        let found = a.host.inside() - 1;
        let Some(urb) = a.out.get_mut(a.taken) else { return };
        urb.found = found;
        a.taken += 1;
        let Some(packet) = urb.packet else { return };
        let Some(Hop::Cell { to, .. }) = self.nodes[node].routes[packet.dst] else { return };
        self.truth.starts(packet.id, Place::Station(station), now);
        let handle = self.keep(packet);
        let msdu = Msdu { to: Some(to), mpdu_bytes: packet.ip_bytes + MPDU_OVERHEAD, handle };
        // The adapter's buffer is no larger than the MAC's queue.
        self.dcf.enqueue(now, station, msdu);
    }

    fn usb_out_completed(&mut self, now: Ns, adapter: usize, times: Times) {
        let a = &mut self.adapters[adapter];
        a.taken -= 1;
        let reported = a.works(now);
        let Some(urb) = a.out.pop_front() else { return };
        self.tap_urb(reported, adapter, List::Out, false, &urb);
        self.urb_row(reported, adapter, List::Out, &urb, times);
        self.usb_submit(now, adapter);
    }

    fn usb_in_completed(&mut self, now: Ns, adapter: usize, times: Times) {
        let a = &mut self.adapters[adapter];
        let Some((urb, packet)) = a.posted.pop_front().zip(a.received.pop_front()) else { return };
        let reported = a.works(now);
        let up = reported + a.driver;
        a.rising.push_back(packet);
        let urb = Urb { packet: Some(packet), bytes: taps::in_bytes(packet.ip_bytes), ..urb };
        self.tap_urb(reported, adapter, List::In, false, &urb);
        self.urb_row(reported, adapter, List::In, &urb, times);
        self.usb_post(up, adapter);
        self.queue.at(up, Event::UsbUp { adapter });
    }

    /// The host gets the oldest received packet.
    pub(super) fn usb_deliver(&mut self, now: Ns, adapter: usize) {
        let a = &mut self.adapters[adapter];
        let node = a.node;
        if let Some(packet) = a.rising.pop_front() {
            self.handed_up(now, node, packet);
        }
    }

    fn usb_post(&mut self, at: Ns, adapter: usize) {
        let a = &mut self.adapters[adapter];
        let submitted = a.works(at);
        let urb = Urb { id: a.next_id(), submitted, packet: None, bytes: IN_ROOM_BYTES, found: 0 };
        a.posted.push_back(urb);
        a.host.post(submitted);
        self.tap_urb(submitted, adapter, List::In, true, &urb);
    }

    fn urb_row(&mut self, now: Ns, adapter: usize, list: List, urb: &Urb, times: Times) {
        self.truth.urbs.push(UrbRow {
            node: self.adapters[adapter].node as u32,
            into_host: list == List::In,
            packet: urb.packet.map_or(0, |p| p.id),
            bytes: urb.bytes,
            submitted: urb.submitted,
            times,
            completed: now,
            found: urb.found,
        });
    }

    fn tap_urb(&mut self, now: Ns, adapter: usize, list: List, submit: bool, urb: &Urb) {
        let a = &self.adapters[adapter];
        let Some(tap) = self.usb_tap.as_mut().filter(|t| t.node == a.node) else { return };
        if tap.clock.misses() {
            return;
        }
        let signal_dbm = self.stations[a.station].config.signal_dbm.round() as i8;
        let noise_dbm = self.air.noise_dbm().round() as i8;
        let (bssid, out) = (a.bssid, list == List::Out);
        let carried = urb.packet.filter(|_| submit == out);
        let record = UrbRecord {
            id: urb.id,
            submit,
            endpoint: if out { ENDPOINT_OUT } else { ENDPOINT_IN },
            device: DEVICE,
            bus: BUS,
            status: 0,
            length: urb.bytes,
            setup: None,
            data_bytes: if carried.is_some() { urb.bytes } else { 0 },
        };
        let (flows, ad_hoc) = (&self.flows, self.ad_hoc);
        let data = |buffer: &mut Gather| {
            if let Some(p) = &carried {
                let (src, dst) = (mac(p.src), mac(p.dst));
                let frame = Prism2 { out, bssid, ad_hoc, src, dst, signal_dbm, noise_dbm, rate_kbps: 11_000 };
                taps::prism2_frame(&frame, p, names(flows, p), buffer);
            }
        };
        let stamp = tap.clock.stamp(now);
        if let Err(e) = tap.file.record(stamp, |buffer| taps::urb_record(&record, stamp, data, buffer)) {
            self.failed.get_or_insert(e);
        }
    }
}
