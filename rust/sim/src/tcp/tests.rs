//! Two ends over a pipe with a delay, a rate, a queue and a script of losses.

use std::collections::VecDeque;

use super::receiver::{Answer, Receiver};
use super::scoreboard::{Entry, Scoreboard};
use super::*;
use crate::engine::{Ns, Queue, MS, S};

/// One direction of the pipe.
#[derive(Default)]
struct Way {
    delay: Ns,
    bits_per_s: u64,
    limit: usize,
    /// Segments with data to lose, by their number from 0; also whole periods.
    lose: Vec<u64>,
    blackout: Vec<(Ns, Ns)>,
    hold: Option<(Ns, Ns)>,
    sent: u64,
    free_at: Ns,
    queued: VecDeque<Ns>,
}

impl Way {
    fn carry(&mut self, now: Ns, s: &Segment) -> Option<Ns> {
        let n = self.sent;
        self.sent += u64::from(s.len > 0);
        if (s.len > 0 && self.lose.contains(&n)) || self.blackout.iter().any(|b| (b.0..b.1).contains(&now)) {
            return None;
        }
        self.queued.retain(|t| *t > now);
        if self.limit > 0 && self.queued.len() >= self.limit {
            return None;
        }
        let bits = 8 * (u64::from(s.len) + 52);
        let spent = (bits * S).checked_div(self.bits_per_s).unwrap_or(0);
        self.free_at = self.free_at.max(now) + spent;
        self.queued.push_back(self.free_at);
        let mut at = self.free_at + self.delay;
        if let Some((from, to)) = self.hold {
            if (from..to).contains(&at) {
                at = to;
            }
        }
        Some(at)
    }
}

enum What {
    Arrive(usize, Segment),
    Timer(usize),
}

struct World {
    ends: [Endpoint; 2],
    ways: [Way; 2],
    queue: Queue<What>,
    armed: [Option<Ns>; 2],
    log: Vec<(Ns, usize, Segment)>,
}

fn world(config: TcpConfig, way: impl Fn() -> Way) -> World {
    let server = Endpoint::new(config.clone(), Role::Server, 7_000);
    World {
        ends: [Endpoint::new(config, Role::Client, 100), server],
        ways: [way(), way()],
        queue: Queue::default(),
        armed: [None; 2],
        log: Vec::new(),
    }
}

impl World {
    fn emit(&mut self, now: Ns, from: usize, out: Vec<Segment>) {
        for s in out {
            self.log.push((now, from, s));
            if let Some(at) = self.ways[from].carry(now, &s) {
                self.queue.at(at, What::Arrive(1 - from, s));
            }
        }
        for end in 0..2 {
            let timer = self.ends[end].timer();
            if timer != self.armed[end] {
                self.armed[end] = timer;
                if let Some(t) = timer {
                    self.queue.at(t, What::Timer(end));
                }
            }
        }
    }

    /// The client sends this many bytes and closes.
    fn transfer(&mut self, bytes: u64, until: Ns) {
        let mut out = Vec::new();
        self.ends[0].open(0, &mut out);
        self.ends[0].write(0, bytes, &mut out);
        self.ends[0].close(0, &mut out);
        self.emit(0, 0, out);
        while let Some((now, what)) = self.queue.pop().filter(|(t, _)| *t < until) {
            let mut out = Vec::new();
            let end = match what {
                What::Arrive(end, s) => {
                    self.ends[end].receive(now, &s, &mut out);
                    end
                }
                What::Timer(end) => {
                    if self.armed[end] == Some(now) {
                        self.armed[end] = None;
                        self.ends[end].on_timer(now, &mut out);
                    }
                    end
                }
            };
            self.emit(now, end, out);
            if self.ends[0].finished() {
                break;
            }
        }
    }

    fn data(&self) -> Vec<(Ns, Segment)> {
        self.log.iter().filter(|l| l.1 == 0 && l.2.len > 0).map(|l| (l.0, l.2)).collect()
    }

