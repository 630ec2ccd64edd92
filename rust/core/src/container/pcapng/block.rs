//! Blocks and options: the framing of pcapng (draft-ietf-opsawg-pcapng 3).

use crate::limits;

pub const SECTION_HEADER: u32 = 0x0a0d_0d0a;
pub const INTERFACE: u32 = 1;
pub const PACKET: u32 = 2;
pub const SIMPLE_PACKET: u32 = 3;
pub const NAME_RESOLUTION: u32 = 4;
pub const INTERFACE_STATISTICS: u32 = 5;
pub const ENHANCED_PACKET: u32 = 6;
pub const SYSTEMD_JOURNAL: u32 = 9;
pub const SECRETS: u32 = 10;
pub const CUSTOM: u32 = 0x0bad;
pub const CUSTOM_NO_COPY: u32 = 0x4000_0bad;

pub const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// Type, total length, total length again.
pub const FRAME: usize = 12;

/// The byte order of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Order {
    pub big_endian: bool,
}

impl Order {
    pub fn u16(self, b: &[u8], at: usize) -> Option<u16> {
        let b = b.get(at..)?.first_chunk()?;
        Some(if self.big_endian { u16::from_be_bytes(*b) } else { u16::from_le_bytes(*b) })
    }

    #[inline]
    pub fn u32(self, b: &[u8], at: usize) -> Option<u32> {
        let b = b.get(at..)?.first_chunk()?;
        Some(if self.big_endian { u32::from_be_bytes(*b) } else { u32::from_le_bytes(*b) })
    }

    pub fn u64(self, b: &[u8], at: usize) -> Option<u64> {
        let b = b.get(at..)?.first_chunk()?;
        Some(if self.big_endian { u64::from_be_bytes(*b) } else { u64::from_le_bytes(*b) })
    }

    /// From the byte-order magic of the section header at the front of `head`.
    pub fn of_section(head: &[u8]) -> Option<Order> {
        [false, true]
            .map(|big_endian| Order { big_endian })
            .into_iter()
            .find(|o| o.u32(head, 8) == Some(BYTE_ORDER_MAGIC))
    }
}

/// Whether `head` begins with a section header; its type is the same in both byte orders.
pub fn is_section_header(head: &[u8]) -> bool {
    head.starts_with(&SECTION_HEADER.to_be_bytes())
}

/// Whether a total length is possible for a block.
pub fn length_is_possible(total: u32) -> bool {
    total as usize >= FRAME && total % 4 == 0 && total as usize <= limits::BLOCK_TOTAL_BYTES
}

/// The length of a valid block of a known type at `at`, checked strictly; for the search after damage.
pub fn plausible(data: &[u8], at: usize, order: Order) -> Option<usize> {
    let block = data.get(at..)?;
    let order = if is_section_header(block) { Order::of_section(block)? } else { order };
    let least = match order.u32(block, 0)? {
        SECTION_HEADER => 28,
        INTERFACE => 20,
        PACKET | ENHANCED_PACKET => 32,
        SIMPLE_PACKET | NAME_RESOLUTION | SYSTEMD_JOURNAL => 16,
        INTERFACE_STATISTICS => 24,
        SECRETS | CUSTOM | CUSTOM_NO_COPY => 16,
        _ => return None,
    };
    let total = order.u32(block, 4)?;
    let len = total as usize;
    let sound = len >= least && total % 4 == 0 && len <= limits::RESYNC_BLOCK_BYTES;
    (sound && order.u32(block, len - 4) == Some(total)).then_some(len)
}

/// Blocks of a tail whose whole chain is followed; more would be quadratic.
const WHOLE_CHAINS: usize = 16;

/// Find, in the last bytes of a file, blocks that end exactly at its end.
pub fn blocks_to_the_end(data: &[u8], order: Order) -> Option<usize> {
    let starts = (1..data.len()).filter(|at| plausible(data, *at, order).is_some());
    for from in starts.take(WHOLE_CHAINS) {
        let (mut at, mut order) = (from, order);
        while let Some(len) = plausible(data, at, order) {
            if is_section_header(&data[at..]) {
                order = Order::of_section(&data[at..]).unwrap_or(order);
            }
            at += len;
        }
        if at == data.len() {
            return Some(from);
        }
    }
    None
}

/// One option, or the end of a list that cannot be read further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    Value(u16, &'a [u8]),
    /// The next option exceeds the block.
    Overrun,
    /// There are more than the limit.
    TooMany,
}

pub const OPT_COMMENT: u16 = 1;

/// Read the options in `bytes`; opt_endofopt may be missing.
pub fn options(bytes: &[u8], order: Order) -> impl Iterator<Item = Item<'_>> {
    let (mut at, mut seen, mut stopped) = (0_usize, 0_usize, false);
    std::iter::from_fn(move || {
        if stopped {
            return None;
        }
        let (Some(code), Some(len)) = (order.u16(bytes, at), order.u16(bytes, at + 2)) else {
            stopped = true;
            // Less than an option header is left: padding, or a header cut short.
            return bytes[at.min(bytes.len())..].iter().any(|b| *b != 0).then_some(Item::Overrun);
        };
        if code == 0 {
            return None;
        }
        let from = at + 4;
        let Some(value) = bytes.get(from..from + usize::from(len)) else {
            stopped = true;
            return Some(Item::Overrun);
        };
        seen += 1;
        if seen > limits::OPTIONS {
            stopped = true;
            return Some(Item::TooMany);
        }
        at = from + usize::from(len).next_multiple_of(4);
        Some(Item::Value(code, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LE: Order = Order { big_endian: false };

    #[test]
    fn option_lists_end_in_every_way() {
        fn all(b: &[u8]) -> Vec<Item<'_>> {
            options(b, LE).collect()
        }
        assert_eq!(all(b""), []);
        assert_eq!(all(b"\x01\0\x02\0hi\0\0\0\0\0\0"), [Item::Value(1, b"hi")]);
        assert_eq!(all(b"\x01\0\x02\0hi\0\0"), [Item::Value(1, b"hi")]);
        assert_eq!(all(b"\x01\0\x02\0hi"), [Item::Value(1, b"hi")]);
        assert_eq!(all(b"\x01\0\x09\0hi\0\0"), [Item::Overrun]);
        assert_eq!(all(b"\x01\0"), [Item::Overrun]);
        let bomb = [1, 0, 0, 0].repeat(limits::OPTIONS + 5);
        assert_eq!(all(&bomb).len(), limits::OPTIONS + 1);
        assert_eq!(all(&bomb).last(), Some(&Item::TooMany));
    }

    #[test]
    fn a_plausible_block_has_two_equal_lengths() {
        let block = |total: u32, trailer: u32| {
            [&6_u32.to_le_bytes()[..], &total.to_le_bytes(), &[0; 20], &trailer.to_le_bytes()].concat()
        };
        assert_eq!(plausible(&block(32, 32), 0, LE), Some(32));
        assert_eq!(plausible(&block(32, 36), 0, LE), None);
        assert_eq!(plausible(&block(0, 0), 0, LE), None);
        assert_eq!(plausible(&block(u32::MAX - 3, 32), 0, LE), None);
        let tail = [&b"noise"[..], &block(32, 32), &block(32, 32)].concat();
        assert_eq!(blocks_to_the_end(&tail, LE), Some(5));
        assert_eq!(blocks_to_the_end(&tail[..tail.len() - 1], LE), None);
    }
}
