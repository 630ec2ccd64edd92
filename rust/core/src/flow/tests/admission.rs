//! Damaged packets and impossible numbers change nothing.

use super::*;

fn flows(t: &Tables) -> usize {
    t.batches("flows").map(RecordBatch::num_rows).sum()
}

#[test]
fn a_damaged_packet_changes_nothing() {
    let mut s = Script::new(false);
    for n in 0..3 {
        s.data(30.0 + f64::from(n), n);
        s.ack(50.5 + f64::from(n), n + 1);
    }
    let clean = s.run();
    // An ACK of everything, a repeated segment, a reset, and a packet of ports that do not exist.
    for (seq, ack, f, port) in [(5000, 90_000, 0, 5001), (5000, 4000, flags::RST, 5001), (1, 2, 0, 7)] {
        s.push(60.0, false, seq, ack, flags::ACK | f, 0, &[], None);
        let p = s.packets.last_mut().unwrap();
        (p.intact, p.src_port) = (Some(false), Some(port));
    }
    let t = s.run();
    assert_eq!((flows(&t), flows(&clean)), (2, 2));
    assert_eq!(t.intervals(), clean.intervals());
    assert_eq!(t.names("segments", "transmission", TRANSMISSIONS).len(), 3 + 6);
}

/// Five segments, an ACK of `beyond` bytes more than all of them in between, then five more.
fn with_ack_beyond(beyond: u32, intact: Option<bool>) -> Tables {
    let mut s = Script::new(false);
    for n in 0..5 {
        s.data(30.0 + f64::from(n), n);
        s.ack(50.5 + f64::from(n), n + 1);
    }
    s.push(56.0, false, 5000, 6000u32.wrapping_add(beyond), flags::ACK, 0, &[], None);
    s.packets.last_mut().unwrap().intact = intact;
    for n in 5..10 {
        s.data(60.0 + f64::from(n), n);
        s.ack(81.0 + f64::from(n), n + 1);
    }
    s.run()
}

#[test]
fn an_ack_far_beyond_everything_sent_is_not_believed() {
    for beyond in [20_000, 60_000, 1 << 20, 1 << 29, 3 << 29, 0x9000_0000] {
        let t = with_ack_beyond(beyond, None);
        assert!(t.resends().is_empty(), "{beyond}");
        assert_eq!(t.time_in("not_captured"), 0, "{beyond}");
        assert_tiles(&t);
    }
    // A right checksum does not make more than the window (65535 bytes) possible.
    for beyond in [80_000, 1 << 25] {
        assert!(with_ack_beyond(beyond, Some(true)).resends().is_empty(), "{beyond}");
    }
}

#[test]
fn data_that_the_tap_missed_is_believed() {
    // Twenty segments are missing, with their ACKs; the transfer continues behind them.
    let mut s = Script::new(false);
    for n in (0..5).chain(105..110) {
        s.data(30.0 + f64::from(n), n);
        s.ack(50.5 + f64::from(n), n + 1);
    }
    s.data(2000.0, 110);
    s.ack(2020.0, 111);
    let t = s.run();
    assert!(t.resends().is_empty());
    assert!(t.time_in("idle") > 1700 * MS, "{:?}", t.intervals());
    assert_tiles(&t);
}

#[test]
fn an_ack_captured_before_its_data_counts() {
    let mut s = Script::new(false);
    s.data(30.0, 0);
    s.ack(50.0, 1);
    // The tap delivers both directions apart: the ACK of five segments comes first.
    s.ack(80.0, 6);
    for n in 1..6 {
        s.data(80.1, n);
    }
    s.data(2000.0, 6);
    s.ack(2020.0, 7);
    let t = s.run();
    assert!(t.resends().is_empty());
    assert!(t.time_in("idle") > 1800 * MS, "{:?}", t.intervals());
    assert_eq!(t.time_in("rto_wait"), 0);
}

#[test]
fn a_segment_far_outside_the_window_is_not_believed() {
    for jump in [200_000u32, 1 << 24, 1 << 29, 0xf000_0000] {
        let mut s = Script::new(false);
        for n in 0..10 {
            s.data(30.0 + f64::from(n), n);
            if n == 5 {
                s.push(35.5, true, 6000u32.wrapping_add(jump), 5000, flags::ACK, 1000, &[], None);
            }
            s.ack(50.5 + f64::from(n), n + 1);
        }
        let t = s.run();
        assert!(t.resends().is_empty(), "{jump}");
        assert_eq!(t.time_in("not_captured"), 0, "{jump}");
    }
}

#[test]
fn an_idle_sender_stays_idle_until_shortly_before_data_that_the_tap_missed() {
    let mut s = Script::new(false);
    s.data(30.0, 0);
    s.ack(50.0, 1);
    // One segment after ten seconds of silence was missed; its ACK was not.
    s.ack(10_050.0, 2);
    s.data(10_051.0, 2);
    s.ack(10_071.0, 3);
    let t = s.run();
    assert!(t.time_in("not_captured") < 600 * MS, "{:?}", t.intervals());
    assert!(t.time_in("idle") > 9400 * MS);
    assert_tiles(&t);
}
