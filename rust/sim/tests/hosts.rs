//! TCP between two hosts on a line: each mechanism has its effect, and has none when switched off.

use serde_json::{json, Value};
use wlanlens_sim::config;
use wlanlens_sim::truth::{PacketFate, PacketRow, Truth};
use wlanlens_sim::world::World;

const MS: u64 = 1_000_000;

fn line() -> Value {
    json!({
        "seed": 1, "duration_s": 20.0, "epoch_ns": 1_000_000_000_000_000_000i64,
        "nodes": [{"name": "a", "queue_packets": 100}, {"name": "b", "queue_packets": 100}],
        "wires": [{"a": 0, "b": 1, "rate_bps": 5e6, "delay_s": 0.01, "header_bytes": 18, "queue_packets": 1000}],
        "flows": [{"client": 0, "server": 1, "start_s": 0.0, "application": {"kind": "file", "bytes": 1_000_000}, "tcp": {
            "mss_bytes": 1448, "initial_window_segments": 10, "receive_window_bytes": 65535, "sack": true, "dsack": true,
            "fack": false, "timestamps": true, "recovery": "newreno", "prr": true, "limited_transmit": true,
            "nagle": true, "delayed_ack_segments": 2, "delayed_ack_timer_s": 0.04, "quick_acks": 16, "rto": "linux",
            "rto_min_s": 0.2, "eifel": true, "eifel_first_stamp_defect": false, "frto": false, "tail_loss_probe": false
        }}]
    })
}

fn run(description: Value) -> Truth {
    let c: config::World = serde_json::from_value(description).unwrap();
    let mut w = World::new(c).unwrap().unwrap();
    while w.run(u64::MAX).unwrap() {}
    w.finish().unwrap()
}

fn sent(t: &Truth) -> Vec<&PacketRow> {
    t.packets.iter().filter(|p| !p.reverse).collect()
}

fn received(t: &Truth) -> u64 {
    t.packets.iter().filter(|p| p.reverse).map(|p| p.ack).max().unwrap_or(0)
}

fn events<'a>(t: &'a Truth, what: &'a str) -> impl Iterator<Item = u64> + 'a {
    t.events.iter().filter(move |e| e.what == what).map(|e| e.t)
}

#[test]
fn a_paused_reader_closes_the_window_and_is_probed_with_backoff() {
    let mut w = line();
    w["flows"][0]["reader"] = json!({"bytes": 1 << 20, "every_s": 0.001, "pauses_s": [[1.0, 6.0]]});
    let t = run(w.clone());
    let probes: Vec<u64> = events(&t, "window_probe").collect();
    assert!(probes.len() >= 4, "{probes:?}");
    let gaps: Vec<u64> = probes.windows(2).map(|p| p[1] - p[0]).collect();
    assert!(gaps.windows(2).all(|g| (1.95..2.05).contains(&(g[1] as f64 / g[0] as f64))), "{gaps:?}");
    // It is no timeout, no byte is sent twice, and all data arrives in the end.
    assert_eq!((events(&t, "timeout").count(), received(&t)), (0, 1_000_002));
    assert!(sent(&t).iter().all(|p| p.copy == 0));
    // With an immediate reader the window never closes.
    w["flows"][0]["reader"] = Value::Null;
    assert_eq!(events(&run(w), "window_probe").count(), 0);
}

#[test]
fn a_slow_reader_limits_the_rate_in_whole_segments() {
    let mut w = line();
    w["flows"][0]["application"]["bytes"] = json!(200_000);
    w["flows"][0]["reader"] = json!({"bytes": 200, "every_s": 0.004});
    let smallest = |avoidance: bool| {
        let mut w = w.clone();
        w["flows"][0]["tcp"]["silly_window_avoidance"] = json!(avoidance);
        // The application's last segment may be small.
        let t = run(w);
        let small = sent(&t).iter().filter(|p| p.len > 0 && p.len < 1448 && p.seq + 1448 < 200_001).count();
        (small, received(&t))
    };
    let (small, got) = smallest(true);
    assert_eq!((small, got), (0, 200_002));
    assert!(smallest(false).0 > 20, "{:?}", smallest(false));
}

#[test]
fn small_writes_wait_for_the_acks_of_earlier_ones() {
    let segments = |nagle: bool, minshall: bool| {
        let mut w = line();
        w["duration_s"] = json!(2.0);
        w["flows"][0]["application"] = json!({"kind": "paced", "bytes": 100, "every_s": 0.002});
        w["flows"][0]["tcp"]["nagle"] = json!(nagle);
        w["flows"][0]["tcp"]["minshall"] = json!(minshall);
        let t = run(w);
        let n = sent(&t).iter().filter(|p| p.len > 0).count();
        n
    };
    let (with, without) = (segments(true, false), segments(false, false));
    // One per round trip of 20 ms, against one per write.
    assert!(with < 110 && without > 900, "{with} {without}");
    assert!(segments(true, true) < 110);
}

#[test]
fn an_idle_connection_sends_keep_alives() {
    let asked = |keep_alive_s: f64| {
        let mut w = line();
        w["flows"][0]["application"] = json!({"kind": "paced", "bytes": 1000, "every_s": 8.0});
        w["flows"][0]["tcp"]["keep_alive_s"] = json!(keep_alive_s);
        let t = run(w);
        let old: Vec<&PacketRow> = t.packets.iter().filter(|p| !p.reverse && p.len == 0 && p.seq + 1 == 1001).collect();
        old.len()
    };
    assert!(asked(1.0) >= 6, "{}", asked(1.0));
    assert_eq!(asked(0.0), 0);
}

