//! Modulation and coding schemes, and the symbols that LDPC adds.

/// A coding rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rate {
    pub num: u64,
    pub den: u64,
}

/// Coded bits per subcarrier and stream, and coding rate, of the MCS of VHT (0..=9), HE (0..=11) and EHT (0..=13); the
/// first eight are HT's of one stream (clauses 19.5, 21.5, 27.5, 36.5).
pub(super) fn scheme(mcs: u8) -> Option<(u64, Rate)> {
    let (bits, num, den) = match mcs {
        0 => (1, 1, 2),
        1 => (2, 1, 2),
        2 => (2, 3, 4),
        3 => (4, 1, 2),
        4 => (4, 3, 4),
        5 => (6, 2, 3),
        6 => (6, 3, 4),
        7 => (6, 5, 6),
        8 => (8, 3, 4),
        9 => (8, 5, 6),
        10 => (10, 3, 4),
        11 => (10, 5, 6),
        12 => (12, 3, 4),
        13 => (12, 5, 6),
        _ => return None,
    };
    Some((bits, Rate { num, den }))
}

/// SERVICE and tail bits of each encoder.
pub(super) const SERVICE: u64 = 16;
pub(super) const TAIL: u64 = 6;

/// Whether this number of payload bits loses too many coded bits to puncturing and needs an LDPC extra symbol
/// (clause 19.3.11.7.5, steps a to d; the same in clauses 21.3.10.5.4 and 27.3.12.5.2).
pub(super) fn ldpc_extra(payload: u64, available: u64, r: Rate) -> bool {
    // Compared with the share of parity, (den - num) / den.
    let parity = r.den - r.num;
    let fits = |bits: u64| r.den * available >= r.den * payload + bits * parity;
    let (words, length) = match available {
        0..=648 => (1, if fits(912) { 1296 } else { 648 }),
        649..=1296 => (1, if fits(1464) { 1944 } else { 1296 }),
        1297..=1944 => (1, 1944),
        1945..=2592 => (2, if fits(2916) { 1944 } else { 1296 }),
        _ => ((payload * r.den).div_ceil(1944 * r.num), 1944),
    };
    let coded = words * length;
    let shortened = (coded * r.num / r.den).saturating_sub(payload);
    let punctured = coded.saturating_sub(available + shortened);
    let share = 10 * r.den * punctured;
    (share > coded * parity && 10 * shortened * parity < 12 * punctured * r.num) || share > 3 * coded * parity
}
