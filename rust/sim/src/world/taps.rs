//! Hosts' taps, and the addresses and names that taps write.

use super::{Flow, Station, World, BEACON_BYTES};
use crate::config;
use crate::dcf::{AirFrame, StationId};
use crate::engine::Ns;
use crate::limits::FIRST_PORT;
use crate::packet::Packet;
use crate::taps::{self, Gather, Names, Roles};

impl World {
    pub(super) fn tap_host(&mut self, now: Ns, node: usize, p: &Packet) {
        if p.src == node {
            if let Some(row) = self.truth.row(p.id) {
                row.tapped.get_or_insert(now);
            }
        }
        for tap in self.taps.iter_mut().flatten().filter(|t| t.node == node) {
            if tap.clock.misses() {
                continue;
            }
            let flows = &self.flows;
            let written = tap.file.record(tap.clock.stamp(now), |out| {
                taps::ethernet(mac(p.dst), mac(p.src), out);
                taps::write_ip(p, names(flows, p), out);
            });
            if let Err(e) = written {
                self.failed.get_or_insert(e);
            }
        }
    }
}

/// Locally administered, with the node's number at the end.
pub(super) fn mac(node: usize) -> [u8; 6] {
    let n = (node as u32 + 1).to_be_bytes();
    [0x02, 0, n[0], n[1], n[2], n[3]]
}

pub(super) fn address(node: usize) -> [u8; 4] {
    let n = (node as u16 + 1).to_be_bytes();
    [10, 0, n[0], n[1]]
}

pub(super) fn names<'a>(flows: &'a [Flow], p: &Packet) -> &'a Names {
    &flows[p.flow].names[usize::from(p.reverse)]
}

/// Addresses and ports of a flow's packets: its client's, then its server's.
pub(super) fn flow_names(number: usize, f: &config::Flow, isn: [u32; 2]) -> [Names; 2] {
    let tcp = f.tcp.as_ref();
    let nodes = [f.client, f.server];
    // Datagrams go to the discard service: decoders interpret other ports as protocols.
    let ports = [FIRST_PORT + number as u16, if tcp.is_some() { 5_001 } else { 9 }];
    let window = tcp.map_or(0, |t| t.receive_window_bytes);
    [(0, 1), (1, 0)].map(|(me, peer)| Names {
        src: address(nodes[me]),
        dst: address(nodes[peer]),
        src_port: ports[me],
        dst_port: ports[peer],
        isn: isn[me],
        peer_isn: isn[peer],
        mss: tcp.map_or(0, |t| t.mss_bytes.min(0xffff) as u16),
        wscale: (0..=14).find(|s| window >> s <= 0xffff).unwrap_or(14),
        sack_permitted: tcp.is_some_and(|t| t.sack),
    })
}

pub(super) fn roles(stations: &[Station], ad_hoc: bool, f: &AirFrame, p: Option<&Packet>) -> Roles {
    let of = |s: StationId| mac(stations[s].node);
    let (ta, ra) = (of(f.from), f.to.map_or([0xff; 6], of));
    let from_ap = stations[f.from].config.access_point;
    let third = match p {
        // The BSSID of an ad hoc cell: that of its first station.
        _ if ad_hoc => of(0),
        Some(p) if from_ap => mac(p.src),
        Some(p) => mac(p.dst),
        None => ta,
    };
    let data = p.is_some() && !ad_hoc;
    Roles { ra, ta, third, to_ds: data && !from_ap, from_ds: data && from_ap }
}

/// Timestamp, interval, capabilities, SSID, rates, channel, padded to `BEACON_BYTES`.
pub(super) fn beacon_body(start: Ns, out: &mut Gather) {
    let begin = out.mark();
    out.put(&(start / 1000).to_le_bytes());
    out.put(&100u16.to_le_bytes());
    out.put(&[0x21, 0]);
    out.put(&[0, 8]);
    out.put(b"wlanlens");
    out.put(&[1, 4, 0x82, 0x84, 0x8b, 0x96, 3, 1, 1]);
    // A vendor's element fills the rest.
    let rest = (BEACON_BYTES as usize - 28) - out.since(begin) - 2;
    out.put(&[221, rest as u8]);
    out.put(&[0; BEACON_BYTES as usize][..rest]);
}
