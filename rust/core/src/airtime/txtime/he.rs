//! HE (IEEE 802.11ax-2021 clause 27.4.3) and EHT (IEEE 802.11be-2024 clause 36.4.3).

use super::coding::{ldpc_extra, scheme, Rate, SERVICE, TAIL};
use super::parts::{signal_extension_ns, single_user, sum, Times};
use super::vht::long_training_fields;
use crate::phy::{Format, Phy, Ppdu};

/// Tones of a resource unit, its data subcarriers N_SD, and those of a quarter symbol N_SD,short (Tables 27-15 and 27-33,
/// 36-18 and 36-47); sums of tones are EHT's multiple resource units.
const UNITS: [(u16, u64, u64); 16] = [
    (26, 24, 6),
    (52, 48, 12),
    (78, 72, 18),
    (106, 102, 24),
    (132, 126, 30),
    (242, 234, 60),
    (484, 468, 120),
    (726, 702, 180),
    (996, 980, 240),
    (1480, 1448, 360),
    (1722, 1682, 420),
    (1992, 1960, 492),
    (2476, 2428, 612),
    (2988, 2940, 732),
    (3472, 3408, 852),
    (3984, 3920, 984),
];
/// Largest packet extension (Tables 27-46 and 36-50).
const HE_EXTENSION_NS: u32 = 16_000;
const EHT_EXTENSION_NS: u32 = 20_000;

/// What comes before the data.
#[derive(Debug, Clone, Copy)]
struct Shape {
    header_ns: u32,
    preamble_ns: u32,
    symbol_ns: u32,
    /// All LTFs, which midambles repeat.
    training_ns: u32,
}

pub(super) fn he(p: &Ppdu, psdu_bytes: u32) -> Option<Times> {
    whole(p, psdu_bytes, he_shape(p)?)
}

pub(super) fn eht(p: &Ppdu, psdu_bytes: u32) -> Option<Times> {
    whole(p, psdu_bytes, eht_shape(p)?)
}

fn whole(p: &Ppdu, psdu_bytes: u32, shape: Shape) -> Option<Times> {
    let behind = signal_extension_ns(p)?;
    if let Some(data) = by_shape_and_l_sig(p, &shape) {
        return sum(shape.header_ns, shape.preamble_ns, u64::from(data), behind);
    }
    if !single_user(p) {
        return None;
    }
    let symbols = symbols(p, psdu_bytes)?;
    let extension = u32::from(p.packet_extension_us.unwrap_or(0)) * 1000;
    let data = symbols * u64::from(shape.symbol_ns) + midambles_ns(p, symbols, &shape);
    sum(shape.header_ns, shape.preamble_ns, data, behind + extension)
}

fn he_shape(p: &Ppdu) -> Option<Shape> {
    let format = p.format?;
    let (symbol_ns, training_ns) = training(p)?;
    // L-STF and L-LTF 16, L-SIG 4, RL-SIG 4, HE-SIG-A 8 (16 where repeated for range).
    let header_ns = if format == Format::ErSu { 40_000 } else { 32_000 };
    let sig_b = if format == Format::Mu { 4_000 * u32::from(p.sig_symbols?) } else { 0 };
    Some(Shape {
        header_ns,
        preamble_ns: header_ns + sig_b + short_training(format) + training_ns,
        symbol_ns,
        training_ns,
    })
}

fn eht_shape(p: &Ppdu) -> Option<Shape> {
    let format = p.format?;
    let (symbol_ns, training_ns) = training(p)?;
    // L-STF and L-LTF 16, L-SIG 4, RL-SIG 4, U-SIG 8; one user's PPDU is an MU PPDU, too.
    let sig = match format {
        Format::Su | Format::Mu => 4_000 * u32::from(p.sig_symbols?),
        Format::Tb => 0,
        Format::ErSu => return None,
    };
    Some(Shape {
        header_ns: 32_000,
        preamble_ns: 32_000 + sig + short_training(format) + training_ns,
        symbol_ns,
        training_ns,
    })
}

/// The HE-STF or EHT-STF.
fn short_training(format: Format) -> u32 {
    if format == Format::Tb {
        8_000
    } else {
        4_000
    }
}

/// Duration of a data symbol and of all LTFs.
fn training(p: &Ppdu) -> Option<(u32, u32)> {
    let guard = p.guard_ns?;
    let size = match (guard, p.ltf_size, p.format) {
        (800 | 1_600 | 3_200, Some(size @ (1 | 2 | 4)), _) => u32::from(size),
        // The only combinations that Table 27-1 has.
        (3_200, None, _) => 4,
        (1_600, None, Some(Format::Su | Format::ErSu | Format::Mu)) => 2,
        _ => return None,
    };
    let fields = match p.ltf_symbols {
        Some(n @ (1 | 2 | 4 | 6 | 8)) => u32::from(n),
        Some(_) => return None,
        // A single HE user's streams determine it; EHT may send more than needed.
        None if p.phy == Some(Phy::Ax) && matches!(p.format, Some(Format::Su | Format::ErSu)) => {
            long_training_fields(p.streams?.checked_mul(group(p) as u8)?)?
        }
        None => return None,
    };
    let guard = u32::from(guard);
    Some((12_800 + guard, fields * (3_200 * size + guard)))
}

/// m_STBC.
fn group(p: &Ppdu) -> u64 {
    if p.stbc.unwrap_or(0) > 0 {
        2
    } else {
        1
    }
}

