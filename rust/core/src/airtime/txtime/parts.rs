//! The parts of a PPDU's time, and what several formulas share.

use crate::phy::{Format, Ppdu};

/// The parts of a PPDU's time on the air, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    /// Until the end of the header that announces the data to the receiver (PHY-RXSTART).
    pub header_ns: u32,
    /// Until the first bit of the PSDU.
    pub preamble_ns: u32,
    /// TXTIME: the whole PPDU, signal extension included.
    pub total_ns: u32,
}

/// Whether the channel is in the 2.4 GHz band; None: not known.
pub(super) fn at_2_4_ghz(p: &Ppdu) -> Option<bool> {
    p.channel_mhz.map(|f| (2_400..=2_500).contains(&f))
}

/// aSignalExtension: 6 us without energy after OFDM at 2.4 GHz, so that SIFS ends there as after 16 us at 5 GHz
/// (clauses 18.5.3.2, 19.4.3, 27.4.3).
pub(super) fn signal_extension_ns(p: &Ppdu) -> Option<u32> {
    Some(if at_2_4_ghz(p)? { 6_000 } else { 0 })
}

/// Whether the PPDU carries data for one user alone.
pub(super) fn single_user(p: &Ppdu) -> bool {
    match p.format {
        None | Some(Format::Su | Format::ErSu) => true,
        Some(Format::Mu) => p.users == Some(1),
        Some(Format::Tb) => false,
    }
}

/// Times from a preamble, the data field's duration and the time after it; None beyond 4 s, which is impossible.
pub(super) fn sum(header_ns: u32, preamble_ns: u32, data_ns: u64, behind_ns: u32) -> Option<Times> {
    let total = u64::from(preamble_ns) + u64::from(behind_ns) + data_ns;
    Some(Times { header_ns, preamble_ns, total_ns: u32::try_from(total).ok()? })
}
