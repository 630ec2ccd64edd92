//! The radio parameters in the record header of a 2.x file.

use crate::phy::{Phy, Ppdu, Radio};

/// Offsets in the record header.
const CHANNEL: usize = 24;
const RATE: usize = 25;

/// Channel and rate; 0 means that the adapter did not report them.
///
/// Signal (offset 26) and noise (27) are percentages of the adapter's own scale, so they give no level in dBm.
pub fn radio(header: &[u8]) -> Radio {
    let channel = header.get(CHANNEL).copied().and_then(centre_mhz);
    let half_mbps = header.get(RATE).copied().filter(|r| *r != 0);
    Radio {
        ppdu: Ppdu {
            rate_mbps: half_mbps.map(|r| f64::from(r) / 2.0),
            phy: half_mbps.and_then(|r| phy(r, channel)),
            channel_mhz: channel,
            ..Ppdu::default()
        },
        ..Radio::default()
    }
}

/// The centre of a 20 or 22 MHz channel (IEEE 802.11-2020 clauses 16.3.6.3 and 17.3.8.4.3).
fn centre_mhz(number: u8) -> Option<u16> {
    match number {
        1..=13 => Some(2407 + 5 * u16::from(number)),
        14 => Some(2484),
        32..=177 => Some(5000 + 5 * u16::from(number)),
        _ => None,
    }
}

/// The PHY with this rate, by clauses 15.1, 16.1, 17.1 and 18.1; the rates of 802.11n are recorded otherwise.
fn phy(half_mbps: u8, channel_mhz: Option<u16>) -> Option<Phy> {
    match (half_mbps, channel_mhz) {
        (2 | 4 | 11 | 22, Some(..=2484)) => Some(Phy::B),
        (12 | 18 | 24 | 36 | 48 | 72 | 96 | 108, Some(..=2484)) => Some(Phy::G),
        (12 | 18 | 24 | 36 | 48 | 72 | 96 | 108, Some(_)) => Some(Phy::A),
        _ => None,
    }
}
