//! Radiotap's fields of HT, VHT and S1G PPDUs, and of A-MPDUs.

use crate::phy::{rates, Phy, Ppdu, Radio};

use super::super::radio_header::RadioHeader;
use super::super::view::View;

/// radiotap.org/fields/MCS.
pub(super) fn mcs(radio_header: &mut RadioHeader, v: View<'_>) {
    let Some([known, flags, mcs]) = v.array(0) else { return };
    let knows = |bit: u8| known & bit != 0;
    let mcs = if knows(0x02) { radio_header.plausible(mcs, rates::ht_streams(mcs).is_some()) } else { None };
    let ppdu = &mut radio_header.frame.radio.ppdu;
    ppdu.phy = Some(Phy::N);
    ppdu.width_mhz = knows(0x01).then_some(if flags & 3 == 1 { 40 } else { 20 });
    ppdu.mcs = mcs;
    ppdu.streams = ppdu.mcs.and_then(rates::ht_streams);
    ppdu.guard_ns = knows(0x04).then_some(if flags & 0x04 != 0 { 400 } else { 800 });
    ppdu.greenfield = knows(0x08).then_some(flags & 0x08 != 0);
    ppdu.ldpc = knows(0x10).then_some(flags & 0x10 != 0);
    ppdu.stbc = knows(0x20).then_some(flags >> 5 & 3);
    ppdu.extension_streams = knows(0x40).then_some((known >> 6 & 2) | flags >> 7);
    ppdu.rate_mbps = match (ppdu.mcs, ppdu.width_mhz, ppdu.guard_ns) {
        (Some(mcs), Some(width), Some(guard)) => rates::ht(mcs, width, guard),
        _ => None,
    };
}

/// radiotap.org/fields/VHT. With several users, the one with a known MCS is used: the data are theirs.
pub(super) fn vht(radio_header: &mut RadioHeader, v: View<'_>) {
    const UNKNOWN_MCS: u8 = 15;
    const MOST_STREAMS: u8 = 8;
    let (Some(known), Some([flags, bandwidth]), Some(users), Some(coding)) =
        (v.le16(0), v.array::<2>(2), v.array::<4>(4), v.u8(8))
    else {
        return;
    };
    let knows = |bit: u16| known & bit != 0;
    let present = |u: &u8| u & 0xf != 0;
    let captured = |u: &u8| present(u) && u >> 4 != UNKNOWN_MCS;
    let user = users.iter().position(captured).or_else(|| users.iter().position(present));
    let user = user.and_then(|u| Some((u, *users.get(u)?)));
    let user = user.and_then(|(u, field)| radio_header.plausible((u, field), field & 0xf <= MOST_STREAMS));
    let ppdu = &mut radio_header.frame.radio.ppdu;
    ppdu.phy = Some(Phy::Ac);
    ppdu.stbc = knows(0x0001).then_some(flags & 1);
    ppdu.guard_ns = knows(0x0004).then_some(if flags & 0x04 != 0 { 400 } else { 800 });
    ppdu.width_mhz = if knows(0x0040) { vht_width(bandwidth & 0x1f) } else { None };
    if let Some((user, field)) = user {
        ppdu.streams = Some(field & 0xf);
        ppdu.mcs = Some(field >> 4).filter(|&m| m != UNKNOWN_MCS);
        ppdu.ldpc = Some(coding >> user & 1 != 0);
    }
    ppdu.rate_mbps = match (ppdu.mcs, ppdu.streams, ppdu.width_mhz, ppdu.guard_ns) {
        (Some(mcs), Some(streams), Some(width), Some(guard)) => rates::vht(mcs, streams, width, guard),
        _ => None,
    };
}

/// The PPDU's width; a sideband of a wider channel is as wide as itself.
fn vht_width(code: u8) -> Option<u16> {
    Some(match code {
        0 | 2 | 3 | 7..=10 | 18..=25 => 20,
        1 | 5 | 6 | 14..=17 => 40,
        4 | 12 | 13 => 80,
        11 => 160,
        _ => return None,
    })
}

/// radiotap.org/fields/A-MPDU status.
pub(super) fn ampdu(radio: &mut Radio, v: View<'_>) {
    radio.ampdu = v.le32(0);
    radio.ampdu_last = v.le16(4).filter(|f| f & 0x0004 != 0).map(|f| f & 0x0008 != 0);
}

/// radiotap.org/fields/S1G: sub-gigahertz PPDUs, whose PHY is not decoded.
pub(super) fn s1g(ppdu: &mut Ppdu, v: View<'_>) {
    let (Some(known), Some(data)) = (v.le16(0), v.le16(2)) else { return };
    let knows = |bit: u16| known & bit != 0;
    ppdu.guard_ns = knows(0x0004).then_some(if data & 0x0020 != 0 { 4000 } else { 8000 });
    ppdu.streams = knows(0x0008).then_some((data >> 6 & 3) as u8 + 1);
    ppdu.width_mhz = Some(data >> 8 & 0xf).filter(|&w| knows(0x0010) && w <= 4).map(|w| 1 << w);
    ppdu.mcs = Some((data >> 12) as u8).filter(|&m| knows(0x0020) && m <= 10);
}
