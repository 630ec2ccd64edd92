//! TXTIME: how long a PPDU is on the air, by the formula of its PHY.
//!
//! Clauses are those of IEEE 802.11-2020; HE is IEEE 802.11ax-2021 clause 27, EHT is IEEE 802.11be-2024 clause 36. A result
//! is None where the capture does not tell what the formula needs. What is taken for granted is only what a PHY leaves no
//! choice about (1 Mb/s has the long preamble, a guard interval of 3.2 us the 4x LTF), and that an option of the transmitter
//! which the capture does not mention (STBC, greenfield, extension streams, LDPC where BCC is allowed, DCM, Doppler) was not
//! used: see `assumes`. A packet extension (HE, EHT) that the capture does not tell of is not counted: see `extension_untold`.

mod coding;
mod dsss;
mod he;
mod ht;
mod ofdm;
mod vht;

use crate::phy::{Format, Phy, Ppdu};

/// The parts of a PPDU's time on the air, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    /// Until the end of the header that tells the receiver what follows (PHY-RXSTART).
    pub header_ns: u32,
    /// Until the first bit of the PSDU.
    pub preamble_ns: u32,
    /// TXTIME: the whole PPDU, signal extension included.
    pub total_ns: u32,
}

/// Largest PSDU of any PHY: 6 500 631 bytes of HE (Table 27-53), 15 523 200 of EHT (Table 36-70).
const PSDU_BYTES: u32 = 15_523_200;

/// TXTIME and its parts of a PPDU whose PSDU has so many bytes; delimiters and padding of an A-MPDU count.
pub fn times(p: &Ppdu, psdu_bytes: u32) -> Option<Times> {
    if psdu_bytes > PSDU_BYTES {
        return None;
    }
    match p.phy? {
        Phy::B => dsss::times(p, psdu_bytes),
        Phy::A | Phy::G => ofdm::times(p, psdu_bytes),
        Phy::N => ht::times(p, psdu_bytes),
        Phy::Ac => vht::times(p, psdu_bytes),
        Phy::Ax => he::he(p, psdu_bytes),
        Phy::Be => he::eht(p, psdu_bytes),
    }
}

/// TXTIME in ns.
pub fn txtime_ns(p: &Ppdu, psdu_bytes: u32) -> Option<u32> {
    times(p, psdu_bytes).map(|t| t.total_ns)
}

/// Whether every PSDU of the PHY is an A-MPDU, a lone MPDU too (clauses 10.12.7, 26.6).
pub fn always_aggregates(phy: Option<Phy>) -> bool {
    phy >= Some(Phy::Ac)
}

/// Whether the time rests on options that the capture does not mention having been left out.
pub fn assumes(p: &Ppdu) -> bool {
    match p.phy {
        Some(Phy::N) => p.greenfield.is_none() || p.stbc.is_none() || p.ldpc.is_none() || p.extension_streams.is_none(),
        Some(Phy::Ac) => p.stbc.is_none() || p.ldpc.is_none(),
        Some(Phy::Ax) => p.stbc.is_none() || p.dcm.is_none() || p.midamble_symbols.is_none(),
        _ => false,
    }
}

/// Whether a packet extension of up to 16 us (EHT: 20 us) may follow that the capture does not tell of.
pub fn extension_untold(p: &Ppdu) -> bool {
    p.phy >= Some(Phy::Ax) && p.packet_extension_us.is_none() && he::by_l_sig(p).is_none()
}

/// Whether the channel is in the 2.4 GHz band; None: not known.
fn at_2_4_ghz(p: &Ppdu) -> Option<bool> {
    p.channel_mhz.map(|f| (2_400..=2_500).contains(&f))
}

/// aSignalExtension: 6 us without energy behind OFDM at 2.4 GHz, so that SIFS ends there as behind 16 us at 5 GHz
/// (clauses 18.5.3.2, 19.4.3, 27.4.3).
fn signal_extension_ns(p: &Ppdu) -> Option<u32> {
    Some(if at_2_4_ghz(p)? { 6_000 } else { 0 })
}

/// Whether the PPDU carries data for one user alone.
fn single_user(p: &Ppdu) -> bool {
    match p.format {
        None | Some(Format::Su | Format::ErSu) => true,
        Some(Format::Mu) => p.users == Some(1),
        Some(Format::Tb) => false,
    }
}

/// Times from a preamble, the data field's duration and what follows; None beyond 4 s, which no length can mean.
fn sum(header_ns: u32, preamble_ns: u32, data_ns: u64, behind_ns: u32) -> Option<Times> {
    let total = u64::from(preamble_ns) + u64::from(behind_ns) + data_ns;
    Some(Times { header_ns, preamble_ns, total_ns: u32::try_from(total).ok()? })
}

#[cfg(test)]
mod tests;
