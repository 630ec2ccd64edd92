use super::pending::{Pending, Waiting, ARRIVED, FAILED};
use super::purpose::{DELIVERED, RETRY, UNPROVEN};
use super::slices::{Slices, SLICES};
use super::stations::{Stations, REST};

fn waiting(packet: u64, retry: bool) -> Waiting {
    Waiting { station: 2, t_ns: Some(0), airtime_ns: 1, packet, base: DELIVERED, retry }
}

/// What `keep` decides of the packets 3, 1, 2, 2 and 9, of which only some have an exchange.
fn settled(keep: usize) -> Vec<(u64, u8)> {
    let frames = [3, 1, 2, 2, 9].map(|packet| waiting(packet, packet == 1)).to_vec();
    let mut pending = Pending { frames, answers: vec![(9, 2), (2, ARRIVED), (2, FAILED), (3, FAILED)] };
    let mut found = Vec::new();
    pending.settle(keep, |frame, purpose| found.push((frame.packet, purpose)));
    found
}

#[test]
fn an_exchange_decides_and_without_one_the_retry_bit_does() {
    let all = vec![(3, RETRY), (1, RETRY), (2, DELIVERED), (2, DELIVERED), (9, UNPROVEN)];
    assert_eq!(settled(0), all);
    // The latest four may wait; only packet 1 has to.
    assert_eq!(settled(4), [&all[..1], &all[2..]].concat());
}

#[test]
fn slices_widen_and_lose_nothing() {
    let mut slices = Slices::default();
    let times = [0, 5_000_000, 16_777_000, 1_000_000_000, i64::MAX];
    times.iter().for_each(|t| slices.add(Some(*t), 1, 100_000));
    slices.add(None, 1, 5);
    slices.add(Some(-1), 1, 5);
    slices.add(Some(1), 1, -1);
    assert_eq!(slices.slices.len(), SLICES);
    assert_eq!(slices.slices.iter().map(|s| s.ns[1]).sum::<i64>(), times.len() as i64 * 100_000);
    assert_eq!(slices.slices.iter().map(|s| s.frames[1]).sum::<u64>(), times.len() as u64);
}

#[test]
fn the_busiest_stations_keep_their_row_and_their_network() {
    let mut stations = Stations::default();
    for (address, frames) in [("a", 1), ("b", 9), ("c", 3), ("d", 9)] {
        let number = stations.number(address) as usize;
        stations.sums[number].frames = frames;
    }
    (stations.sums[3].bssid, stations.sums[5].bssid) = (Some(5), Some(2));
    assert_eq!(stations.prune(2), [0, 1, REST, 2, REST, 3]);
    assert_eq!((stations.named(), stations.address(2), stations.address(3)), (2, Some("b"), Some("d")));
    assert_eq!((stations.sums[1].frames, stations.sums[2].bssid, stations.sums[3].bssid), (4, Some(3), None));
    assert_eq!((stations.known("d"), stations.known("a")), (Some(3), None));
}
