//! TXTIME: the time of a PPDU on the air, by the formula of its PHY.
//!
//! Clauses are those of IEEE 802.11-2020; HE is IEEE 802.11ax-2021 clause 27, EHT is IEEE 802.11be-2024 clause 36. A result
//! is None if the capture lacks a parameter of the formula. The only assumptions are values that a PHY leaves no
//! choice about (1 Mb/s has the long preamble, a guard interval of 3.2 us the 4x LTF), and that an option of the transmitter
//! which the capture does not mention (STBC, greenfield, extension streams, LDPC where BCC is allowed, DCM, Doppler) was not
//! used: see `assumes`. An unknown packet extension (HE, EHT) is not included: see `extension_unknown`.

mod coding;
mod dsss;
mod he;
mod ht;
mod ofdm;
mod parts;
mod vht;

use crate::phy::{Phy, Ppdu};

pub use parts::Times;

/// Largest PSDU of any PHY: 6 500 631 bytes of HE (Table 27-53), 15 523 200 of EHT (Table 36-70).
const PSDU_BYTES: u32 = 15_523_200;

/// TXTIME and its parts of a PPDU whose PSDU has this many bytes, including delimiters and padding of an A-MPDU.
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

/// Whether every PSDU of the PHY is an A-MPDU, even with a single MPDU (clauses 10.12.7, 26.6).
pub fn always_aggregates(phy: Option<Phy>) -> bool {
    phy >= Some(Phy::Ac)
}

/// Whether the time assumes that options not mentioned in the capture were not used.
pub fn assumes(p: &Ppdu) -> bool {
    match p.phy {
        Some(Phy::N) => p.greenfield.is_none() || p.stbc.is_none() || p.ldpc.is_none() || p.extension_streams.is_none(),
        Some(Phy::Ac) => p.stbc.is_none() || p.ldpc.is_none(),
        Some(Phy::Ax) => p.stbc.is_none() || p.dcm.is_none() || p.midamble_symbols.is_none(),
        _ => false,
    }
}

/// Whether an unknown packet extension of up to 16 us (EHT: 20 us) may follow.
pub fn extension_unknown(p: &Ppdu) -> bool {
    p.phy >= Some(Phy::Ax) && p.packet_extension_us.is_none() && he::by_l_sig(p).is_none()
}

#[cfg(test)]
mod tests;
