//! The true ledger: it sums to each direction's life, and each category is what the simulator did.

use serde_json::{json, Value};
use wlanlens_sim::config;
use wlanlens_sim::truth::{Category, LedgerRow, Truth};
use wlanlens_sim::world::World;

const MS: u64 = 1_000_000;

fn line() -> Value {
    json!({
        "seed": 1, "duration_s": 20.0, "epoch_ns": 1_000_000_000_000_000_000i64, "ledger": true,
        "nodes": [{"name": "a", "queue_packets": 100}, {"name": "b", "queue_packets": 100}],
        "wires": [{"a": 0, "b": 1, "rate_bps": 5e6, "delay_s": 0.01, "header_bytes": 18, "queue_packets": 1000}],
        "flows": [{"client": 0, "server": 1, "start_s": 0.0, "application": {"kind": "file", "bytes": 1_000_000}, "tcp": tcp()}]
    })
}

fn tcp() -> Value {
    json!({
        "mss_bytes": 1448, "initial_window_segments": 10, "receive_window_bytes": 65535, "sack": true, "dsack": true,
        "fack": false, "timestamps": true, "recovery": "newreno", "prr": true, "limited_transmit": true,
        "nagle": true, "delayed_ack_segments": 2, "delayed_ack_timer_s": 0.04, "quick_acks": 16, "rto": "linux",
        "rto_min_s": 0.2, "eifel": true, "eifel_first_stamp_defect": false, "frto": false, "tail_loss_probe": false
    })
}

/// Two stations, one sends to the other.
fn air() -> Value {
    let station = |node: usize| {
        json!({
            "node": node, "access_point": false, "cw_min": 31, "cw_max": 1023, "short_retry_limit": 7, "long_retry_limit": 4,
            "rts_threshold_bytes": 3000, "short_preamble": false, "control_rate_mbps": 2.0, "queue_frames": 50,
            "post_backoff": true, "rate_control": {"kind": "fixed", "rate_mbps": 11.0}, "signal_dbm": -45.0
        })
    };
    let mut w = line();
    w["wires"] = json!([]);
    w["cell"] = json!({"stations": [station(0), station(1)], "ad_hoc": true, "beacons": false, "channel_mhz": 2412});
    w["flows"][0]["tcp"]["receive_window_bytes"] = json!(32768);
    w
}

fn run(description: Value) -> Truth {
    let c: config::World = serde_json::from_value(description).unwrap();
    let mut w = World::new(c).unwrap().unwrap();
    while w.run(u64::MAX).unwrap() {}
    w.finish().unwrap()
}

/// The rows of flow 0 from its client, which leave no gap.
fn ledger(t: &Truth) -> Vec<LedgerRow> {
    let rows = t.ledger_rows();
    for w in rows.windows(2).filter(|w| (w[0].flow, w[0].reverse) == (w[1].flow, w[1].reverse)) {
        assert!(w[0].end == w[1].start && w[0].category != w[1].category, "{w:?}");
    }
    assert!(rows.iter().all(|r| r.start < r.end));
    rows.into_iter().filter(|r| r.flow == 0 && !r.reverse).collect()
}

/// ms of a category.
fn spent(rows: &[LedgerRow], category: Category) -> f64 {
    rows.iter().filter(|r| r.category == category).map(|r| (r.end - r.start) as f64 / MS as f64).sum()
}

fn all_of(rows: &[LedgerRow], categories: &[Category]) -> f64 {
    categories.iter().map(|c| spent(rows, *c)).sum()
}

#[test]
fn a_life_begins_with_the_syn_and_ends_with_the_last_ack() {
    let t = run(line());
    let rows = ledger(&t);
    let last = t.packets.iter().filter(|p| p.reverse).map(|p| p.ended).max().unwrap();
    assert_eq!((rows[0].start, rows.last().unwrap().end), (t.packets[0].made, last));
    assert_eq!(rows[0].category, Category::Handshake);
    // A line of 5 Mb/s is full from the first round trip on: 1 MB takes 1.65 s with headers.
    assert!((1580.0..1720.0).contains(&spent(&rows, Category::Path)), "{}", spent(&rows, Category::Path));
    assert_eq!(all_of(&rows, &[Category::Queue, Category::RtoWait, Category::ReceiverWindow]), 0.0);
}