    fn again(&self) -> Vec<(u64, Trigger)> {
        self.data().iter().filter(|(_, s)| s.copy > 0).map(|(_, s)| ((s.seq - 1) / 1448, s.trigger)).collect()
    }
}

fn path() -> Way {
    Way { delay: 20 * MS, bits_per_s: 10_000_000, ..Way::default() }
}

fn newreno() -> TcpConfig {
    TcpConfig { sack: false, timestamps: false, frto: false, ..TcpConfig::default() }
}

fn linux22() -> TcpConfig {
    TcpConfig {
        rto: RtoFlavour::Linux22 { keeps_backoff: true },
        repairs_all_first: true,
        counts_segments: false,
        fack: true,
        prr: false,
        eifel: false,
        frto: false,
        dsack: false,
        quick_acks: 0,
        ..TcpConfig::default()
    }
}

fn configs() -> Vec<TcpConfig> {
    let base = TcpConfig::default();
    vec![
        base.clone(),
        newreno(),
        TcpConfig { prr: false, ..newreno() },
        TcpConfig { recovery: Recovery::Reno, prr: false, ..newreno() },
        TcpConfig { fack: true, ..base.clone() },
        TcpConfig { tail_loss_probe: true, ..base.clone() },
        linux22(),
        TcpConfig { sack: false, timestamps: false, ..linux22() },
        linux24(),
        TcpConfig { sack: false, ..linux24() },
        TcpConfig { fack: false, ..linux24() },
    ]
}

#[test]
fn a_clean_transfer_sends_every_byte_once() {
    for config in configs() {
        let mut w = world(config, path);
        w.transfer(1_000_000, 100 * S);
        assert!(w.ends[0].finished());
        assert_eq!(w.ends[1].received_bytes(), 1_000_001);
        assert!(w.again().is_empty());
        assert_eq!(w.data().iter().map(|d| u64::from(d.1.len)).sum::<u64>(), 1_000_000);
    }
}

#[test]
fn one_loss_takes_one_fast_retransmission() {
    for config in configs() {
        let sack = config.sack;
        let mut w = world(config, || Way { lose: vec![30], ..path() });
        w.transfer(300_000, 100 * S);
        let expected = if sack { Trigger::Sack } else { Trigger::Fast };
        assert!(w.ends[0].finished(), "{:?}", w.again());
        assert_eq!(w.again(), [(30, expected)]);
    }
}

#[test]
fn three_losses_of_a_window() {
    let lose = || Way { lose: vec![40, 42, 45], ..path() };
    let mut w = world(newreno(), lose);
    w.transfer(300_000, 100 * S);
    // One hole per round trip (RFC 6582).
    assert_eq!(w.again(), [(40, Trigger::Fast), (42, Trigger::PartialAck), (45, Trigger::PartialAck)]);
    let mut w = world(TcpConfig::default(), lose);
    w.transfer(300_000, 100 * S);
    assert_eq!(w.again().iter().map(|a| a.0).collect::<Vec<_>>(), [40, 42, 45]);
    let times: Vec<Ns> = w.data().iter().filter(|d| d.1.copy > 0).map(|d| d.0).collect();
    assert!(times[2] - times[0] < 20 * MS, "{times:?}");
}

#[test]
fn a_lost_tail_waits_for_the_timer_or_a_probe() {
    let last = (300_000u64 - 1) / 1448;
    let lose = move || Way { lose: vec![last], ..path() };
    let mut w = world(newreno(), lose);
    w.transfer(300_000, 100 * S);
    assert_eq!(w.again(), [(last, Trigger::Rto)]);
    let mut w = world(TcpConfig { tail_loss_probe: true, ..TcpConfig::default() }, lose);
    w.transfer(300_000, 100 * S);
    assert_eq!(w.again(), [(last, Trigger::TailLossProbe)]);
}

