//! DCF against hand-computed timelines and Bianchi's model.

use super::*;
use crate::engine::{MS, S};
use crate::phy::{Preamble, Rate};
use crate::rate::Fixed;

fn cell(n: usize, config: MacConfig, rate: Rate, seed: u64) -> Dcf {
    let mut dcf = Dcf::new(Spaces::DSSS);
    for i in 0..n {
        dcf.join(config.clone(), Box::new(Fixed(rate)), Rng::stream(seed, "dcf", i as u64));
    }
    dcf
}

fn msdu(to: StationId, mpdu_bytes: u32) -> Msdu {
    Msdu { to: Some(to), mpdu_bytes, handle: 0 }
}

fn aired(out: &[Out]) -> Vec<AirFrame> {
    out.iter().filter_map(|o| if let Out::Aired(f) = o { Some(*f) } else { None }).collect()
}

/// Run saturated stations 1..=n towards station 0; returns delivered MSDUs and all frames.
fn saturate(n: usize, config: &MacConfig, rate: Rate, bytes: u32, until: Ns, seed: u64) -> (u64, Vec<AirFrame>) {
    let mut dcf = cell(n + 1, config.clone(), rate, seed);
    for s in 1..=n {
        for _ in 0..2 {
            assert!(dcf.enqueue(0, s, msdu(0, bytes)));
        }
    }
    let (mut delivered, mut frames, mut out) = (0, Vec::new(), Vec::new());
    while let Some(t) = dcf.next().filter(|t| *t < until) {
        dcf.advance(t, &mut Perfect, &mut out);
        for o in std::mem::take(&mut out) {
            match o {
                Out::Aired(f) => frames.push(f),
                Out::Delivered { .. } => delivered += 1,
                Out::Done { at, station, msdu, .. } => assert!(dcf.enqueue(at, station, msdu)),
            }
        }
    }
    (delivered, frames)
}

#[test]
fn spaces_are_exact() {
    let config = MacConfig { rts_threshold_bytes: 0, ..MacConfig::default() };
    let mut dcf = cell(2, config, Rate::R11, 1);
    dcf.enqueue(MS, 1, msdu(0, 1028));
    assert_eq!(dcf.next(), Some(MS));
    let mut out = Vec::new();
    dcf.advance(MS, &mut Perfect, &mut out);
    let f = aired(&out);
    let us = |t: Ns| (t - MS) / US;
    // RTS 192 + 80, CTS 192 + 56, data 192 + 748 (8224 bits at 11 Mb/s), ACK 192 + 56, SIFS 10 between.
    let spans: Vec<_> = f.iter().map(|f| (us(f.start), us(f.end))).collect();
    assert_eq!(spans, [(0, 272), (282, 530), (540, 1480), (1490, 1738)]);
    assert_eq!(f.iter().map(|f| f.duration_us).collect::<Vec<_>>(), [1738 - 272, 1738 - 530, 258, 0]);
}

#[test]
fn one_sender_waits_difs_and_its_backoff() {
    let (_, frames) = saturate(1, &MacConfig::default(), Rate::R11, 1528, S, 3);
    let data: Vec<_> = frames.iter().filter(|f| f.kind == FrameKind::Data).collect();
    let acks: Vec<_> = frames.iter().filter(|f| f.kind == FrameKind::Ack).collect();
    let mut slots = [0u32; 32];
    for (ack, next) in acks.iter().zip(&data[1..]) {
        let wait = next.start - ack.end - Spaces::DSSS.difs();
        assert_eq!(wait % Spaces::DSSS.slot, 0);
        slots[(wait / Spaces::DSSS.slot) as usize] += 1;
    }
    assert!(slots.iter().all(|n| *n > 0), "{slots:?}");
    assert!(data.iter().all(|f| f.attempt == 0));
}

#[test]
fn a_frame_at_an_idle_medium_is_sent_immediately() {
    let mut dcf = cell(2, MacConfig::default(), Rate::R11, 1);
    let mut out = Vec::new();
    dcf.enqueue(MS, 1, msdu(0, 100));
    dcf.advance(MS, &mut Perfect, &mut out);
    let end = aired(&out).last().unwrap().end;
    // Just after a transmission the post-backoff delays it ...
    let mut soon = cell(2, MacConfig::default(), Rate::R11, 1);
    soon.enqueue(MS, 1, msdu(0, 100));
    soon.advance(MS, &mut Perfect, &mut out);
    soon.enqueue(end + 60 * US, 1, msdu(0, 100));
    assert_eq!((soon.next().unwrap() - end - 50 * US) % (20 * US), 0);
    // ... and long after it no delay remains.
    dcf.enqueue(end + 10 * MS, 1, msdu(0, 100));
    assert_eq!(dcf.next(), Some(end + 10 * MS));
}

