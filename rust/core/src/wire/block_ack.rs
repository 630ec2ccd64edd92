//! Bodies of BlockAckReq and BlockAck frames (IEEE 802.11-2020 clause 9.3.1.7 and 9.3.1.8; 802.11ax and 802.11be add
//! bitmaps of up to 1024 bits and the Multi-STA variant).

use crate::frame::Mac;

/// BA Type and BAR Type, bits 1 to 4 of the control field (Tables 9-27 and 9-28).
mod variant {
    pub const BASIC: u16 = 0;
    pub const EXTENDED_COMPRESSED: u16 = 1;
    pub const COMPRESSED: u16 = 2;
    pub const MULTI_TID: u16 = 3;
    pub const MULTI_STA: u16 = 11;
}

/// Octets per MSDU in the bitmap of the basic variant: one bit per fragment.
const BASIC_MSDU_BYTES: usize = 2;
const BASIC_BITMAP_BYTES: usize = 128;
const BITMAP_64_BYTES: usize = 8;
/// AID11 of a record for a station that is not associated: its address follows (802.11ax clause 9.3.1.8).
const AID_UNASSOCIATED: u16 = 2045;

/// One part of a Block Ack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said<'a> {
    Bitmap {
        tid: u8,
        /// Sequence number of the bitmap's first bit.
        first_seq: u16,
        bits: Bits<'a>,
    },
    /// All MPDUs of this TID in the previous PPDU (the Ack context of the Multi-STA variant); TID 15 is management.
    Ack { tid: u8 },
    /// Every MPDU of the previous PPDU.
    AllAck,
}

/// The receiver of a part of a Block Ack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// The frame's receiver address.
    Receiver,
    /// The station of this association identifier (Multi-STA).
    Aid(u16),
    /// A station without one (Multi-STA).
    Station(Mac),
}

/// The MSDUs that arrived, as far as captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bits<'a> {
    bytes: &'a [u8],
    /// Bits per MSDU: 16 in the basic variant, 4 with fragmentation level 3, otherwise 1.
    per_msdu: u8,
}

impl Bits<'_> {
    /// MSDUs in the bitmap.
    pub fn len(&self) -> u16 {
        (self.bytes.len() * 8 / usize::from(self.per_msdu)) as u16
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether fragment `fragment` of the MSDU at this distance from the first one arrived.
    pub fn get(&self, msdu: u16, fragment: u8) -> bool {
        let bit = usize::from(msdu) * usize::from(self.per_msdu) + usize::from(fragment % self.per_msdu);
        self.bytes.get(bit / 8).is_some_and(|b| b >> (bit % 8) & 1 != 0)
    }

    /// Whether any of it arrived.
    pub fn any(&self, msdu: u16) -> bool {
        (0..self.per_msdu).any(|fragment| self.get(msdu, fragment))
    }

    /// The last MSDU with a fragment that arrived.
    pub fn last(&self) -> Option<u16> {
        let byte = self.bytes.iter().rposition(|b| *b != 0)?;
        let bit = byte * 8 + 7 - self.bytes[byte].leading_zeros() as usize;
        Some((bit / usize::from(self.per_msdu)) as u16)
    }
}

/// One TID of a BlockAckReq: the sender requests the state from this sequence number on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    pub tid: u8,
    pub first_seq: u16,
}

/// Reads a body piece by piece.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn le16(&mut self) -> Option<u16> {
        let (head, rest) = self.0.split_first_chunk::<2>()?;
        self.0 = rest;
        Some(u16::from_le_bytes(*head))
    }

    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(head)
    }

    /// The bytes present, up to this many.
    fn up_to(&mut self, bytes: usize) -> &'a [u8] {
        let (head, rest) = self.0.split_at(bytes.min(self.0.len()));
        self.0 = rest;
        head
    }
}

fn tid(field: u16) -> u8 {
    (field >> 12) as u8
}

/// Emit each part of a Block Ack. False: it could not be read to its end (a reserved variant or length, or cut short).
pub fn read<'a>(body: &'a [u8], mut each: impl FnMut(To, Said<'a>)) -> bool {
    let mut b = Bytes(body);
    let Some(control) = b.le16() else { return false };
    match control >> 1 & 0xf {
        variant::BASIC => bitmap(
            &mut b,
            tid(control),
            |_| Some((BASIC_BITMAP_BYTES, 8 * BASIC_MSDU_BYTES)),
            |said| each(To::Receiver, said),
        ),
        variant::COMPRESSED => bitmap(&mut b, tid(control), compressed, |said| each(To::Receiver, said)),
        // Its bitmap is of fixed length and RBUFCAP follows.
        variant::EXTENDED_COMPRESSED => {
            bitmap(&mut b, tid(control), |_| Some((BITMAP_64_BYTES, 1)), |said| each(To::Receiver, said))
        }
        variant::MULTI_TID => (0..=tid(control)).all(|_| {
            b.le16().is_some_and(|info| {
                bitmap(&mut b, tid(info), |_| Some((BITMAP_64_BYTES, 1)), |said| each(To::Receiver, said))
            })
        }),
        variant::MULTI_STA => multi_sta(&mut b, each),
        // GCR is for group-addressed frames; the rest is reserved.
        _ => false,
    }
}

