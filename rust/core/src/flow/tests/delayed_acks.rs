//! ACKs that the receiver delays.

use super::*;

/// How long an ACK was delayed, ms. Two segments are sent at once, and the first is acknowledged 200 ms late. Then the second is sent again,
/// or it is acknowledged, or the capture ends.
fn delayed(lost: Option<bool>) -> i64 {
    let mut s = Script::new(false);
    for n in 0..4 {
        s.data(30.0 + 25.0 * f64::from(n), n);
        s.ack(50.0 + 25.0 * f64::from(n), n + 1);
    }
    s.flight(130.0, 4..6);
    s.ack(351.0, 5);
    s.flight(351.1, 6..8);
    if lost == Some(true) {
        s.ack(371.1, 5);
        s.ack(372.1, 5);
        s.data(700.0, 5);
        s.ack(720.0, 8);
    } else if lost == Some(false) {
        s.ack(380.0, 8);
    }
    s.run().time_in("delayed_ack") / MS
}

#[test]
fn a_receiver_delays_the_ack_of_a_segment_if_the_next_one_is_lost() {
    assert_eq!(delayed(Some(true)), 200);
    // A queue held both, or nothing shows which.
    assert_eq!((delayed(Some(false)), delayed(None)), (0, 0));
}
