//! Whole worlds against the measurements of the studies and of ns-2.

use serde_json::{json, Value};
use wlanlens_sim::config;
use wlanlens_sim::truth::{PacketFate, Truth, FRAME_KINDS};
use wlanlens_sim::world::World;

fn station(node: usize, ap: bool) -> Value {
    json!({
        "node": node, "access_point": ap, "cw_min": 31, "cw_max": 1023, "short_retry_limit": 7, "long_retry_limit": 4,
        "rts_threshold_bytes": 3000, "short_preamble": false, "control_rate_mbps": 2.0, "queue_frames": 50,
        "post_backoff": true, "rate_control": {"kind": "fixed", "rate_mbps": 11.0}, "signal_dbm": -45.0
    })
}

fn tcp() -> Value {
    json!({
        "mss_bytes": 1448, "initial_window_segments": 2, "receive_window_bytes": 32768, "sack": true, "dsack": true,
        "fack": false, "timestamps": true, "recovery": "newreno", "prr": false, "limited_transmit": true, "nagle": true,
        "delayed_ack_segments": 2, "delayed_ack_timer_s": 0.2, "quick_acks": 0, "rto": "linux", "rto_min_s": 0.2,
        "eifel": true, "eifel_first_stamp_defect": false, "frto": false, "tail_loss_probe": false
    })
}

/// Two stations, one sends to the other.
fn link(seed: u64, seconds: f64) -> Value {
    json!({
        "seed": seed, "duration_s": seconds, "epoch_ns": 1_000_000_000_000_000_000i64,
        "nodes": [{"name": "a", "queue_packets": 100}, {"name": "b", "queue_packets": 100}],
        "cell": {"stations": [station(0, false), station(1, false)], "ad_hoc": true, "beacons": false, "channel_mhz": 2412},
        "flows": [{"client": 0, "server": 1, "start_s": 0.0, "application": {"kind": "bulk"}, "tcp": tcp()}]
    })
}

fn run(description: Value) -> Truth {
    let c: config::World = serde_json::from_value(description).unwrap();
    let mut w = World::new(c).unwrap().unwrap();
    while w.run(u64::MAX).unwrap() {}
    w.finish().unwrap()
}

/// Mb/s of data delivered, each byte once.
fn goodput(t: &Truth, seconds: f64) -> f64 {
    let mut end = std::collections::HashMap::new();
    for p in t.packets.iter().filter(|p| !p.reverse && p.len > 0 && p.fate == PacketFate::Delivered) {
        let e: &mut u64 = end.entry(p.flow).or_default();
        *e = (*e).max(p.seq + u64::from(p.len));
    }
    end.values().sum::<u64>() as f64 * 8.0 / seconds / 1e6
}

fn mean(f: impl Fn(u64) -> f64) -> f64 {
    (1..=5).map(f).sum::<f64>() / 5.0
}

#[test]
fn one_flow_over_a_clean_link_is_as_fast_as_in_the_study() {
    let got = mean(|seed| goodput(&run(link(seed, 20.0)), 20.0));
    println!("11 Mb/s, d=2: {got:.3} Mb/s");
    assert!((5.0..5.3).contains(&got), "{got}");
}

#[test]
fn with_an_ack_for_every_segment_it_is_slower() {
    let got = mean(|seed| {
        let mut w = link(seed, 20.0);
        w["flows"][0]["tcp"]["delayed_ack_segments"] = json!(1);
        goodput(&run(w), 20.0)
    });
    println!("11 Mb/s, d=1: {got:.3} Mb/s");
    assert!((4.3..4.5).contains(&got), "{got}");
}

