//! A-MPDUs and idle times on a constructed channel, captured by radios that mark each instant.

use super::*;
use crate::frame::control;
use crate::phy::{Phy, Ppdu as Params, Radio, StampAt};

const AP: [u8; 6] = [2, 0, 0, 0, 0, 1];
const STATION: [u8; 6] = [2, 0, 0, 0, 0, 2];
const CHANNEL_MHZ: u16 = 2412;

fn ofdm(rate: f64) -> Params {
    Params { phy: Some(Phy::G), rate_mbps: Some(rate), channel_mhz: Some(CHANNEL_MHZ), ..Params::default() }
}

fn ht(mcs: u8) -> Params {
    Params {
        phy: Some(Phy::N),
        mcs: Some(mcs),
        width_mhz: Some(20),
        guard_ns: Some(800),
        channel_mhz: Some(CHANNEL_MHZ),
        ..Params::default()
    }
}

fn frame(ppdu: Params, control: u16, ra: [u8; 6], ta: Option<[u8; 6]>, mpdu_bytes: u32) -> Frame {
    Frame {
        mpdu_bytes,
        control: Some(control),
        address_1: Some(ra),
        address_2: ta,
        fcs_ok: Some(true),
        radio: Radio { ppdu, ..Radio::default() },
        ..Frame::default()
    }
}

const DATA: u16 = control::DATA | 0x0080;
const ACK: u16 = control::CONTROL | 0x00d0;
const BLOCK_ACK: u16 = control::CONTROL | 0x0090;

/// A radio: its channel and its clock.
struct Air {
    timing: Timing,
    at: Option<StampAt>,
    now_ns: i64,
    ifs_ns: Vec<Option<i64>>,
}

impl Air {
    fn new(at: StampAt) -> Self {
        Air { timing: Timing::default(), at: Some(at), now_ns: 1_000_000_000_000, ifs_ns: Vec::new() }
    }

    /// One PPDU after `idle_us`; its MPDUs have numbers of an A-MPDU where there are several.
    fn send(&mut self, idle_us: i64, mpdus: &mut [Frame]) {
        let start = self.now_ns + idle_us * 1000;
        let psdu = mpdus.iter().fold(0u32, |sum, f| sum.next_multiple_of(4) + f.mpdu_bytes + 4);
        let single = mpdus.len() == 1 && mpdus[0].radio.ampdu.is_none();
        let psdu = if single { mpdus[0].mpdu_bytes } else { psdu };
        let times = txtime::times(&mpdus[0].radio.ppdu, psdu).expect("the parameters are complete");
        self.now_ns = start + i64::from(times.total_ns);
        let stamp = match self.at.expect("set") {
            StampAt::PpduStart => start,
            StampAt::HeaderEnd => start + i64::from(times.header_ns),
            StampAt::MpduStart => start + i64::from(times.preamble_ns),
            StampAt::PpduEnd => self.now_ns,
        };
        let mut sum = 0;
        for f in mpdus {
            f.radio.tsf_us = Some((stamp / 1000) as u64);
            f.time_ns = Some(self.now_ns + 50_000);
            self.observe(f);
            sum += f.airtime_ns.expect("the parameters are complete");
        }
        assert_eq!(sum, times.total_ns, "MPDUs sum to their PPDU");
    }

    fn observe(&mut self, f: &mut Frame) {
        f.number = self.ifs_ns.len() as u64 + 1;
        self.timing.observe(f, self.ifs_ns.len());
        self.ifs_ns.push(f.ifs_ns);
        for (row, ifs) in self.timing.settled() {
            self.ifs_ns[row] = Some(ifs);
        }
    }

    fn finish(&mut self) -> Vec<Option<f64>> {
        self.timing.finish();
        for (row, ifs) in self.timing.settled() {
            self.ifs_ns[row] = Some(ifs);
        }
        assert!(!self.timing.waiting());
        self.ifs_ns.iter().map(|ifs| ifs.map(|ns| ns as f64 / 1e3)).collect()
    }

    fn at(&self) -> Vec<&'static str> {
        self.timing.stamps().map_or_else(Vec::new, |s| s.at)
    }

    /// A data frame and its ACK, 100 us after what was before.
    fn exchange(&mut self, ppdu: Params, bytes: u32) {
        self.send(100, &mut [frame(ppdu, DATA, AP, Some(STATION), bytes)]);
        self.send(10, &mut [frame(ofdm(24.0), ACK, STATION, None, 14)]);
    }
}

const ALL: [StampAt; 4] = [StampAt::PpduStart, StampAt::HeaderEnd, StampAt::MpduStart, StampAt::PpduEnd];

#[test]
fn every_instant_is_found_and_gives_the_same_idle_times() {
    for at in ALL {
        let mut air = Air::new(at);
        for n in 0..30 {
            air.exchange(ofdm(54.0), 200 + 40 * n);
            air.exchange(ht(7), 300 + 50 * n);
        }
        let ifs = air.finish();
        assert_eq!(air.at(), [stamps::name(at)]);
        assert_eq!(ifs[0], None);
        for (i, &ifs) in ifs.iter().enumerate().skip(1) {
            let idle = if i % 2 == 1 { 10.0 } else { 100.0 };
            assert!((ifs.expect("decided") - idle).abs() <= 1.0, "{at:?}: frame {i}: {ifs:?}");
        }
    }
}