#[test]
fn without_the_wish_for_it_nothing_is_recorded() {
    let mut w = line();
    w["ledger"] = json!(false);
    assert_eq!(run(w).ledger_rows(), []);
}

#[test]
fn a_small_window_limits_and_one_that_fills_the_line_does_not() {
    let limited = |window: u32| {
        let mut w = line();
        w["flows"][0]["tcp"]["receive_window_bytes"] = json!(window);
        spent(&ledger(&run(w)), Category::ReceiverWindow)
    };
    // The line holds 12.5 KB and a packet in each queue.
    assert!(limited(8 * 1448) > 800.0, "{}", limited(8 * 1448));
    assert!(limited(24 * 1448) < 10.0, "{}", limited(24 * 1448));
    // One ACK answers two segments: ten keep the line busy for 23.9 of 24.8 ms, and eight for 19.1.
    assert!(limited(10 * 1448) < 10.0, "{}", limited(10 * 1448));
}

#[test]
fn a_closed_window_is_the_receivers_and_a_pause_the_applications() {
    let mut w = line();
    w["flows"][0]["reader"] = json!({"bytes": 1 << 20, "every_s": 0.001, "pauses_s": [[1.0, 6.0]]});
    let rows = ledger(&run(w));
    assert!((5600.0..6400.0).contains(&spent(&rows, Category::ReceiverWindow)), "{rows:?}");
    let mut w = line();
    w["flows"][0]["application"] = json!({"kind": "paced", "bytes": 1000, "every_s": 1.0});
    let rows = ledger(&run(w));
    assert!(
        (18_000.0..19_100.0).contains(&spent(&rows, Category::Application)),
        "{}",
        spent(&rows, Category::Application)
    );
    assert_eq!(spent(&rows, Category::ReceiverWindow), 0.0);
}

#[test]
fn a_blackout_is_timers_and_then_recovery() {
    let mut w = line();
    w["wires"][0]["blackouts_s"] = json!([[0.5, 1.5]]);
    let t = run(w);
    let rows = ledger(&t);
    let expiries = t.events.iter().filter(|e| e.what == "timeout").count();
    assert!(expiries >= 2, "{expiries}");
    let timers = all_of(&rows, &[Category::RtoWait, Category::RtoBackoff]);
    assert!((1450.0..2300.0).contains(&timers) && spent(&rows, Category::RtoBackoff) > spent(&rows, Category::RtoWait));
    assert!(all_of(&rows, &[Category::LossRecovery, Category::FastRecovery]) > 1.0);
    assert_eq!(spent(&rows, Category::SpuriousRecovery), 0.0);
}

#[test]
fn nothing_is_lost_when_acks_are_held() {
    let mut w = line();
    w["wires"][0]["holds_s"] = json!([[0.5, 0.6]]);
    // Neither timestamps nor DSACK nor F-RTO: the sender never learns that its timeout was spurious.
    for name in ["eifel", "dsack", "timestamps"] {
        w["flows"][0]["tcp"][name] = json!(false);
    }
    let rows = ledger(&run(w));
    assert_eq!(all_of(&rows, &[Category::LossRecovery, Category::FastRecovery, Category::Queue]), 0.0);
    assert!((300.0..650.0).contains(&all_of(&rows, &[Category::RtoWait, Category::RtoBackoff])));
}

#[test]
fn a_lost_segment_is_fast_recovery_for_a_round_trip() {
    let mut w = line();
    w["wires"][0]["lose_data"] = json!([200]);
    let rows = ledger(&run(w));
    assert!((20.0..200.0).contains(&spent(&rows, Category::FastRecovery)), "{}", spent(&rows, Category::FastRecovery));
    assert_eq!(all_of(&rows, &[Category::RtoWait, Category::LossRecovery, Category::SpuriousRecovery]), 0.0);
}

#[test]
fn a_lost_syn_waits_for_its_timer() {
    let mut w = line();
    w["wires"][0]["blackouts_s"] = json!([[0.0, 1.5]]);
    let rows = ledger(&run(w));
    assert_eq!(
        (rows[0].category, rows[1].category, rows[2].category),
        (Category::RtoWait, Category::RtoBackoff, Category::Handshake)
    );
    assert_eq!((rows[0].end / MS, rows[1].end / MS), (1000, 3000));
    assert!((20.0..22.0).contains(&spent(&rows, Category::Handshake)));
}

