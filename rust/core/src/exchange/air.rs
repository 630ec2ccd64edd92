//! The previous frame on each channel, to which an ACK, a CTS or a Block Ack responds.

use super::open::{Id, NONE};
use super::station::bits;
use crate::frame::{Frame, Mac};

/// aSIFSTime of OFDM, the longer of the two (IEEE 802.11-2020 Table 17-21).
const SIFS_NS: i64 = 16_000;
/// An ACK at 1 Mb/s after a long preamble (clause 15): the longest response except for a basic Block Ack.
const LONGEST_ACK_NS: i64 = 304_000;
/// aPPDUMaxTime of HT mixed, VHT and HE.
const LONGEST_PPDU_NS: i64 = 5_484_000;
/// Long preamble of DSSS.
const PREAMBLE_NS: i64 = 192_000;
/// MAC clocks count microseconds, but some timestamp HT frames up to 180 us early.
const TSF_SLACK_NS: i64 = 250_000;
/// Timestamps of the host are as late as its driver.
const HOST_SLACK_NS: i64 = 2_000_000;
/// A MAC clock this far from the host's has jumped (some do, by 32 768 us), or the host was suspended.
const TSF_STRAY_NS: i64 = 10_000_000;

/// What the previous frame was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    #[default]
    Other,
    /// Data or management with a response expected: exchange `id`.
    Sent,
    /// A control frame that expects an ACK or a Block Ack: PS-Poll, BlockAckReq.
    Asked,
    Rts,
    /// The CTS to that RTS.
    Cts,
    Ack,
    Damaged,
}

/// The previous frame.
#[derive(Debug, Clone, Copy, Default)]
pub struct Before {
    pub kind: Kind,
    pub ta: u64,
    pub ra: u64,
    pub id: Id,
    pub stream: u32,
    /// The PPDU it came in.
    pub ppdu: u32,
    ampdu: Option<u32>,
    time_ns: Option<i64>,
    tsf_us: Option<u64>,
    /// Its maximum duration.
    longest_ns: i64,
    /// RTS and CTS: when the reservation ends.
    pub until_ns: i64,
    pub rts_ta: Mac,
    pub rts_ra: Mac,
    channel: Option<u16>,
}

/// The last frame of every channel.
#[derive(Debug)]
pub struct Air {
    before: [Before; Self::CHANNELS],
    at: usize,
    ppdus: u32,
}

impl Default for Air {
    fn default() -> Self {
        let none = Before { id: NONE, stream: NONE, ..Before::default() };
        Air { before: [none; Self::CHANNELS], at: 0, ppdus: 0 }
    }
}

impl Air {
    /// Channels captured at once: the radios of one sniffer.
    const CHANNELS: usize = 4;

    /// The previous frame of `f` on its channel.
    pub fn before(&mut self, f: &Frame) -> &mut Before {
        let channel = f.radio.ppdu.channel_mhz;
        if self.before[self.at].channel != channel {
            self.at = match self.before.iter().position(|b| b.channel == channel) {
                Some(at) => at,
                None => {
                    let at = (self.at + 1) % Self::CHANNELS;
                    self.before[at] = Before { id: NONE, stream: NONE, channel, ..Before::default() };
                    at
                }
            };
        }
        &mut self.before[self.at]
    }

    /// The PPDU of `f`: that of the previous frame, or a new one.
    pub fn ppdu(&mut self, f: &Frame, ta: u64) -> u32 {
        let before = *self.before(f);
        let one = before.shares_ppdu(f);
        if !(one && before.kind == Kind::Sent && before.ta == ta) {
            self.ppdus = self.ppdus.wrapping_add(1);
        }
        self.ppdus
    }

    /// Store `f` as the previous frame.
    pub fn note(&mut self, f: &Frame, kind: Kind) -> &mut Before {
        let mac = |m: Option<Mac>| m.map_or(0, bits);
        let before = self.before(f);
        let ampdu = f.radio.ampdu;
        *before = Before {
            kind,
            ta: mac(f.ta()),
            ra: mac(f.ra()),
            id: NONE,
            stream: NONE,
            ppdu: 0,
            ampdu,
            time_ns: f.time_ns,
            tsf_us: f.radio.tsf_us,
            longest_ns: match f.airtime_ns {
                Some(t) if ampdu.is_none() => i64::from(t),
                _ if ampdu.is_some() => LONGEST_PPDU_NS,
                // The lowest rate.
                _ => PREAMBLE_NS + i64::from(f.mpdu_bytes).saturating_mul(8_000),
            },
            until_ns: 0,
            rts_ta: [0; 6],
            rts_ra: [0; 6],
            channel: before.channel,
        };
        before
    }
}

impl Before {
    /// Whether `f` is early enough to be a response to this frame. A timestamp may mark the start or the end of a frame, so that
    /// between the timestamps of a frame and of its response there are SIFS and one of the two frames.
    pub fn answered_by(&self, f: &Frame) -> bool {
        let host = self.time_ns.zip(f.time_ns).map(|(a, b)| b.saturating_sub(a));
        let tsf = self.tsf_us.zip(f.radio.tsf_us).map(|(a, b)| (b.wrapping_sub(a) as i64).saturating_mul(1000));
        let answer = f.airtime_ns.map_or(LONGEST_ACK_NS, i64::from);
        let longest = self.longest_ns.max(answer).saturating_add(SIFS_NS);
        let fits = |t: i64, slack: i64| (-slack..=longest.saturating_add(slack)).contains(&t);
        match (tsf, host) {
            (Some(t), Some(h)) if t.saturating_sub(h).saturating_abs() > TSF_STRAY_NS => {
                fits(t, TSF_SLACK_NS) || fits(h, HOST_SLACK_NS)
            }
            (Some(t), _) => fits(t, TSF_SLACK_NS),
            (None, Some(h)) => fits(h, HOST_SLACK_NS),
            // Order alone.
            (None, None) => true,
        }
    }

    /// Whether `f` is in the PPDU of this frame: the same A-MPDU number, or, since some drivers number MPDUs, the same time to
    /// the microsecond.
    pub fn shares_ppdu(&self, f: &Frame) -> bool {
        let same = |a: Option<u64>, b: Option<u64>| a.is_some() && a == b;
        same(self.ampdu.map(u64::from), f.radio.ampdu.map(u64::from)) || same(self.tsf_us, f.radio.tsf_us)
    }
}