#[test]
fn indistinguishable_instants_stay_unknown_only_where_it_matters() {
    // All preambles are 20 us: timestamps at a PPDU's start, at its header's end and at its MPDU's start look the same.
    let mut air = Air::new(StampAt::MpduStart);
    for n in 0..30 {
        air.exchange(ofdm(54.0), 200 + 40 * n);
    }
    air.send(100, &mut [frame(ht(7), DATA, AP, Some(STATION), 500)]);
    let ifs = air.finish();
    assert_eq!(air.at(), ["ppdu_start", "header_end", "mpdu_start"]);
    assert_eq!(ifs[40], Some(100.0));
    assert_eq!(ifs[60], None, "no response links HT to OFDM");
    assert_eq!(air.timing.notes().get(NoteKind::TimestampUndecided).count, 1);
}

#[test]
fn one_phy_whose_stamps_are_converted_wrongly() {
    let mut air = Air::new(StampAt::PpduStart);
    for n in 0..30 {
        air.exchange(ofdm(54.0), 200 + 40 * n);
        air.send(100, &mut [frame(ht(7), DATA, AP, Some(STATION), 400)]);
        // HT timestamps are 156 us early: what follows seems late by as much.
        air.now_ns += 156_000;
        air.send(10, &mut [frame(ofdm(24.0), ACK, STATION, None, 14)]);
    }
    let ifs = air.finish();
    assert_eq!((ifs[41], ifs[43]), (Some(10.0), None));
}

#[test]
fn jitter_decides_nothing() {
    let mut air = Air::new(StampAt::PpduEnd);
    for n in 0..200 {
        // The host's clock: tens of us of latency.
        air.now_ns += 1000 * (n * 7919 % 97);
        air.send(100, &mut [frame(ofdm(54.0), DATA, AP, Some(STATION), 1000)]);
        air.now_ns += 1000 * (n * 104_729 % 89);
        air.send(10, &mut [frame(ofdm(24.0), ACK, STATION, None, 14)]);
    }
    assert!(air.finish().iter().all(Option::is_none));
    assert_eq!(air.at(), Vec::<&str>::new());
}

#[test]
fn an_ampdu_is_one_ppdu() {
    for at in ALL {
        for shared_number in [true, false] {
            let mut air = Air::new(at);
            for n in 0..40 {
                let mut mpdus = [400, 1501, 77].map(|bytes| frame(ht(7), DATA, AP, Some(STATION), bytes));
                for (i, f) in mpdus.iter_mut().enumerate() {
                    f.radio.ampdu = Some(if shared_number { n } else { 3 * n + i as u32 });
                }
                air.send(100, &mut mpdus);
                air.send(10, &mut [frame(ofdm(24.0), BLOCK_ACK, STATION, Some(AP), 32)]);
                air.exchange(ofdm(54.0), 200 + 40 * n);
            }
            let ifs = air.finish();
            assert_eq!(air.at(), [stamps::name(at)]);
            for of_one in ifs.chunks(6).skip(1) {
                assert_eq!((of_one[1], of_one[2]), (None, None), "inside an A-MPDU there is no idle time");
                for (ifs, idle) in [(of_one[0], 100.0), (of_one[3], 10.0), (of_one[4], 100.0)] {
                    assert!((ifs.expect("decided") - idle).abs() <= 1.0, "{at:?}: {of_one:?}");
                }
            }
        }
    }
}

#[test]
fn an_ampdu_pays_its_preamble_once() {
    // 260 bits per symbol. 16 + 8 * 404 + 6 = 3254 bits, 13 symbols: 36 + 52 + 6. With 1501 bytes after (404 + 4 + 1501 =
    // 1909): 15 294, 59 symbols: 46 more. With 77 (1909 to 1912, + 81 = 1993): 15 966, 62 symbols: 3 more.
    let mut timing = Timing::default();
    let airtimes = [400, 1501, 77].map(|bytes| {
        let mut f = frame(ht(7), DATA, AP, Some(STATION), bytes);
        (f.radio.ampdu, f.radio.tsf_us) = (Some(9), Some(5));
        timing.observe(&mut f, 0);
        f.airtime_ns
    });
    assert_eq!(airtimes, [Some(94_000), Some(184_000), Some(12_000)]);
    // A lone MPDU has no delimiter: 3222 bits, 13 symbols; 58.5 Mb/s and another number are other PPDUs.
    let mut lone = frame(ht(7), DATA, AP, Some(STATION), 400);
    timing.observe(&mut lone, 0);
    assert_eq!(lone.airtime_ns, Some(94_000));
}