#[test]
fn a_blackout_backs_off_the_timer() {
    let mut w = world(newreno(), || Way { blackout: vec![(300 * MS, 4 * S)], ..path() });
    w.transfer(1_000_000, 100 * S);
    let timer: Vec<Ns> = w.data().iter().filter(|d| d.1.trigger == Trigger::Rto).map(|d| d.0).collect();
    assert!(timer.len() >= 4 && w.ends[0].finished(), "{timer:?}");
    let gaps: Vec<Ns> = timer.windows(2).map(|t| t[1] - t[0]).collect();
    assert!(gaps.windows(2).take(2).all(|g| (1.9..2.1).contains(&(g[1] as f64 / g[0] as f64))), "{gaps:?}");
}

#[test]
fn held_acks_cause_a_spurious_timeout() {
    let hold = |config| {
        let mut w = world(config, path);
        w.ways[1].hold = Some((400 * MS, 800 * MS));
        w.transfer(1_000_000, 100 * S);
        assert!(w.ends[0].finished());
        w
    };
    // Without evidence everything outstanding is retransmitted ...
    let blind = hold(newreno());
    let sent: Vec<Trigger> = blind.again().iter().map(|a| a.1).collect();
    assert!(sent.len() > 10 && sent[0] == Trigger::Rto && sent[1..].iter().all(|t| *t == Trigger::GoBackN), "{sent:?}");
    // ... with timestamps or F-RTO only the timer's own segment.
    for config in
        [TcpConfig { frto: false, ..TcpConfig::default() }, TcpConfig { eifel: false, ..TcpConfig::default() }]
    {
        let seen = hold(config);
        assert_eq!(seen.again().iter().map(|a| a.1).collect::<Vec<_>>(), [Trigger::Rto], "{:?}", seen.ends[0].config);
    }
}

#[test]
fn delayed_acks_come_every_second_segment_or_by_their_timer() {
    let config = TcpConfig { quick_acks: 0, initial_window_segments: 1, initial_ssthresh_segments: 2, ..newreno() };
    let mut w = world(config, path);
    w.transfer(1448, 10 * S);
    let ack = w.log.iter().find(|l| l.1 == 1 && l.2.ack == Some(1450)).unwrap();
    let got = w.log.iter().find(|l| l.1 == 0 && l.2.len > 0).unwrap();
    // The FIN is sent with the data, so the ACK is immediate; without it the timer acknowledges.
    assert!(got.2.fin && ack.0 - got.0 < 25 * MS);
    let config = TcpConfig { receive_window_bytes: 1448, quick_acks: 0, ..newreno() };
    let mut w = world(config, path);
    w.transfer(14_480, 10 * S);
    let starts: Vec<Ns> = w.data().iter().map(|d| d.0).collect();
    // One segment in flight: every round trip has the timer's 40 ms in addition.
    assert!(starts.windows(2).all(|s| s[1] - s[0] > 80 * MS), "{starts:?}");
}

#[test]
fn any_pattern_of_losses_is_repaired() {
    use crate::rng::Rng;
    for (i, config) in configs().into_iter().enumerate() {
        for seed in 0..30 {
            let mut rng = Rng::stream(seed, "losses", i as u64);
            let lose: Vec<u64> = (0..400).filter(|_| rng.chance(0.1)).collect();
            let mut w = world(config.clone(), || Way { lose: lose.clone(), limit: 20, ..path() });
            w.transfer(200_000, 2000 * S);
            assert!(w.ends[0].finished(), "config {i} seed {seed}: {:?}", w.ends[0]);
            assert_eq!(w.ends[1].received_bytes(), 200_001);
        }
    }
}

/// RFC 6675 section 5, step 4.3: segments in flight do not delay the first retransmission of a recovery.
#[test]
fn recovery_by_sack_begins_with_an_immediate_retransmission() {
    let config = TcpConfig { prr: false, limited_transmit: true, ..TcpConfig::default() };
    let mut w = world(config, path);
    // Of ten segments the first and the last five are lost: six count as in flight, and half the window is five.
    w.ways[0].lose = vec![0, 4, 5, 6, 7, 8, 9];
    w.transfer(10 * 1448, 10 * S);
    let told = w.log.iter().filter(|l| l.1 == 1 && l.2.len == 0 && l.2.sack_blocks > 0).nth(2).map(|l| l.0);
    let (at, first) = w.data().into_iter().find(|(_, s)| s.copy > 0).unwrap();
    assert_eq!((first.seq - 1, first.trigger), (0, Trigger::Sack));
    assert!(at <= told.unwrap() + 21 * MS, "{at} {told:?}");
}

