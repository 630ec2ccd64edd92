//! The eight modes against the study's arithmetic.

use super::*;
use crate::engine::{S, US};

/// A segment of 1448 bytes: IP, LLC and a descriptor of 60 bytes, padded to whole transactions.
const SEGMENT: u32 = 1600;
const ACK: u32 = 120;

fn config(depth_first: bool, reclamation: bool) -> UsbConfig {
    UsbConfig { depth_first, reclamation, phase: 300 * US, interrupt: 20 * US, descriptor: 100 * US, buffer_frames: 8 }
}

/// A saturated driver with this many transfers outstanding, an adapter that is always empty and sends an ACK for every second
/// packet: when each packet was taken, and when each transfer was completed.
fn saturate(config: UsbConfig, urbs: usize, until: Ns) -> (Vec<Ns>, Vec<Times>) {
    saturate_in_steps(config, urbs, until, Ns::MAX)
}

/// The same, advancing the bus at least this often.
fn saturate_in_steps(config: UsbConfig, urbs: usize, until: Ns, step: Ns) -> (Vec<Ns>, Vec<Times>) {
    let mut host = UsbHost::new(config);
    host.post(0);
    for _ in 0..urbs {
        host.submit(0, SEGMENT);
    }
    let (mut taken, mut times, mut done) = (Vec::new(), Vec::new(), Vec::new());
    let mut last = 0;
    while let Some(now) = host.due().filter(|t| *t < until) {
        while last + step.min(now) < now {
            last += step;
            host.advance(last, &mut done);
            assert!(done.is_empty(), "it did something at {last} and had said {now}");
        }
        last = now;
        host.advance(now, &mut done);
        assert!(!done.is_empty(), "it asked to be called at {now} for nothing");
        for d in done.drain(..) {
            match d {
                Done::Taken { at } => {
                    assert_eq!(at, now);
                    taken.push(at);
                    host.free(now);
                    if taken.len() % 2 == 0 {
                        host.receive(now, ACK);
                    }
                }
                Done::Completed { list: List::Out, times: t, .. } => {
                    times.push(t);
                    host.submit(now, SEGMENT);
                }
                Done::Completed { .. } => host.post(now),
            }
        }
    }
    (taken, times)
}

/// Milliseconds per packet in the steady state, and the largest deviation of two packets' distance from the mean.
fn pace(config: UsbConfig, urbs: usize) -> (f64, f64) {
    let (taken, _) = saturate(config, urbs, 4 * S);
    let taken = &taken[10..taken.len() - taken.len() % 2];
    let mean = (taken[taken.len() - 1] - taken[0]) as f64 / (taken.len() - 1) as f64;
    let off = taken.windows(2).map(|w| ((w[1] - w[0]) as f64 - mean).abs()).fold(0.0, f64::max);
    (mean / 1e6, off / 1e6)
}

#[test]
fn table_2_without_reclamation() {
    for (depth_first, urbs, ms) in [(false, 1, 26.0), (false, 4, 25.0), (true, 1, 4.0), (true, 4, 3.0)] {
        let (mean, off) = pace(config(depth_first, false), urbs);
        println!("depth first {depth_first}, {urbs} URBs: {mean:.3} ms +- {off:.4}, {:.3} Mb/s", 11.584 / mean);
        assert!((mean - ms).abs() < 1e-9, "{depth_first} {urbs}: {mean}");
        // Deterministic: the study's standard deviation is 0.
        assert!(off < 1e-9);
    }
}

#[test]
fn with_reclamation_a_packet_takes_no_more_than_two_frames() {
    for depth_first in [false, true] {
        for (urbs, most) in [(1, 2.0), (4, 1.6)] {
            let (mean, _) = pace(config(depth_first, true), urbs);
            println!("depth first {depth_first}, {urbs} URBs, reclaimed: {mean:.3} ms");
            // 25 transactions of 19.
            assert!((25.0 / 19.0..=most + 1e-9).contains(&mean), "{depth_first} {urbs}: {mean}");
        }
    }
}

#[test]
fn the_extra_frame_of_depth_first_comes_from_the_adapters_refusal() {
    for (urbs, ms) in [(1, 3.0), (4, 2.0)] {
        let (mean, _) = pace(UsbConfig { descriptor: 0, ..config(true, false) }, urbs);
        assert!((mean - ms).abs() < 1e-9, "{urbs}: {mean}");
    }
    // Breadth first it makes no difference, and in a ring hardly any.
    assert_eq!(pace(UsbConfig { descriptor: 0, ..config(false, false) }, 4).0, pace(config(false, false), 4).0);
}

#[test]
fn the_step_of_advancing_makes_no_difference() {
    for (depth_first, reclamation) in [(false, false), (false, true), (true, false), (true, true)] {
        for urbs in [1, 4] {
            let whole = saturate(config(depth_first, reclamation), urbs, S);
            for step in [7 * US, 53 * US, 700 * US] {
                let parts = saturate_in_steps(config(depth_first, reclamation), urbs, S, step);
                assert!(whole == parts, "depth first {depth_first}, reclamation {reclamation}, {urbs} URBs, {step} ns");
            }
        }
    }
}