/// Two holds of ACKs, each longer than the timeout.
fn held(defect: bool) -> Truth {
    let mut w = line();
    w["wires"][0]["holds_s"] = json!([[2.0, 0.5], [6.0, 0.5]]);
    w["flows"][0]["application"] = json!({"kind": "bulk"});
    w["flows"][0]["tcp"]["eifel_first_stamp_defect"] = json!(defect);
    // The study's receiver reports no duplicates, which would undo it later.
    w["flows"][0]["tcp"]["dsack"] = json!(false);
    w["duration_s"] = json!(9.0);
    run(w)
}

#[test]
fn the_first_spurious_timeout_is_not_undone_with_the_timestamp_of_the_syn() {
    let after =
        |t: &Truth, from: u64, to: u64| sent(t).iter().filter(|p| p.copy > 0 && (from..to).contains(&p.made)).count();
    let t = held(true);
    let undone: Vec<u64> = events(&t, "timeout_undone").collect();
    assert_eq!(events(&t, "timeout").count(), 2);
    // The first is not undone: all outstanding data is retransmitted; the second is, and only the timer's own segment is.
    assert!(undone.len() == 1 && undone[0] > 6_000 * MS, "{undone:?}");
    assert!(after(&t, 2_000 * MS, 6_000 * MS) > 10 && after(&t, 6_000 * MS, 9_000 * MS) == 1);
    // Without the defect both are undone.
    let t = held(false);
    assert_eq!(events(&t, "timeout_undone").count(), 2);
    assert_eq!(after(&t, 0, 9_000 * MS), 2);
}

#[test]
fn spurious_retransmissions_begin_no_fast_retransmission_without_sack_blocks() {
    // The receiver reports no duplicates: its duplicate ACKs show no hole.
    let mut w = line();
    w["wires"][0]["holds_s"] = json!([[2.0, 0.5]]);
    w["flows"][0]["application"] = json!({"kind": "bulk"});
    w["flows"][0]["tcp"]["eifel"] = json!(false);
    w["flows"][0]["tcp"]["dsack"] = json!(false);
    w["duration_s"] = json!(4.0);
    let t = run(w.clone());
    assert!(events(&t, "third_duplicate").count() >= 1);
    assert_eq!(events(&t, "recovery_began").count(), 0);
    // A lost segment's duplicate ACKs have SACK blocks, and begin one.
    w["wires"][0]["holds_s"] = json!([]);
    w["wires"][0]["lose_data"] = json!([300]);
    let t = run(w);
    assert_eq!((events(&t, "third_duplicate").count(), events(&t, "recovery_began").count()), (1, 1));
}

#[test]
fn duplicates_are_reported_if_agreed() {
    // Every retransmission was spurious; with DSACK the sender detects it and undoes the timeout without timestamps.
    let undone = |dsack: bool| {
        let mut w = line();
        w["wires"][0]["holds_s"] = json!([[2.0, 0.5]]);
        w["flows"][0]["application"] = json!({"kind": "bulk"});
        w["flows"][0]["tcp"]["timestamps"] = json!(false);
        w["flows"][0]["tcp"]["dsack"] = json!(dsack);
        w["duration_s"] = json!(4.0);
        let t = run(w);
        (events(&t, "timeout").count(), events(&t, "timeout_undone").count() + events(&t, "recovery_undone").count())
    };
    assert_eq!(undone(false), (1, 0));
    assert_eq!(undone(true), (1, 1));
}

#[test]
fn retransmissions_queued_in_the_device_pass_the_tap_after_the_ack_that_covers_them() {
    // The sender returns to the hole at 2.5 s faster than the line takes packets.
    let late = |queue: usize| {
        let mut w = line();
        w["wires"][0]["holds_s"] = json!([[2.0, 0.5]]);
        w["flows"][0]["application"] = json!({"kind": "bulk"});
        w["flows"][0]["tcp"]["eifel"] = json!(false);
        w["duration_s"] = json!(4.0);
        // The sender's tap is after the queue: a line without one drops instead.
        w["wires"][0]["queue_packets"] = json!(queue);
        let t = run(w);
        let acked = |at: u64| {
            t.packets
                .iter()
                .filter(|a| a.reverse && a.fate == PacketFate::Delivered && a.ended <= at)
                .map(|a| a.ack)
                .max()
        };
        let n = sent(&t)
            .iter()
            .filter(|p| {
                p.copy > 0 && p.len > 0 && p.tapped.is_some_and(|at| Some(p.seq + u64::from(p.len)) <= acked(at))
            })
            .count();
        n
    };
    assert!(late(100) > 10, "{}", late(100));
    assert!(late(0) < 3, "{}", late(0));
}

#[test]
fn lost_acks_alone_cause_spurious_timeouts() {
    let mut w = line();
    w["wires"][0]["ack_blackouts_s"] = json!([[1.0, 1.5]]);
    let t = run(w);
    assert!(events(&t, "timeout").count() >= 2);
    assert!(t.packets.iter().all(|p| p.reverse || p.fate == PacketFate::Delivered));
    let mut w = line();
    w["wires"][0]["lose_acks"] = json!([5, 6, 7]);
    let t = run(w);
    assert_eq!(t.packets.iter().filter(|p| p.reverse && p.fate == PacketFate::Wire).count(), 3);
    assert_eq!((events(&t, "timeout").count(), received(&t)), (0, 1_000_002));
}