/// Damages the frames for which `bad` is true.
struct Scripted<F: FnMut(StationId, u32) -> bool>(F);

impl<F: FnMut(StationId, u32) -> bool> Channel for Scripted<F> {
    fn damage(&mut self, from: StationId, _: StationId, _: Rate, bytes: u32, _: Ns) -> Option<Damage> {
        (self.0)(from, bytes).then_some(Damage::Script)
    }
}

#[test]
fn retries_then_gives_up() {
    let config = MacConfig { short_retry_limit: 4, ..MacConfig::default() };
    let mut dcf = cell(2, config, Rate::R11, 1);
    dcf.enqueue(MS, 1, msdu(0, 500));
    let mut out = Vec::new();
    while let Some(t) = dcf.next() {
        dcf.advance(t, &mut Scripted(|from, _| from == 1), &mut out);
    }
    let attempts: Vec<_> = aired(&out).iter().map(|f| (f.attempt, f.seq)).collect();
    assert_eq!(attempts, [(0, 0), (1, 0), (2, 0), (3, 0)]);
    assert!(matches!(out.last(), Some(Out::Done { acked: false, attempts: 4, .. })));
}

#[test]
fn the_retry_bit_is_for_the_mpdu_and_not_for_its_rts() {
    for (rts_threshold_bytes, bits) in [(0, vec![false, true]), (u32::MAX, vec![false, true, true])] {
        let config = MacConfig { rts_threshold_bytes, ..MacConfig::default() };
        let mut dcf = cell(2, config, Rate::R11, 1);
        dcf.enqueue(MS, 1, msdu(0, 500));
        let (mut out, mut sent) = (Vec::new(), 0);
        while let Some(t) = dcf.next() {
            // The first two frames of the sender are damaged: with RTS, the RTS and then the data.
            dcf.advance(
                t,
                &mut Scripted(|from, _| {
                    sent += u32::from(from == 1);
                    from == 1 && [1, if rts_threshold_bytes == 0 { 3 } else { 2 }].contains(&sent)
                }),
                &mut out,
            );
        }
        let data: Vec<_> = aired(&out).iter().filter(|f| f.kind == FrameKind::Data).map(|f| f.retry).collect();
        assert_eq!(data, bits);
        assert!(aired(&out).iter().all(|f| f.kind == FrameKind::Data || !f.retry));
    }
}

#[test]
fn after_a_lost_ack_the_second_copy_is_not_delivered() {
    let mut dcf = cell(2, MacConfig::default(), Rate::R11, 1);
    dcf.enqueue(MS, 1, msdu(0, 500));
    let (mut out, mut acks) = (Vec::new(), 0);
    while let Some(t) = dcf.next() {
        dcf.advance(
            t,
            &mut Scripted(|from, _| {
                acks += u32::from(from == 0);
                from == 0 && acks == 1
            }),
            &mut out,
        );
    }
    let delivered = out.iter().filter(|o| matches!(o, Out::Delivered { .. })).count();
    assert_eq!((delivered, aired(&out).len()), (1, 4));
}

#[test]
fn both_stations_of_a_tie_retransmit() {
    let (_, frames) = saturate(2, &MacConfig::default(), Rate::R11, 1528, 20 * S, 5);
    let of = |station: StationId| {
        frames.iter().filter(|f| f.from == station && matches!(f.fate, Fate::Collision(_))).count()
    };
    assert!(of(1) > 100 && of(1) == of(2));
}

/// Bianchi 2000: the probability of a station to send in a slot, and that this collides, by fixed point.
fn bianchi(n: usize, w: f64, m: i32) -> (f64, f64) {
    let tau_of = |p: f64| {
        let q = 1.0 - 2.0 * p;
        2.0 * q / (q * (w + 1.0) + p * w * (1.0 - (2.0 * p).powi(m)))
    };
    let (mut low, mut high) = (0.0, 0.499_999);
    for _ in 0..200 {
        let p = (low + high) / 2.0;
        let tau = tau_of(p);
        if 1.0 - (1.0 - tau).powi(n as i32 - 1) > p {
            low = p;
        } else {
            high = p;
        }
    }
    (tau_of(low), low)
}