/// Starts of the transactions of a bus with much work in both lists, and the list of each.
fn begins(config: UsbConfig, until: Ns) -> Vec<(Ns, usize)> {
    let mut host = UsbHost::new(UsbConfig { buffer_frames: 50, ..config });
    for _ in 0..50 {
        host.submit(0, SEGMENT);
        host.post(0);
        host.receive(0, ACK);
    }
    let (mut walk, mut begins) = (host.walk, Vec::new());
    while host.settle(&mut walk, until) {
        let at = walk.at;
        begins.push((at, walk.list));
        host.transact(&mut walk, at + 1);
    }
    begins
}

#[test]
fn a_frame_has_nineteen_transactions_and_each_mode_fills_them_its_own_way() {
    for (depth_first, reclamation) in [(false, false), (false, true), (true, false), (true, true)] {
        let config = config(depth_first, reclamation);
        let begins = begins(config.clone(), 20 * MS);
        let frame = |t: Ns| (t + FRAME - config.phase) / FRAME;
        assert!(begins.windows(2).all(|w| w[0].0 + TRANSACTION <= w[1].0), "two at a time");
        for number in 1..20 {
            let all: Vec<_> = begins.iter().filter(|b| frame(b.0) == number).collect();
            let of = |list: usize| all.iter().filter(|b| b.1 == list).count();
            assert!(all.len() <= 19);
            match (depth_first, reclamation) {
                (false, false) => assert_eq!((of(0), of(1)), (1, 1)),
                // Descriptor and ACK; 19; the rest and an ACK.
                (true, false) => assert_eq!((of(0), of(1)), [(1, 2), (19, 0), (5, 2)][(number as usize - 1) % 3]),
                (_, true) => assert!(all.len() >= 17, "frame {number} has {}", all.len()),
            }
        }
    }
}

#[test]
fn completions_are_reported_at_a_frames_end() {
    let mut host = UsbHost::new(config(false, true));
    host.submit(5 * MS, 64);
    let mut done = Vec::new();
    host.advance(6 * MS, &mut done);
    // Submitted 700 us into a frame: taken in it, reported at its end.
    let first = 5 * MS - 700 * US + 14 * TRANSACTION;
    let times = Times { first, last: first + TRANSACTION, refused: 0 };
    assert_eq!(
        done,
        [Done::Taken { at: times.last }, Done::Completed { at: 5 * MS + 300 * US + 20 * US, list: List::Out, times }]
    );
}

#[test]
fn a_submission_waits_for_the_next_frame_without_reclamation() {
    for depth_first in [false, true] {
        let mut host = UsbHost::new(config(depth_first, false));
        host.submit(5 * MS + 310 * US, 64);
        assert_eq!(host.due(), Some(6 * MS + 300 * US + TRANSACTION));
    }
}

#[test]
fn a_full_adapter_refuses_and_the_time_is_recorded() {
    let mut host = UsbHost::new(UsbConfig { buffer_frames: 1, ..config(false, true) });
    host.submit(0, 64);
    host.submit(0, 64);
    let mut done = Vec::new();
    host.advance(20 * MS, &mut done);
    assert_eq!((done.len(), host.inside(), host.due()), (2, 1, None));
    host.free(20 * MS);
    let next = host.due().unwrap();
    assert!((20 * MS..21 * MS).contains(&next));
    host.advance(22 * MS, &mut done);
    let Done::Completed { times, .. } = done[3] else { panic!("{done:?}") };
    assert!((19 * MS..=20 * MS).contains(&times.refused), "{times:?}");
}

#[test]
fn received_frames_wait_for_a_transfer_and_for_the_adapter() {
    let mut host = UsbHost::new(config(false, true));
    host.receive(MS, ACK);
    assert_eq!(host.due(), None);
    host.post(2 * MS);
    assert!(host.due().is_some_and(|t| t < 4 * MS));
    host.hold(true);
    assert_eq!(host.due(), None);
    let mut done = Vec::new();
    host.advance(300 * MS, &mut done);
    assert_eq!(done, []);
    host.hold(false);
    assert!(host.due().is_some_and(|t| (300 * MS..302 * MS).contains(&t)));
}

#[test]
fn lists_do_not_wait_for_each_other_breadth_first() {
    // One transaction of each list per frame: 25 frames for a packet in each direction at the same time, the last of the frame in
    // a short one.
    let mut host = UsbHost::new(config(false, false));
    host.post(0);
    host.submit(0, SEGMENT);
    host.receive(0, SEGMENT - 1);
    let mut done = Vec::new();
    host.advance(S, &mut done);
    let ends: Vec<_> = done
        .iter()
        .filter_map(|d| if let Done::Completed { at, .. } = d { Some((at - 320 * US) / MS) } else { None })
        .collect();
    assert_eq!(ends, [25, 25]);
}

#[test]
fn an_idle_bus_needs_no_calls() {
    for (depth_first, reclamation) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut host = UsbHost::new(config(depth_first, reclamation));
        host.post(0);
        assert_eq!(host.due(), None);
        // After any time, the next submission is served in its frame or the next.
        host.advance(3600 * S, &mut Vec::new());
        host.submit(3600 * S, 64);
        assert!(host.due().is_some_and(|t| t < 3600 * S + 2 * MS));
    }
}
