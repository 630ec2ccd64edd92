//! Lines and routers in whole worlds: each mechanism has its effect, and has none when switched off.

use serde_json::{json, Value};
use wlanlens_sim::config;
use wlanlens_sim::truth::{PacketFate, Truth};
use wlanlens_sim::world::World;

/// Datagrams of 1000 bytes every 10 ms from a to b, over a router with two lines of 1 Mb/s.
fn world(change: impl Fn(&mut Value)) -> Truth {
    let line = |a: usize, b: usize| json!({"a": a, "b": b, "rate_bps": 1e6, "delay_s": 0.001, "header_bytes": 0, "queue_packets": 5});
    let mut w = json!({
        "seed": 1, "duration_s": 20.0, "epoch_ns": 0,
        "nodes": [
            {"name": "a", "queue_packets": 10}, {"name": "b", "queue_packets": 10}, {"name": "router", "queue_packets": 10}
        ],
        "wires": [line(0, 2), line(2, 1)],
        "flows": [{
            "client": 0, "server": 1, "start_s": 0.0,
            "application": {"kind": "udp", "payload_bytes": 1000, "rate_bps": 800_000.0}
        }]
    });
    change(&mut w);
    let c: config::World = serde_json::from_value(w).unwrap();
    let mut w = World::new(c).unwrap().unwrap();
    while w.run(u64::MAX).unwrap() {}
    w.finish().unwrap()
}

fn lost(t: &Truth, fate: PacketFate) -> Vec<f64> {
    t.packets.iter().filter(|p| p.fate == fate).map(|p| p.ended as f64 / 1e9).collect()
}

#[test]
fn a_router_loses_packets_at_the_scripted_times_and_a_host_does_not() {
    let at = lost(&world(|w| w["nodes"][2]["drops_s"] = json!([[1.0, 2.0, 2]])), PacketFate::Router);
    assert_eq!(at.len(), 20);
    for (k, pair) in at.chunks(2).enumerate() {
        let tick = 1.0 + 2.0 * k as f64;
        assert!(pair[0] >= tick && pair[1] < tick + 0.021, "{pair:?}");
    }
    let once = world(|w| w["nodes"][2]["drops_s"] = json!([[1.0, 0.0, 1]]));
    assert_eq!(lost(&once, PacketFate::Router).len(), 1);
    assert!(lost(&world(|w| w["nodes"][1]["drops_s"] = json!([[1.0, 2.0, 2]])), PacketFate::Router).is_empty());
    assert!(lost(&world(|_| ()), PacketFate::Router).is_empty());
}

#[test]
fn a_burst_loses_its_share_in_its_time() {
    let share = |chance: f64, every: f64| {
        let t = world(|w| w["wires"][1]["bursts_s"] = json!([[5.0, 4.0, chance, every]]));
        let at = lost(&t, PacketFate::Wire);
        let inside = |t: &f64| (5.0..9.0).contains(t) || every > 0.0 && (15.0..19.0).contains(t);
        assert!(at.iter().all(inside));
        at.len() as f64 / if every > 0.0 { 800.0 } else { 400.0 }
    };
    assert!((share(1.0, 0.0) - 1.0).abs() < 0.01);
    assert!((share(0.2, 10.0) - 0.2).abs() < 0.05);
    assert_eq!(share(0.0, 0.0), 0.0);
}

#[test]
fn a_line_can_lose_in_one_direction_only() {
    let lost = |change: &dyn Fn(&mut Value)| {
        let t = world(|w| {
            w["flows"][0]["client"] = json!(1);
            w["flows"][0]["server"] = json!(0);
            change(w);
        });
        lost(&t, PacketFate::Wire).len()
    };
    // From b to a on both lines.
    assert!(lost(&|w| w["wires"][1]["loss_rate"] = json!(0.5)) > 500);
    assert_eq!(lost(&|w| (w["wires"][1]["loss_rate"], w["wires"][1]["back_loss_rate"]) = (json!(0.5), json!(0.0))), 0);
}

#[test]
fn the_ground_truth_has_every_drop_of_a_queue() {
    // The second line is half as fast.
    let slow = |w: &mut Value| w["wires"][1]["rate_bps"] = json!(4e5);
    let t = world(slow);
    let full = lost(&t, PacketFate::WireQueue);
    let noted: Vec<_> = t.queues.iter().filter(|q| q.note.dropped.is_some()).collect();
    assert!(full.len() > 500 && noted.len() == full.len(), "{} {}", full.len(), noted.len());
    assert!(noted.iter().all(|q| &*q.queue == "wire 1 a2b" && q.note.packets == 5));
    assert!(t.queues.windows(2).all(|q| q[0].note.t <= q[1].note.t));
    // RED on the same line drops early, tail drop never does.
    let red = world(|w| {
        slow(w);
        w["wires"][1]["discipline"] = json!({
            "kind": "red", "min_packets": 1.0, "max_packets": 3.0, "weight": 0.1, "most_share": 0.1, "gentle": true,
            "wait": true, "mean_packet_bytes": 1000
        });
    });
    assert!(lost(&red, PacketFate::EarlyDrop).len() > 100 && lost(&t, PacketFate::EarlyDrop).is_empty());
    assert!(red.queues.iter().filter(|q| &*q.queue == "wire 1 a2b").all(|q| q.note.average.is_some()));
    assert!(t.queues.iter().all(|q| q.note.average.is_none()));
}

#[test]
fn impossible_queues_are_refused_with_a_reason() {
    let refuse = |d: Value| {
        let line = json!({"a": 0, "b": 1, "rate_bps": 1e6, "delay_s": 0.0, "header_bytes": 0, "queue_packets": 5, "discipline": d});
        let w = json!({
            "seed": 1, "duration_s": 1.0, "epoch_ns": 0, "flows": [], "wires": [line],
            "nodes": [{"name": "a", "queue_packets": 1}, {"name": "b", "queue_packets": 1}]
        });
        match serde_json::from_value::<config::World>(w) {
            Err(e) => e.to_string(),
            Ok(c) => World::new(c).unwrap().err().expect("refused"),
        }
    };
    let red = |least: f64, most: f64, share: f64| {
        refuse(json!({
            "kind": "red", "min_packets": least, "max_packets": most, "weight": 0.0, "most_share": share, "gentle": true,
            "wait": true, "mean_packet_bytes": 500
        }))
    };
    assert!(red(9.0, 3.0, 0.1).contains("min_packets < max_packets"));
    assert!(red(3.0, 9.0, 1.5).contains("most_share"));
    assert!(refuse(json!({"kind": "blue"})).contains("blue"));
}
