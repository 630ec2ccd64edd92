//! The content of a capture header before an 802.11 frame, for any header format.

use crate::frame::Frame;
use crate::phy::{rates, Phy, Ppdu, Radio};

/// What the capture contains about the frame check sequence.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fcs {
    /// Whether the captured bytes end with it; None if unknown.
    pub at_end: Option<bool>,
    /// The receiver reported it as wrong.
    pub failed: bool,
}

/// The content of a capture header.
#[derive(Debug, Default)]
pub(super) struct RadioHeader {
    pub fcs: Fcs,
    /// The body starts at a multiple of four bytes (radiotap's data pad).
    pub padded: bool,
    /// The PPDU had no frame, or none was captured (radiotap's 0-length PSDU).
    pub empty: bool,
    /// An impossible value was left out.
    pub implausible: bool,
    /// The frame to fill, its radio first: it stays in one place until it becomes a row.
    pub frame: Frame,
}

impl RadioHeader {
    pub fn of(radio: Radio) -> Self {
        RadioHeader { frame: Frame { radio, ..Frame::default() }, ..RadioHeader::default() }
    }

    /// A clock above 2^56 us, 2283 years, is invalid.
    pub fn tsf(&mut self, us: u64) -> Option<u64> {
        self.plausible(us, us < 1 << 56)
    }

    /// A power at the antenna: thermal noise in 5 MHz is -107 dBm, and +30 dBm would destroy the receiver.
    pub fn dbm(&mut self, power: i32) -> Option<i8> {
        let possible = (-120..=30).contains(&power);
        self.plausible(power, possible).map(|p| p as i8)
    }

    /// `value`, or None and a note if it is impossible.
    pub fn plausible<T>(&mut self, value: T, possible: bool) -> Option<T> {
        self.implausible |= !possible;
        possible.then_some(value)
    }
}

/// Centre of a channel by its number, in the bands where numbers are unambiguous (IEEE 802.11-2020 Annex E).
pub(super) fn channel_mhz(number: u32) -> Option<u16> {
    Some(match number {
        1..=13 => 2407 + 5 * number as u16,
        14 => 2484,
        34..=177 => 5000 + 5 * number as u16,
        _ => return None,
    })
}

/// PHY and width of a frame sent without an MCS, by its rate and its band: 1, 2, 5.5 and 11 Mbit/s are DSSS,
/// OFDM's rates are ERP at 2.4 GHz and OFDM above.
pub(super) fn legacy(ppdu: &mut Ppdu) {
    const FIVE_GHZ_MHZ: u16 = 4000;
    let Some(rate) = ppdu.rate_mbps else { return };
    let width = ppdu.width_mhz.unwrap_or(20);
    if rates::is_dsss(rate) && width == 20 {
        ppdu.phy = Some(Phy::B);
        ppdu.width_mhz = Some(22);
    } else if rates::is_ofdm(rate, width) {
        ppdu.phy = ppdu.channel_mhz.map(|f| if f > FIVE_GHZ_MHZ { Phy::A } else { Phy::G });
        ppdu.width_mhz = ppdu.phy.map(|_| width);
        ppdu.short_preamble = None;
    }
}