fn linux24() -> TcpConfig {
    TcpConfig {
        fack: true,
        prr: false,
        rate_halving: true,
        lost_retransmissions: true,
        linux24_scoreboard: true,
        burst_segments: 3,
        counts_segments: false,
        frto: false,
        rto: RtoFlavour::Linux24,
        ..TcpConfig::default()
    }
}

/// A retransmission is lost too: data sent after it is SACKed, and Linux 2.4 repeats it without a timer.
#[test]
fn linux_24_repeats_a_lost_retransmission_without_a_timer() {
    let timeouts = |config: TcpConfig| {
        let mut w = world(config.clone(), path);
        w.ways[0].lose = vec![20];
        w.transfer(400_000, 100 * S);
        // The first copy of segment 20 is lost, then its retransmission too.
        let again = w.data().iter().position(|d| d.1.copy > 0).unwrap() as u64;
        let mut w = world(config, path);
        w.ways[0].lose = vec![20, again];
        w.transfer(400_000, 100 * S);
        assert!(w.ends[0].finished());
        let copies = w.again();
        assert_eq!(copies.iter().map(|c| c.0).collect::<Vec<_>>(), [20, 20], "{copies:?}");
        copies.iter().filter(|c| c.1 == Trigger::Rto).count()
    };
    assert_eq!(timeouts(linux24()), 0);
    assert_eq!(timeouts(TcpConfig { lost_retransmissions: false, ..linux24() }), 1);
}

/// Linux 2.2 in the loss state: nothing new before the last byte sent before the timeout is acknowledged (the idle-time study).
#[test]
fn linux_22_repairs_all_before_it_sends_new_data() {
    let new_too_early = |config: TcpConfig| {
        let mut w = world(config, path);
        w.ways[0].lose = (0..10).collect();
        w.transfer(40 * 1448, 60 * S);
        assert!(w.ends[0].finished());
        let covered = |l: &&(Ns, usize, Segment)| l.1 == 1 && l.2.ack.is_some_and(|a| a > 10 * 1448);
        let repaired = w.log.iter().find(covered).map(|l| l.0).unwrap();
        w.data().iter().filter(|(t, s)| s.copy == 0 && s.seq > 10 * 1448 && *t <= repaired).count()
    };
    assert_eq!(new_too_early(linux22()), 0);
    assert!(new_too_early(TcpConfig { repairs_all_first: false, ..linux22() }) > 0);
}

/// A second timeout before the end of the recovery does not change Linux 2.2's windows.
#[test]
fn linux_22_keeps_its_windows_over_further_timeouts() {
    let after_last = |config: TcpConfig| {
        let mut w = world(config, path);
        // The flight, and the retransmissions of its last six segments, until the third timeout of the first of these.
        w.ways[0].lose = (0..10).chain(14..20).collect();
        w.transfer(10 * 1448, 60 * S);
        assert!(w.ends[0].finished());
        let last = w.data().iter().rev().find(|(_, s)| s.trigger == Trigger::Rto).map(|d| d.0).unwrap();
        w.data().iter().filter(|(t, _)| (last..last + 100 * MS).contains(t)).count()
    };
    // The timer's own segment, and the segments released by its ACK, delayed by 40 ms: all five that are left, or two.
    assert_eq!(after_last(linux22()), 6);
    assert_eq!(after_last(TcpConfig { repairs_all_first: false, ..linux22() }), 3);
}

/// A window that grows per ACK grows by half if every ACK is for two segments; one that counts segments doubles.
#[test]
fn a_window_grows_per_ack_or_per_segment() {
    let second_flight = |counts_segments| {
        let config = TcpConfig { counts_segments, quick_acks: 0, ..TcpConfig::default() };
        let mut w = world(config, || Way { delay: 20 * MS, ..Way::default() });
        w.transfer(100 * 1448, S);
        // SYN and SYN-ACK take 40 ms, a flight another 40.
        w.data().iter().filter(|(t, _)| (60 * MS..110 * MS).contains(t)).count()
    };
    assert_eq!((second_flight(false), second_flight(true)), (15, 20));
}

