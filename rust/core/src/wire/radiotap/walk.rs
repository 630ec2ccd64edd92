//! Reading a radiotap header: its present words list its fields, each aligned from the header's start.

use super::super::view::View;

/// Version, pad, length, first present word.
pub(super) const LEAST: usize = 8;
const PRESENT: usize = 4;

/// Alignment and size of each field of the radiotap namespace, by its bit.
const FIELDS: [(usize, usize); 28] = [
    (8, 8),  // 0 TSFT
    (1, 1),  // 1 flags
    (1, 1),  // 2 rate
    (2, 4),  // 3 channel
    (2, 2),  // 4 FHSS
    (1, 1),  // 5 antenna signal, dBm
    (1, 1),  // 6 antenna noise, dBm
    (2, 2),  // 7 lock quality
    (2, 2),  // 8 TX attenuation
    (2, 2),  // 9 TX attenuation, dB
    (1, 1),  // 10 TX power, dBm
    (1, 1),  // 11 antenna
    (1, 1),  // 12 antenna signal, dB
    (1, 1),  // 13 antenna noise, dB
    (2, 2),  // 14 RX flags
    (2, 2),  // 15 TX flags
    (1, 1),  // 16 RTS retries
    (1, 1),  // 17 data retries
    (4, 8),  // 18 XChannel
    (1, 3),  // 19 MCS
    (4, 8),  // 20 A-MPDU status
    (2, 12), // 21 VHT
    (8, 12), // 22 timestamp
    (2, 12), // 23 HE
    (2, 12), // 24 HE-MU
    (2, 6),  // 25 HE-MU other user
    (1, 1),  // 26 0-length PSDU
    (2, 4),  // 27 L-SIG
];
/// From here on the header is a list of types, lengths and values.
const TLV: usize = 28;
/// Vendor types in that list; the header's own bits are not types.
const VENDOR_TYPE: usize = 30;
/// Bits of every present word, whatever its namespace.
const RADIOTAP_NAMESPACE: u32 = 1 << 29;
const VENDOR_NAMESPACE: u32 = 1 << 30;
const ANOTHER_WORD: u32 = 1 << 31;
/// The bits that are fields.
const FIELD_BITS: u32 = RADIOTAP_NAMESPACE - 1;

/// Call `field` with the bit or type and the bytes of each field; None when the fields do not fit.
///
/// Vendor fields are skipped by their stated length. Undefined bits end the reading, since the
/// size of their field is not known.
pub(super) fn walk(header: View<'_>, mut field: impl FnMut(usize, View<'_>)) -> Option<()> {
    let mut words = 1;
    while header.le32(PRESENT + 4 * (words - 1))? & ANOTHER_WORD != 0 {
        words += 1;
    }
    let mut at = PRESENT + 4 * words;
    let mut ours = true;
    let mut continued = false;
    for word in 0..words {
        let word = header.le32(PRESENT + 4 * word)?;
        let mut bits = if ours { word & FIELD_BITS } else { 0 };
        if continued && bits != 0 {
            return Some(());
        }
        while bits != 0 {
            let bit = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let Some(&(align, size)) = FIELDS.get(bit) else {
                return values(header.skip(at.next_multiple_of(4)), field);
            };
            at = aligned(at, align);
            let bytes = header.data().get(at..at + size)?;
            field(bit, View::new(bytes, size));
            at += size;
        }
        continued = true;
        if word & RADIOTAP_NAMESPACE != 0 {
            (ours, continued) = (true, false);
        } else if word & VENDOR_NAMESPACE != 0 {
            // OUI, sub-namespace, and the length of what follows (radiotap.org/fields/Vendor Namespace).
            at = at.next_multiple_of(2);
            at += 6 + usize::from(header.le16(at + 4)?);
            if at > header.data().len() {
                return None;
            }
            ours = false;
        }
    }
    Some(())
}

/// The next multiple of a power of two: a division for every field would be slow.
#[inline]
fn aligned(at: usize, align: usize) -> usize {
    (at + align - 1) & !(align - 1)
}