#[test]
fn a_single_segment_waits_for_the_receivers_timer() {
    let mut w = line();
    w["flows"][0]["tcp"]["receive_window_bytes"] = json!(1448);
    w["flows"][0]["tcp"]["quick_acks"] = json!(0);
    w["flows"][0]["application"]["bytes"] = json!(144_800);
    let rows = ledger(&run(w));
    // 100 segments of 40 ms; the last one, with FIN, is acknowledged at once.
    assert!((3900.0..4010.0).contains(&spent(&rows, Category::DelayedAck)), "{}", spent(&rows, Category::DelayedAck));
}

#[test]
fn another_flows_queue_delays_a_thin_flow_and_no_bulk_flow() {
    let mut w = line();
    let bulk = json!({"client": 0, "server": 1, "start_s": 0.0, "application": {"kind": "bulk"}, "tcp": tcp()});
    let thin = json!({"client": 0, "server": 1, "start_s": 1.0, "application": {"kind": "paced", "bytes": 100, "every_s": 0.5}, "tcp": tcp()});
    w["flows"] = json!([bulk.clone(), bulk, thin]);
    let t = run(w);
    assert!(spent(&ledger(&t), Category::Queue) < 300.0, "{}", spent(&ledger(&t), Category::Queue));
    let rows: Vec<LedgerRow> = t.ledger_rows().into_iter().filter(|r| r.flow == 2).collect();
    // 39 writes behind two windows of 64 KB, 210 ms.
    assert!((4000.0..9000.0).contains(&spent(&rows, Category::Queue)), "{}", spent(&rows, Category::Queue));
}

#[test]
fn the_air_is_divided_and_sums_up() {
    let t = run(air());
    let rows = ledger(&t);
    let useful = spent(&rows, Category::AirUseful);
    let life = (rows.last().unwrap().end - rows[0].start) as f64 / MS as f64;
    assert!(useful > 0.9 * life && spent(&rows, Category::AirRetries) > 0.0, "{useful} of {life}");
    // Nobody else is there, and no line.
    assert_eq!(spent(&rows, Category::Path), 0.0, "{rows:?}");
    // Datagrams of the other station take half of the air.
    let mut w = air();
    w["flows"][0]["tcp"]["receive_window_bytes"] = json!(1 << 20);
    let udp = json!({"kind": "udp", "payload_bytes": 1472, "rate_bps": 3e6});
    w["flows"].as_array_mut().unwrap().push(json!({"client": 1, "server": 0, "start_s": 0.0, "application": udp}));
    let rows = ledger(&run(w));
    assert!(spent(&rows, Category::AirOthers) > 500.0, "{}", spent(&rows, Category::AirOthers));
}

#[test]
fn a_syn_acks_timer_delays_nobody_who_has_its_answer_under_way() {
    let mut w = line();
    w["wires"][0]["delay_s"] = json!(1.2);
    let rows = ledger(&run(w));
    // The SYN's timer expires after 1 s, that of the SYN+ACK after 2.2 s; its first copy arrives after 2.4 s.
    assert_eq!((rows[0].category, rows[1].category), (Category::RtoWait, Category::Handshake), "{rows:?}");
    assert_eq!((rows[0].end / MS, rows[1].end / MS), (1000, 2400));
}

#[test]
fn a_timer_that_expires_while_the_data_is_in_its_hosts_queue_costs_nothing() {
    // Forty connections of one station, each with ten segments: its queue holds them for longer than a first timer.
    let mut w = air();
    w["duration_s"] = json!(1.0);
    w["nodes"][0]["queue_packets"] = json!(1000);
    w["cell"]["stations"][0]["rate_control"]["rate_mbps"] = json!(2.0);
    for probes in [false, true] {
        let mut flow = w["flows"][0].clone();
        flow["tcp"]["tail_loss_probe"] = json!(probes);
        w["flows"] = json!(vec![flow; 40]);
        let t = run(w.clone());
        let last = t.ledger_rows().into_iter().filter(|r| r.flow == 39 && !r.reverse).collect::<Vec<_>>();
        assert!(probes || t.events.iter().any(|e| e.flow == 39 && e.what == "timeout"), "{last:?}");
        let timers = [Category::RtoWait, Category::SpuriousRecovery, Category::SlowStart];
        assert_eq!(all_of(&last, &timers), 0.0, "{probes} {last:?}");
        assert!(spent(&last, Category::AirOthers) > 0.5, "{last:?}");
    }
}