/// Starting sequence control, then the bitmap; `form` gives its length and bits per MSDU by the fragment number.
fn bitmap<'a>(
    b: &mut Bytes<'a>,
    tid: u8,
    form: impl Fn(u8) -> Option<(usize, usize)>,
    each: impl FnOnce(Said<'a>),
) -> bool {
    let Some(start) = b.le16() else { return false };
    let Some((bytes, per_msdu)) = form((start & 0xf) as u8) else { return false };
    let captured = b.up_to(bytes);
    let whole_msdus = captured.len() - captured.len() % per_msdu.div_ceil(8);
    each(Said::Bitmap {
        tid,
        first_seq: start >> 4,
        bits: Bits { bytes: &captured[..whole_msdus], per_msdu: per_msdu as u8 },
    });
    captured.len() == bytes
}

/// Octets and bits per MSDU by the fragment number of the compressed variant (802.11ax clause 9.3.1.8; bit 3: 802.11be).
fn compressed(fragment_number: u8) -> Option<(usize, usize)> {
    let per_msdu = if fragment_number & 1 != 0 { 4 } else { 1 };
    match fragment_number >> 1 {
        0b000 => Some((8, per_msdu)),
        0b010 => Some((32, per_msdu)),
        0b100 => Some((64, per_msdu)),
        0b101 => Some((128, per_msdu)),
        _ => None,
    }
}

/// The same for the Multi-STA variant.
fn multi_sta_form(fragment_number: u8) -> Option<(usize, usize)> {
    let per_msdu = if fragment_number & 1 != 0 { 4 } else { 1 };
    match fragment_number >> 1 {
        0b000 => Some((8, per_msdu)),
        0b001 => Some((16, per_msdu)),
        0b010 => Some((32, per_msdu)),
        0b011 => Some((4, per_msdu)),
        0b100 => Some((64, per_msdu)),
        0b101 => Some((128, per_msdu)),
        _ => None,
    }
}

fn multi_sta<'a>(b: &mut Bytes<'a>, mut each: impl FnMut(To, Said<'a>)) -> bool {
    const ACK_TYPE: u16 = 0x0800;
    const ALL_ACK: u8 = 14;
    while !b.0.is_empty() {
        let Some(info) = b.le16() else { return false };
        let aid = info & 0x07ff;
        let mut to = To::Aid(aid);
        if aid == AID_UNASSOCIATED {
            let Some(address) = b.take(4).and_then(|_| b.take(6)).and_then(|a| Mac::try_from(a).ok()) else {
                return false;
            };
            to = To::Station(address);
        }
        match tid(info) {
            ALL_ACK if info & ACK_TYPE != 0 => each(to, Said::AllAck),
            tid if info & ACK_TYPE != 0 || aid == AID_UNASSOCIATED => each(to, Said::Ack { tid }),
            tid => {
                if !bitmap(b, tid, multi_sta_form, |said| each(to, said)) {
                    return false;
                }
            }
        }
    }
    true
}

