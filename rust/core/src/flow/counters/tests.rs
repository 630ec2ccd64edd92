use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use proptest::prelude::*;

use super::*;
use crate::packet::Packet;
use crate::table::flows::CounterRows;

fn packet(t_us: i64, payload: u32) -> Packet {
    Packet { time_ns: Some(t_us * 1_000), ip_version: 4, payload_bytes: Some(payload), ..Packet::default() }
}

fn tcp(seq: u32, ack: u32, flags: u16) -> Tcp {
    Tcp { seq, ack, flags, window: 1_000, ..Tcp::default() }
}

#[test]
fn a_short_connection_fills_every_column_of_both_rows() {
    let mut c = ConnectionCounters::default();
    let steps = [
        (0, false, tcp(99, 0, flags::SYN), 0),
        (10, true, tcp(499, 100, flags::SYN | flags::ACK), 0),
        (20, false, tcp(100, 500, flags::ACK), 0),
        (30, false, tcp(100, 500, flags::ACK | flags::PSH), 50),
        (90, false, tcp(100, 500, flags::ACK | flags::PSH), 50),
        (100, true, tcp(500, 150, flags::ACK), 0),
        (110, false, tcp(150, 500, flags::ACK | flags::FIN), 10),
        (120, true, tcp(500, 161, flags::ACK | flags::FIN), 0),
        (130, false, tcp(161, 501, flags::ACK), 0),
    ];
    for (t_us, reverse, tcp, payload) in &steps {
        c.observe(&Counted::new(&packet(*t_us, *payload), tcp), *reverse);
    }
    let mut rows = CounterRows::default();
    c.push_row(false, Some(1_000_000), &mut rows);
    c.push_row(true, Some(1_000_000), &mut rows);
    let batch = rows.finish();
    let count = |name: &str, row: usize| batch[name].as_primitive::<UInt64Type>().value(row);
    let ns = |name: &str, row: usize| batch[name].as_primitive::<Int64Type>().value(row);
    assert_eq!((count("packets", 0), count("packets", 1)), (6, 3));
    assert_eq!((count("unique_bytes", 0), count("data_bytes", 0), count("rexmt_bytes", 0)), (60, 110, 50));
    assert_eq!((count("stream_bytes", 0), ns("missed_bytes", 0)), (60, 0));
    assert_eq!((ns("rtt_handshake_ns", 0), ns("rtt_handshake_ns", 1)), (10_000, 10_000));
    assert_eq!((count("rtt_samples", 0), count("ambiguous_acks", 0)), (2, 1));
    assert_eq!((ns("resend_min_ns", 0), ns("idle_max_ns", 0)), (60_000, 60_000));
    assert_eq!(count("initial_window_bytes", 0), 50);
}

proptest! {
    #[test]
    fn no_packet_panics_and_bytes_add_up(
        packets in prop::collection::vec(
            (any::<bool>(), any::<i64>(), (any::<u32>(), any::<u32>(), any::<u16>(), any::<u16>()),
             prop_oneof![0u32..3000, any::<u32>()], (prop::option::of(any::<u8>()), 0u8..5, any::<[(u32, u32); 4]>())),
            0..120,
        ),
    ) {
        let mut c = ConnectionCounters::default();
        for (reverse, time_ns, (seq, ack, flags, window), payload, (wscale, sack_blocks, sack)) in packets {
            let tcp = Tcp { seq, ack, flags, window, wscale, sack_blocks, sack, ..Tcp::default() };
            let p = Packet { time_ns: Some(time_ns), ip_version: 4, ip_id: Some(ack), payload_bytes: Some(payload), ..Packet::default() };
            c.observe(&Counted::new(&p, &tcp), reverse);
        }
        for d in &c.dir {
            prop_assert!(d.unique_bytes <= d.data_bytes);
            prop_assert!(d.data_packets + d.pure_ack_packets <= d.packets);
        }
        let mut rows = CounterRows::default();
        c.push_row(false, Some(i64::MAX), &mut rows);
        c.push_row(true, None, &mut rows);
        prop_assert_eq!(rows.finish().num_rows(), 2);
    }
}