/// The list of types, lengths and values in the rest of the header (radiotap.org/fields/TLV). Bytes missing at the
/// end of a value are zeros.
fn values(mut rest: View<'_>, mut field: impl FnMut(usize, View<'_>)) -> Option<()> {
    const LONGEST: usize = 12;
    while !rest.data().is_empty() {
        let (kind, length) = (usize::from(rest.le16(0)?), usize::from(rest.le16(2)?));
        let value = rest.skip(4).clip(length);
        if value.data().len() < length {
            return None;
        }
        match FIELDS.get(kind) {
            Some(&(_, size)) if length < size => {
                let mut padded = [0; LONGEST];
                padded[..length].copy_from_slice(value.data());
                field(kind, View::new(&padded[..size], size));
            }
            _ if kind == TLV || kind == VENDOR_TYPE => {}
            _ => field(kind, value),
        }
        rest = rest.skip(4 + length.next_multiple_of(4));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(present: &[u32], fields: &[u8]) -> Vec<u8> {
        let length = (4 + 4 * present.len() + fields.len()) as u16;
        let words: Vec<u8> = present.iter().flat_map(|w| w.to_le_bytes()).collect();
        [&[0, 0][..], &length.to_le_bytes(), &words, fields].concat()
    }

    /// Bit and first byte of each field, and whether they all fit; the bytes count from `first`.
    fn seen(present: &[u32], fields: &[u8]) -> (Vec<(usize, u8)>, bool) {
        let data = header(present, fields);
        let mut got = Vec::new();
        let whole = walk(View::new(&data, data.len()), |bit, v| got.push((bit, v.u8(0).unwrap_or(0xff))));
        (got, whole.is_some())
    }

    #[test]
    fn fields_are_aligned_from_the_start_of_the_header() {
        // Flags at 8, channel at 10, antenna at 14.
        assert_eq!(seen(&[0x0000_080a], &[8, 9, 10, 11, 12, 13, 14]), (vec![(1, 8), (3, 10), (11, 14)], true));
        // Two words: the TSFT is at 16 since 12 is no multiple of 8.
        let fields: Vec<u8> = (12..25).collect();
        assert_eq!(seen(&[0xa000_0001, 0x20], &fields), (vec![(0, 16), (5, 24)], true));
        assert_eq!(seen(&[1], &[0; 7]), (vec![], false));
    }

    #[test]
    fn every_field_alone() {
        for (bit, (align, size)) in FIELDS.into_iter().enumerate() {
            let pad = LEAST.next_multiple_of(align) - LEAST;
            let fields = vec![7; pad + size];
            assert_eq!(seen(&[1 << bit], &fields), (vec![(bit, 7)], true));
            assert_eq!(seen(&[1 << bit], &fields[1..]), (vec![], false));
        }
    }

    #[test]
    fn vendor_namespaces_are_passed_over() {
        // The vendor's word announces 3 bytes of its own; then radiotap's fields again.
        let fields = [7, 0, 1, 2, 3, 0, 3, 0, 9, 9, 9, 5];
        assert_eq!(seen(&[0xc000_0002, 0xa000_ffff, 0x20], &fields), (vec![(1, 7), (5, 5)], true));
        let liar = [7, 0, 1, 2, 3, 0, 0xff, 0xff];
        assert_eq!(seen(&[0xc000_0002, 0xa000_0000, 0x20], &liar), (vec![(1, 7)], false));
        assert_eq!(seen(&[0xc000_0002, 1], &liar), (vec![(1, 7)], false));
    }

    #[test]
    fn one_namespace_an_antenna() {
        // Signal of all, then signal and antenna of each.
        let fields = [1, 2, 0, 3, 1];
        let got = vec![(5, 1), (5, 2), (11, 0), (5, 3), (11, 1)];
        assert_eq!(seen(&[0xa000_0020, 0xa000_0820, 0x0000_0820], &fields), (got, true));
    }

    #[test]
    fn unknown_fields_and_endless_words() {
        // A second word without a namespace's reset counts on: bit 33 is undefined.
        assert_eq!(seen(&[0x8000_0002, 2], &[0; 9]), (vec![(1, 0)], true));
        assert_eq!(seen(&[0xffff_ffff; 10], &[]), (vec![], false));
    }

    #[test]
    fn types_lengths_and_values() {
        // Flags; padding, a short VHT, a vendor's, an undefined type.
        let list = [
            9, 0, 0, 0, // flags and alignment
            28, 0, 0, 0, //
            21, 0, 3, 0, 4, 0, 1, 0, //
            30, 0, 4, 0, 1, 2, 3, 4, //
            200, 0, 1, 0, 6, 0, 0, 0,
        ];
        assert_eq!(seen(&[0x1000_0002], &list), (vec![(1, 9), (21, 4), (200, 6)], true));
        for cut in 1..list.len() {
            let _ = seen(&[0x1000_0002], &list[..cut]);
        }
        assert_eq!(seen(&[0x1000_0000], &[21, 0, 13, 0, 1, 2]), (vec![], false));
    }
}