/// Emit each TID of a BlockAckReq. False: it could not be read to its end.
pub fn read_request(body: &[u8], mut each: impl FnMut(Request)) -> bool {
    let mut b = Bytes(body);
    let Some(control) = b.le16() else { return false };
    let mut one = |tid: u8, b: &mut Bytes<'_>| match b.le16() {
        Some(start) => {
            each(Request { tid, first_seq: start >> 4 });
            true
        }
        None => false,
    };
    match control >> 1 & 0xf {
        variant::BASIC | variant::COMPRESSED | variant::EXTENDED_COMPRESSED => one(tid(control), &mut b),
        variant::MULTI_TID => (0..=tid(control)).all(|_| b.le16().is_some_and(|info| one(tid(info), &mut b))),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(body: &[u8]) -> (Vec<(To, Said<'_>)>, bool) {
        let mut out = Vec::new();
        let whole = read(body, |to, said| out.push((to, said)));
        (out, whole)
    }

    /// (TID, first sequence number, MSDUs in the bitmap, those that arrived).
    fn bitmaps(body: &[u8]) -> Vec<(u8, u16, u16, Vec<u16>)> {
        let (parts, whole) = parts(body);
        assert!(whole);
        parts
            .into_iter()
            .filter_map(|(_, said)| match said {
                Said::Bitmap { tid, first_seq, bits } => {
                    Some((tid, first_seq, bits.len(), (0..bits.len()).filter(|i| bits.any(*i)).collect()))
                }
                _ => None,
            })
            .collect()
    }

    fn body(control: u16, start: u16, bitmap: &[u8]) -> Vec<u8> {
        [&control.to_le_bytes()[..], &start.to_le_bytes(), bitmap].concat()
    }

    #[test]
    fn compressed_of_every_length() {
        for (fragment_number, bytes) in [(0u16, 8), (4, 32), (8, 64), (10, 128)] {
            let mut map = vec![0; bytes];
            map[0] = 0b101;
            map[bytes - 1] = 0x80;
            let body = body(0x5004, 4095 << 4 | fragment_number, &map);
            let last = bytes as u16 * 8 - 1;
            assert_eq!(bitmaps(&body), [(5, 4095, bytes as u16 * 8, vec![0, 2, last])]);
        }
        // Fragmentation level 3: four bits an MSDU.
        let b = body(0x0004, 16 << 4 | 1, &[0x20, 0, 0, 0, 0, 0, 0, 0x10]);
        assert_eq!(bitmaps(&b), [(0, 16, 16, vec![1, 15])]);
        for reserved in [2u16, 6, 12, 14] {
            assert_eq!(parts(&body(0x0004, reserved, &[0; 128])), (vec![], false));
        }
    }

    #[test]
    fn basic_has_sixteen_fragments_an_msdu() {
        let mut map = [0; 128];
        map[3] = 0x80;
        let b = body(0x7000, 100 << 4, &map);
        let (parts, whole) = parts(&b);
        let Said::Bitmap { tid, first_seq, bits } = parts[0].1 else { panic!() };
        assert!(whole);
        assert_eq!((tid, first_seq, bits.len(), bits.last()), (7, 100, 64, Some(1)));
        assert!(bits.get(1, 15) && !bits.get(1, 14) && bits.any(1) && !bits.any(0));
    }

    #[test]
    fn multi_tid() {
        let mut b = vec![0x06, 0x10];
        for tid in [1u16, 6] {
            b.extend((tid << 12).to_le_bytes());
            b.extend((300u16 << 4).to_le_bytes());
            b.extend([tid as u8, 0, 0, 0, 0, 0, 0, 0]);
        }
        assert_eq!(bitmaps(&b), [(1, 300, 64, vec![0]), (6, 300, 64, vec![1, 2])]);
    }

    #[test]
    fn multi_sta() {
        let mut b = vec![0x16, 0];
        // AID 3, TID 2, a bitmap of 4 octets.
        b.extend((2u16 << 12 | 3).to_le_bytes());
        b.extend((50u16 << 4 | 6).to_le_bytes());
        b.extend([0, 0, 0, 0x80]);
        // AID 4: an Ack of TID 5, then of everything; a station that is not associated.
        b.extend((5u16 << 12 | 0x800 | 4).to_le_bytes());
        b.extend((14u16 << 12 | 0x800 | 4).to_le_bytes());
        b.extend((15u16 << 12 | 0x800 | 2045).to_le_bytes());
        b.extend([0, 0, 0, 0, 1, 2, 3, 4, 5, 6]);
        let (got, whole) = parts(&b);
        assert!(whole);
        let Said::Bitmap { tid, first_seq, bits } = got[0].1 else { panic!() };
        assert_eq!((got[0].0, tid, first_seq, bits.len(), bits.last()), (To::Aid(3), 2, 50, 32, Some(31)));
        assert_eq!(
            got[1..],
            [
                (To::Aid(4), Said::Ack { tid: 5 }),
                (To::Aid(4), Said::AllAck),
                (To::Station([1, 2, 3, 4, 5, 6]), Said::Ack { tid: 15 })
            ]
        );
    }

    #[test]
    fn requests() {
        let all = |body: &[u8]| {
            let mut out = Vec::new();
            let whole = read_request(body, |r| out.push(r));
            (out, whole)
        };
        assert_eq!(all(&body(0x5004, 77 << 4, &[])), (vec![Request { tid: 5, first_seq: 77 }], true));
        let two = [&[0x06, 0x10][..], &[0, 0x20, 0x10, 0], &[0, 0x30, 0x20, 0]].concat();
        assert_eq!(all(&two), (vec![Request { tid: 2, first_seq: 1 }, Request { tid: 3, first_seq: 2 }], true));
        assert_eq!(all(&two[..6]), (vec![Request { tid: 2, first_seq: 1 }], false));
        assert_eq!(all(&[0x0c, 0, 0, 0]), (vec![], false));
    }

    #[test]
    fn cut_at_every_byte() {
        for variant in 0..16u16 {
            let whole: Vec<u8> = (variant << 1 | 0xf000).to_le_bytes().into_iter().chain(0..200).collect();
            for n in 0..whole.len() {
                read(&whole[..n], |_, said| {
                    if let Said::Bitmap { bits, .. } = said {
                        assert!(bits.last().is_none_or(|last| last < bits.len().max(1)));
                    }
                });
                read_request(&whole[..n], |_| {});
            }
        }
        // What was captured of a cut bitmap still counts.
        let cut = body(0x0004, 9 << 4, &[0xff, 0x01]);
        let (got, whole) = parts(&cut);
        let Said::Bitmap { bits, .. } = got[0].1 else { panic!() };
        assert_eq!((whole, bits.len(), bits.last()), (false, 16, Some(8)));
    }
}