#[test]
fn a_retransmission_under_the_same_number_is_a_ppdu_of_its_own() {
    let mut timing = Timing::default();
    let airtimes = [0, 606, 606 + 20].map(|us| {
        let mut f = frame(ht(6), DATA, AP, Some(STATION), 84);
        (f.radio.ampdu, f.radio.tsf_us) = (Some(133), Some(1000 + us));
        timing.observe(&mut f, 0);
        f.airtime_ns
    });
    // 16 + 8 * 88 + 6 = 726 bits / 234: 4 symbols: 36 + 16 + 6; the third began while the second was on the air: 1430 bits,
    // 7 symbols.
    assert_eq!(airtimes, [Some(58_000), Some(58_000), Some(12_000)]);
}

#[test]
fn an_announced_instant_is_used() {
    let mut air = Air::new(StampAt::PpduStart);
    let mut last = 0;
    for n in 0..5 {
        let mut f = frame(ht(7), DATA, AP, Some(STATION), 500 + 100 * n);
        last = air.now_ns + 70_000;
        let total = txtime::txtime_ns(&f.radio.ppdu, f.mpdu_bytes).expect("complete");
        air.now_ns = last + i64::from(total);
        // A 32-bit clock in microseconds that wraps on its way.
        f.radio.stamp_ns = Some(((last / 1000 + 0xffff_fe00 - 1_000_000_000) as u64 & 0xffff_ffff) * 1000);
        f.radio.stamp_at = Some(StampAt::PpduStart);
        f.radio.tsf_us = Some(n.into());
        f.time_ns = Some(air.now_ns);
        air.observe(&mut f);
        assert_eq!(f.ifs_ns, (n > 0).then_some(70_000));
    }
    assert!(last > 0);
    let stamps = air.timing.stamps().expect("announced");
    assert_eq!((stamps.clock, stamps.at, stamps.announced), ("radio", vec!["ppdu_start"], true));
}

#[test]
fn a_changed_clock_is_detected() {
    let mut air = Air::new(StampAt::PpduEnd);
    for n in 0..2000 {
        air.exchange(ofdm(54.0), 200 + n % 900);
        air.exchange(ht(7), 200 + n % 900);
    }
    assert_eq!(air.at(), ["ppdu_end"]);
    air.at = Some(StampAt::MpduStart);
    for n in 0..20_000 {
        air.exchange(ofdm(54.0), 200 + n % 900);
        air.exchange(ht(7), 200 + n % 900);
    }
    assert_eq!(air.at(), ["mpdu_start"]);
}

#[test]
fn backwards_clocks_other_channels_and_own_transmissions() {
    let mut air = Air::new(StampAt::PpduEnd);
    for n in 0..40 {
        air.exchange(ofdm(54.0), 200 + 40 * n);
        air.exchange(ht(7), 300 + 50 * n);
    }
    let rows = air.ifs_ns.len();
    air.now_ns -= 5_000_000;
    air.exchange(ofdm(54.0), 300);
    let mut other = frame(Params { channel_mhz: Some(2437), ..ofdm(54.0) }, DATA, AP, Some(STATION), 300);
    air.send(100, std::slice::from_mut(&mut other));
    let mut own = frame(ofdm(54.0), DATA, AP, Some(STATION), 300);
    own.radio.transmitted = true;
    air.send(100, std::slice::from_mut(&mut own));
    air.exchange(ofdm(54.0), 300);
    let ifs = air.finish();
    let found: Vec<bool> = ifs[rows..].iter().map(Option::is_some).collect();
    assert_eq!(found, [false, true, false, false, false, true]);
    assert_eq!(air.timing.notes().get(NoteKind::FramesOverlap).count, 1);
}

#[test]
fn waiting_rows_are_bounded() {
    // No response comes: rows are released after a batch.
    let mut air = Air::new(StampAt::PpduStart);
    for n in 0..limits::HELD_FRAMES + 10 {
        let mut f = frame(ofdm(54.0), DATA, AP, Some(STATION), 100);
        (f.radio.tsf_us, f.number) = (Some(n as u64 * 1000), n as u64);
        air.timing.observe(&mut f, n);
        assert_eq!(air.timing.waiting(), n > 0 && n + 1 < limits::HELD_FRAMES, "frame {n}");
    }
    // One A-MPDU without an end.
    let mut timing = Timing::default();
    for n in 0..3 * limits::AMPDU_MPDUS {
        let mut f = frame(ht(0), DATA, AP, Some(STATION), 20);
        (f.radio.tsf_us, f.radio.ampdu) = (Some(1), Some(1));
        timing.observe(&mut f, n as usize);
        assert!(timing.ppdu.mpdus <= limits::AMPDU_MPDUS);
    }
}

#[test]
fn missing_parameters_are_noted() {
    let mut timing = Timing::default();
    let mut unknown = frame(Params { rate_mbps: None, ..ofdm(54.0) }, DATA, AP, None, 100);
    timing.observe(&mut unknown, 0);
    let mut assumed = frame(ht(7), DATA, AP, None, 100);
    timing.observe(&mut assumed, 1);
    let mut empty = frame(ht(7), DATA, AP, None, 0);
    timing.observe(&mut empty, 2);
    assert_eq!((unknown.airtime_ns, empty.airtime_ns), (None, None));
    assert_eq!(timing.notes().get(NoteKind::AirtimeUnknown).count, 2);
    assert_eq!(timing.notes().get(NoteKind::AirtimeAssumes).count, 1);
}
