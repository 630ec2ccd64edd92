//! The pieces of a direction.

use super::super::intervals::Timeline;
use super::super::kinds::State;
use super::super::piece::Piece;
use super::*;
use crate::table::tcp::IntervalRows;

#[test]
fn what_is_renamed_late_is_counted_from_about_where_it_began() {
    // 500 ACKs of 1000 bytes, one each ms: more than are marked. Then data shows that the path has been full since the fifth.
    let mut timeline = Timeline::new(0, MS);
    for n in 1..=500u32 {
        timeline.pass(Piece {
            start: 0,
            end: i64::from(n) * MS,
            state: State::Transfer,
            timeout: None,
            first_packet: u64::from(n),
            last_packet: u64::from(n),
            packets: 1,
            acked: 1000,
            flight: 10_000,
            window: None,
            rtt_sum: 0,
            rtt_count: 0,
            rtt_least: i64::MAX,
        });
        timeline.acked();
    }
    timeline.filled_path(5 * MS);
    let mut rows = IntervalRows::default();
    timeline.finish(&mut rows, 0, false);
    let t = rows.finish();
    let first = t.column_by_name("first_packet").unwrap().as_primitive::<UInt64Type>().values().to_vec();
    let acked = t.column_by_name("acked_bytes").unwrap().as_primitive::<UInt64Type>().values().to_vec();
    assert!(first[0] == 1 && first[1] <= 5, "{first:?}");
    assert!(acked[0] <= 5000 && acked[1] >= 495_000, "{acked:?}");
}