/// Tones, data subcarriers of a symbol and of its quarter, bits per subcarrier, coding rate.
fn modulation(p: &Ppdu) -> Option<(u16, u64, u64, u64, Rate)> {
    let full = match p.width_mhz {
        Some(20) => Some(242),
        Some(40) => Some(484),
        Some(80) => Some(996),
        Some(160) => Some(1992),
        Some(320) => Some(3984),
        _ => None,
    };
    let tones = p.ru_tones.or(full)?;
    let unit = |tones: u16| UNITS.into_iter().find(|u| u.0 == tones);
    let (_, data, short) = unit(tones)?;
    let eht = p.phy == Some(Phy::Be);
    // Half the subcarriers repeat the other half.
    let halved = |data: u64, short: u64| (data / 2, if short == 6 { 2 } else { short / 2 });
    match (p.mcs?, eht) {
        // BPSK-DCM, and the same twice over in 80 MHz and more (clause 36.5).
        (15, true) => {
            let (data, short) = halved(data, short);
            Some((tones, data, short, 1, Rate { num: 1, den: 2 }))
        }
        (14, true) => {
            let half = match tones {
                996 => 484,
                1992 => 996,
                3984 => 1992,
                _ => return None,
            };
            let (_, data, short) = unit(half)?;
            let (data, short) = halved(data, short);
            Some((tones, data, short, 1, Rate { num: 1, den: 2 }))
        }
        (mcs, _) => {
            let (bits, rate) = scheme(mcs).filter(|_| eht || mcs <= 11)?;
            let (data, short) = if p.dcm == Some(true) { halved(data, short) } else { (data, short) };
            Some((tones, data, short, bits, rate))
        }
    }
}

/// N_SYM of one user's PSDU (clauses 27.3.12.5 and 36.3.13.3).
fn symbols(p: &Ppdu, psdu_bytes: u32) -> Option<u64> {
    let streams = u64::from(p.streams.filter(|n| (1..=8).contains(n))?);
    let (tones, subcarriers, short, bits, rate) = modulation(p)?;
    if psdu_bytes == 0 {
        return Some(0);
    }
    let group = group(p);
    let coded = subcarriers * bits * streams;
    let coded_short = short * bits * streams;
    let data = coded * rate.num / rate.den;
    let data_short = (coded_short * rate.num / rate.den).max(1);
    // LDPC is the only code of wide units, many streams and dense constellations (clause 27.1.1).
    let ldpc = p.ldpc.unwrap_or(false) || tones > 242 || streams > 4 || bits > 8;
    let payload = 8 * u64::from(psdu_bytes) + SERVICE;
    if !ldpc {
        return Some((payload + TAIL).div_ceil(group * data) * group);
    }
    let symbols = payload.div_ceil(group * data) * group;
    // The quarters of the last symbol with data; the rest is padding before the code (Equation 27-64).
    let excess = payload % (group * data);
    let quarters = if excess == 0 { 4 } else { excess.div_ceil(group * data_short).min(4) };
    let last = |whole: u64, part: u64| if quarters == 4 { whole } else { quarters * part };
    let encoded = (symbols - group) * data + group * last(data, data_short);
    let available = (symbols - group) * coded + group * last(coded, coded_short);
    // The extra segment is a symbol of its own only after a full one.
    let extra = quarters == 4 && ldpc_extra(encoded, available, rate);
    Some(symbols + if extra { group } else { 0 })
}

/// N_MA midambles of all LTFs each (Equation 27-106).
fn midambles_ns(p: &Ppdu, symbols: u64, shape: &Shape) -> u64 {
    let period = match p.midamble_symbols {
        Some(n @ (10 | 20)) => u64::from(n),
        _ => return 0,
    };
    symbols.saturating_sub(1).div_ceil(period).saturating_sub(1) * u64::from(shape.training_ns)
}

/// Data and packet extension according to the L-SIG and the PE Disambiguity bit; None if they are unknown.
pub(super) fn by_l_sig(p: &Ppdu) -> Option<u32> {
    let shape = match p.phy? {
        Phy::Ax => he_shape(p)?,
        Phy::Be => eht_shape(p)?,
        _ => return None,
    };
    by_shape_and_l_sig(p, &shape)
}

/// Equations 27-127 to 27-129: LENGTH counts from the L-SIG in 4 us, rounded up, so that the symbols fit once and the
/// packet extension is the remainder in whole 4 us.
fn by_shape_and_l_sig(p: &Ppdu, shape: &Shape) -> Option<u32> {
    if p.midamble_symbols.unwrap_or(0) > 0 {
        return None;
    }
    let length = u32::from(p.l_sig_bytes?);
    let (modulo, largest) = match (p.phy?, p.format?) {
        (Phy::Be, _) => (0, EHT_EXTENSION_NS),
        (_, Format::Su | Format::Tb) => (2, HE_EXTENSION_NS),
        (_, Format::Mu | Format::ErSu) => (1, HE_EXTENSION_NS),
    };
    if (length + modulo) % 3 != 0 {
        return None;
    }
    let room = (4_000 * ((length + modulo) / 3 + 1)).checked_sub(shape.preamble_ns - 20_000)?;
    let fitting = room / shape.symbol_ns;
    let extension = |symbols: u32| (room - symbols * shape.symbol_ns) / 4_000 * 4_000;
    let symbols = match p.pe_disambiguity {
        Some(one_less) => fitting.checked_sub(u32::from(one_less))?,
        // One symbol less would leave a longer extension than there is.
        None if fitting == 0 || extension(fitting - 1) > largest => fitting,
        None => return None,
    };
    let extension = extension(symbols);
    (extension <= largest).then_some(symbols * shape.symbol_ns + extension)
}