/// Saturation throughput in payload bits per second (Bianchi's equation 13).
fn bianchi_throughput(n: usize, payload_bits: f64, success: f64, collision: f64, slot: f64) -> f64 {
    let (tau, _) = bianchi(n, 32.0, 5);
    let idle = (1.0 - tau).powi(n as i32);
    let one = n as f64 * tau * (1.0 - tau).powi(n as i32 - 1);
    one * payload_bits / (idle * slot + one * success + (1.0 - idle - one) * collision)
}

#[test]
fn saturation_throughput_matches_bianchi() {
    const BYTES: u32 = 1028;
    for rts in [false, true] {
        let config = MacConfig {
            rts_threshold_bytes: if rts { 0 } else { u32::MAX },
            // Bianchi's stations never give up.
            short_retry_limit: u32::MAX,
            long_retry_limit: u32::MAX,
            ..MacConfig::default()
        };
        for n in [1, 2, 3, 5, 10, 15] {
            let (delivered, frames) = saturate(n, &config, Rate::R11, BYTES, 60 * S, 11);
            let got = delivered as f64 * 8000.0 / 60.0;
            let seconds = |t: Ns| t as f64 / 1e9;
            let l = Preamble::Long;
            let (difs, sifs) = (Spaces::DSSS.difs(), Spaces::DSSS.sifs);
            let (data, ack) = (airtime(Rate::R11, l, BYTES), airtime(Rate::R2, l, ACK_BYTES));
            let head = airtime(Rate::R2, l, RTS_BYTES);
            let announce = if rts { head + 2 * sifs + airtime(Rate::R2, l, CTS_BYTES) } else { 0 };
            let success = announce + data + sifs + ack + difs;
            // All other stations wait EIFS after a collision.
            let collision = if rts { head } else { data } + Spaces::DSSS.eifs(l);
            let model = bianchi_throughput(n, 8000.0, seconds(success), seconds(collision), 20e-6);
            let error = got / model - 1.0;
            println!(
                "rts {rts} n {n}: {:.3} Mb/s, model {:.3}, {:+.2} %, frames {}",
                got / 1e6,
                model / 1e6,
                100.0 * error,
                frames.len()
            );
            assert!(error.abs() < 0.02, "rts {rts} n {n}: {got} against {model}");
        }
    }
}

#[test]
fn an_rts_without_cts_counts_on_the_short_limit_and_a_frame_without_ack_on_the_long_one() {
    let config =
        MacConfig { rts_threshold_bytes: 0, short_retry_limit: 3, long_retry_limit: 2, ..MacConfig::default() };
    // What is lost of each attempt: (RTS, data); then the frames sent.
    let run = |lost: &[(bool, bool)]| {
        let mut dcf = cell(2, config.clone(), Rate::R11, 1);
        dcf.enqueue(MS, 1, msdu(0, 500));
        let (mut out, mut attempts) = (Vec::new(), lost.iter());
        let mut now = (false, false);
        while let Some(t) = dcf.next() {
            dcf.advance(
                t,
                &mut Scripted(|from, bytes| {
                    if from == 1 && bytes == RTS_BYTES {
                        now = *attempts.next().unwrap_or(&(false, false));
                        return now.0;
                    }
                    from == 1 && now.1
                }),
                &mut out,
            );
        }
        let acked = matches!(out.last(), Some(Out::Done { acked: true, .. }));
        let kinds = |kind| aired(&out).iter().filter(|f| f.kind == kind).count();
        (acked, kinds(FrameKind::Rts), kinds(FrameKind::Data))
    };
    let (rts, data, none) = ((true, false), (false, true), (false, false));
    assert_eq!(run(&[rts; 9]), (false, 3, 0));
    assert_eq!(run(&[data; 9]), (false, 2, 2));
    assert_eq!(run(&[rts, rts, none]), (true, 3, 1));
    // The CTS of the third attempt resets the short counter, and leaves the long one.
    assert_eq!(run(&[rts, rts, data, rts, rts, none]), (true, 6, 2));
    assert_eq!(run(&[data, rts, rts, data]), (false, 4, 2));
}