/// The window of a SYN has no scale (RFC 7323 section 2.2): more than 65 535 bytes may be sent only after the first ACK.
#[test]
fn the_first_window_has_sixteen_bits() {
    let config = TcpConfig { mss_bytes: 40_000, receive_window_bytes: 10_000_000, ..TcpConfig::default() };
    let mut w = world(config, || Way { delay: 20 * MS, ..Way::default() });
    w.transfer(1_000_000, S);
    let first: u32 = w.data().iter().filter(|(t, _)| *t < 75 * MS).map(|(_, s)| s.len).sum();
    assert_eq!(first, 40_000);
}

#[test]
fn a_probe_replaces_the_timeout_that_would_come_sooner() {
    // Two round trips of 200 ms and a delayed ACK of 200 ms are longer than the timeout.
    let slow = || Way { delay: 100 * MS, lose: vec![40], ..path() };
    let config = TcpConfig {
        tail_loss_probe: true,
        delayed_ack_timer: 500 * MS,
        rto: RtoFlavour::Linux { floor: 200 * MS, tick: 0 },
        ..TcpConfig::default()
    };
    let mut w = world(config, slow);
    w.transfer(41 * 1448, 100 * S);
    assert_eq!(w.again(), [(40, Trigger::TailLossProbe)]);
}

#[test]
fn a_segment_older_than_the_latest_timestamp_is_dropped_and_acknowledged() {
    let mut r = Receiver::new(&TcpConfig::default());
    let segment = |seq: u64, tsval: u32| Segment {
        seq,
        len: 100,
        syn: false,
        fin: false,
        rst: false,
        psh: false,
        ack: Some(1),
        window: 1000,
        sack: [(0, 0); 4],
        sack_blocks: 0,
        timestamps: Some((tsval, 0)),
        trigger: Trigger::New,
        copy: 0,
    };
    (r.next, r.recent) = (1, 10);
    assert_eq!(r.receive(&TcpConfig::default(), 0, &segment(1, 9)), Answer::Outdated);
    assert_eq!(r.next, 1);
    assert_ne!(r.receive(&TcpConfig::default(), 0, &segment(1, 10)), Answer::Outdated);
    assert_eq!(r.next, 101);
}

#[test]
fn new_data_does_not_show_that_a_timeout_was_spurious() {
    let mut board = Scoreboard::default();
    let entry = |start: u64| Entry {
        start,
        end: start + 10,
        len: 10,
        syn: false,
        fin: false,
        copies: 1,
        first_sent: 0,
        last_sent: 0,
        sacked: false,
        lost: false,
        retransmitted: false,
        next_then: 0,
        psh: false,
    };
    [10, 20, 30].into_iter().for_each(|start| board.push(entry(start)));
    // Step 3b of RFC 5682: only bytes sent before it, up to 30.
    assert_eq!(board.sack(30, 40, 30), (1, false));
    assert_eq!(board.sack(20, 30, 30), (1, true));
}

/// The first SYN+ACK is lost. The SYN's timer and that of the SYN+ACK expire at about the same time.
#[test]
fn a_repeated_syn_is_answered_by_a_syn_ack() {
    let way = || Way { delay: 10 * MS, ..Way::default() };
    let mut w = world(TcpConfig::default(), way);
    w.ways[1].blackout = vec![(5 * MS, 15 * MS)];
    w.transfer(1, 10 * S);
    let answers: Vec<_> =
        w.log.iter().filter(|(_, from, s)| *from == 1 && s.syn).map(|(t, _, s)| (*t, s.trigger)).collect();
    assert!(answers.contains(&(S + 10 * MS, Trigger::Answer)), "{answers:?}");
    let before = w.log.iter().filter(|(t, from, s)| *from == 1 && !s.syn && *t <= S + 20 * MS).count();
    assert_eq!(before, 0);
    assert!(w.ends[0].finished());
}
