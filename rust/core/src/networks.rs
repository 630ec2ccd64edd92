//! The networks announced in a capture: one row per BSS and name.

use arrow_array::RecordBatch;
use rustc_hash::FxHashMap;

use crate::frame::{Frame, Mac};
use crate::limits;
use crate::notes::{NoteKind, Notes};
use crate::table::frames::text;
use crate::table::networks::NetworkRows;
use crate::wire::beacon::{announcement, Announcement, Source, Ssid};

/// The state of one network.
#[derive(Debug, Clone, Copy)]
struct Network {
    /// The latest announcement with the most information: beacons and probe responses have more than association requests.
    latest: Announcement,
    /// Beacons, probe responses, association requests.
    counts: [u64; 3],
    packets: [u64; 2],
    times_ns: [Option<i64>; 2],
}

/// The networks of one capture.
#[derive(Debug, Default)]
pub struct Networks {
    by_name: FxHashMap<(Mac, Ssid), usize>,
    networks: Vec<Network>,
    notes: Notes,
}

impl Networks {
    /// The next frame; `body` is what was captured after its MAC header.
    pub fn observe(&mut self, frame: &Frame, body: &[u8], start_ns: i64) {
        if frame.fcs_ok == Some(false) {
            return;
        }
        let Some(said) = announcement(frame, body) else { return };
        let t_ns = frame.time_ns.and_then(|t| t.checked_sub(start_ns));
        let at = match self.by_name.get(&(said.bssid, said.ssid)) {
            Some(&at) => at,
            None if self.networks.len() >= limits::NETWORKS => {
                self.notes.add(NoteKind::TooManyNetworks, frame.number, 0);
                return;
            }
            None => {
                let (packets, times_ns) = ([frame.number; 2], [t_ns; 2]);
                self.networks.push(Network { latest: said, counts: [0; 3], packets, times_ns });
                self.by_name.insert((said.bssid, said.ssid), self.networks.len() - 1);
                self.networks.len() - 1
            }
        };
        let network = &mut self.networks[at];
        network.counts[said.source as usize] += 1;
        network.packets[1] = frame.number;
        network.times_ns[0] = network.times_ns[0].or(t_ns);
        network.times_ns[1] = t_ns.or(network.times_ns[1]);
        if said.source != Source::Association || network.latest.source == Source::Association {
            network.latest = Announcement { channel: said.channel.or(network.latest.channel), ..said };
        }
    }

    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    pub fn is_empty(&self) -> bool {
        self.networks.is_empty()
    }

    /// All networks, in the order of their first announcement.
    pub fn finish(&mut self) -> RecordBatch {
        const TIME_UNIT_US: u32 = 1024;
        let mut rows = NetworkRows::default();
        let (mut bssids, mut names) = (FxHashMap::default(), FxHashMap::default());
        for n in std::mem::take(&mut self.networks) {
            let said = n.latest;
            let bssid = *bssids.entry(said.bssid).or_insert_with(|| rows.bssid.intern(text(said.bssid)));
            rows.bssid.push_key(Some(bssid));
            let mut name = || *names.entry(said.ssid.text()).or_insert_with_key(|t| rows.ssid.intern(t.clone()));
            let name = (!said.ssid.hidden()).then(&mut name);
            rows.ssid.push_key(name);
            rows.channel.push_opt(said.channel);
            rows.beacon_interval_us.push_opt(said.interval_tu.map(|tu| u32::from(tu) * TIME_UNIT_US));
            rows.security.push_opt(said.security.map(|s| s as i8));
            rows.beacons.push(n.counts[0]);
            rows.probe_responses.push(n.counts[1]);
            rows.associations.push(n.counts[2]);
            rows.first_packet.push(n.packets[0]);
            rows.last_packet.push(n.packets[1]);
            rows.t_first_ns.push_opt(n.times_ns[0]);
            rows.t_last_ns.push_opt(n.times_ns[1]);
        }
        self.by_name.clear();
        rows.finish()
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::UInt64Type;
    use arrow_array::Array;

    use super::*;

    fn beacon(number: u64, bssid: u8) -> Frame {
        Frame { number, control: Some(0x0080), address_3: Some([bssid; 6]), time_ns: Some(5), ..Frame::default() }
    }

    fn body(ssid: &[u8]) -> Vec<u8> {
        [&[0; 12][..], &[0, u8::try_from(ssid.len()).unwrap()], ssid].concat()
    }

    #[test]
    fn a_row_a_name() {
        let mut networks = Networks::default();
        for (number, bssid, name) in [(1, 1, "a"), (2, 1, "a"), (3, 1, ""), (4, 2, "a")] {
            networks.observe(&beacon(number, bssid), &body(name.as_bytes()), 5);
        }
        networks.observe(&Frame { fcs_ok: Some(false), ..beacon(5, 3) }, &body(b"noise"), 5);
        let batch = networks.finish();
        assert_eq!(batch.num_rows(), 3);
        let beacons = batch.column_by_name("beacons").unwrap().as_primitive::<UInt64Type>();
        assert_eq!(beacons.values().as_ref(), [2, 1, 1]);
        assert!(batch.column_by_name("ssid").unwrap().is_null(1));
        assert_eq!(networks.finish().num_rows(), 0);
    }

    #[test]
    fn a_flood_of_names_is_bounded() {
        let mut networks = Networks::default();
        for i in 0..limits::NETWORKS as u64 + 3 {
            networks.observe(&beacon(i, 1), &body(&i.to_le_bytes()), 0);
        }
        assert_eq!(networks.finish().num_rows(), limits::NETWORKS);
        assert_eq!(networks.notes().get(NoteKind::TooManyNetworks).count, 3);
    }
}
