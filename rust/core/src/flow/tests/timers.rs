//! Timers and what looks like one.

use super::*;

/// The n-th segment, alone, is retransmitted so long after it was sent, and acknowledged a round trip after the last copy.
fn alone(s: &mut Script, n: u32, at: f64, copies: &[f64]) {
    s.data(at, n);
    copies.iter().for_each(|ms| s.data(at + ms, n));
    s.ack(at + copies[copies.len() - 1] + 20.0, n + 1);
}

#[test]
fn a_probe_and_an_expiry_of_one_segment_look_the_same() {
    let triggers = |cases: &[&[f64]]| -> Vec<&'static str> {
        let mut s = Script::new(true);
        for (n, copies) in (0..).zip(cases) {
            alone(&mut s, n, 30.0 + 5000.0 * f64::from(n), copies);
        }
        s.run().resends().iter().map(|r| r.0).collect()
    };
    assert_eq!(triggers(&[&[230.0]]), ["undecided"]);
    // Longer than two round trips and the longest delay of an ACK (RFC 8985 section 7.2).
    assert_eq!(triggers(&[&[1200.0]]), ["rto"]);
    // The timer runs twice as long after an expiry, not after a probe; then it is known whether the sender has probes.
    assert_eq!(triggers(&[&[230.0, 690.0], &[230.0]]), ["rto", "rto", "rto"]);
    assert_eq!(triggers(&[&[230.0, 470.0], &[230.0]]), ["tail_loss_probe", "rto", "tail_loss_probe"]);
}

#[test]
fn near_the_receiver_a_usual_silence_does_not_show_a_timer() {
    for (gap_ms, trigger) in [(300.0, "rto"), (1000.0, "undecided")] {
        let mut s = Script::between(false, 0.1);
        for n in [0, 1, 3, 4, 5] {
            s.data(30.0 + gap_ms * f64::from(n), n);
            s.ack(30.1 + gap_ms * f64::from(n), (n + 1).min(2));
        }
        let t = 30.0 + gap_ms * 5.0 + 1500.0;
        s.data(t, 2);
        s.ack(t + 0.1, 6);
        assert_eq!(s.run().resends()[0].0, trigger);
    }
}

#[test]
fn near_the_receiver_duplicate_acks_do_not_call_for_bytes_below_them() {
    let mut s = Script::between(false, 0.1);
    for n in [0, 1, 3, 4, 5] {
        s.data(30.0 + f64::from(n), n);
        s.ack(30.1 + f64::from(n), (n + 1).min(2));
    }
    s.data(290.0, 1);
    s.ack(290.1, 2);
    s.data(300.0, 2);
    s.ack(300.1, 6);
    assert_eq!(s.run().resends().iter().map(|r| r.0).collect::<Vec<_>>(), ["rto", "go_back_n"]);
}