#[test]
fn slow_rates() {
    for (rate, low, high) in [(2.0_f64, 1.47, 1.58), (1.0, 0.80, 0.86)] {
        let got = mean(|seed| {
            let mut w = link(seed, 20.0);
            for s in 0..2 {
                w["cell"]["stations"][s]["rate_control"]["rate_mbps"] = json!(rate);
                w["cell"]["stations"][s]["control_rate_mbps"] = json!(rate.min(2.0));
            }
            goodput(&run(w), 20.0)
        });
        println!("{rate} Mb/s: {got:.3} Mb/s");
        assert!((low..high).contains(&got), "{rate}: {got}");
    }
}

#[test]
fn data_and_acks_collide_as_often_as_in_ns_2() {
    let share = mean(|seed| {
        let t = run(link(seed, 20.0));
        let f = &t.frames;
        let data = |from: u32| {
            (0..f.len()).filter(move |i| f.station[*i] == from && FRAME_KINDS[f.kind[*i] as usize] == "data")
        };
        let again = |from: u32| data(from).filter(|i| f.attempt[*i] > 0).count() as f64;
        let (first, acks) = (again(0), again(1));
        // Both stations of a tie retransmit.
        assert!((first / acks - 1.0).abs() < 0.02, "{first} {acks}");
        first / data(0).count() as f64
    });
    println!("TCP data retries: {:.2} %", 100.0 * share);
    assert!((0.023..0.055).contains(&share), "{share}");
}

/// RTS and CTS before 1000-byte packets of TCP and before its ACKs, as in the delayed-ACK study.
#[test]
fn throughput_with_rts_is_equation_13s() {
    for (d, model) in [(1, 2.384), (2, 2.918), (3, 3.154), (4, 3.287), (5, 3.372)] {
        let got = mean(|seed| {
            let mut w = link(seed, 20.0);
            for s in 0..2 {
                w["cell"]["stations"][s]["rts_threshold_bytes"] = json!(0);
            }
            // The study's packets have 1000 bytes of data and 40 of headers ... and no timestamps.
            let tcp = &mut w["flows"][0]["tcp"];
            tcp["mss_bytes"] = json!(1000);
            tcp["timestamps"] = json!(false);
            tcp["sack"] = json!(false);
            tcp["delayed_ack_segments"] = json!(d);
            tcp["receive_window_bytes"] = json!(20_000);
            // The model has no slow start, whose first rounds would wait for the delayed-ACK timer.
            tcp["initial_window_segments"] = json!(20);
            goodput(&run(w), 20.0)
        });
        let off = got / model - 1.0;
        println!("d={d}: {got:.3} Mb/s, equation 13: {model}, {:+.2} %", 100.0 * off);
        assert!(off.abs() < 0.02, "d={d}: {got} against {model}");
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let key = |t: &Truth| {
        let p: Vec<_> = t.packets.iter().map(|p| (p.id, p.seq, p.made, p.ended)).collect();
        (p, t.frames.len())
    };
    assert_eq!(key(&run(link(3, 5.0))), key(&run(link(3, 5.0))));
    assert_ne!(key(&run(link(3, 5.0))), key(&run(link(4, 5.0))));
}

#[test]
fn impossible_worlds_are_refused_with_a_reason() {
    let refuse = |change: &dyn Fn(&mut Value)| {
        let mut w = link(1, 1.0);
        change(&mut w);
        match serde_json::from_value::<config::World>(w) {
            Err(e) => e.to_string(),
            Ok(c) => World::new(c).unwrap().err().expect("refused"),
        }
    };
    assert!(refuse(&|w| w["duration_s"] = json!(-1.0)).contains("duration_s"));
    assert!(refuse(&|w| w["flows"][0]["tcp"]["mss_bytes"] = json!(0)).contains("mss_bytes"));
    assert!(refuse(&|w| w["flows"][0]["server"] = json!(9)).contains("node 9"));
    assert!(refuse(&|w| w["flows"][0]["tcp"]["recovery"] = json!("vegas")).contains("vegas"));
    assert!(refuse(&|w| w["cell"]["nonsense"] = json!(1)).contains("nonsense"));
}
