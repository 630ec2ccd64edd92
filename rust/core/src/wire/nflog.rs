//! Packets of netfilter's log (LINKTYPE_NFLOG): attributes of type, length and value, one of which is the packet.

use crate::limits;
use crate::packet::{Layer, Stop};

use super::decoder::{Decoder, Found};
use super::view::View;
use super::{ethernet, ipv4, ipv6};

const HEADER: usize = 4;
const ATTRIBUTE: usize = 4;
/// <linux/netfilter/nfnetlink_log.h>: NFULA_PACKET_HDR and NFULA_PAYLOAD.
const PACKET_HEADER: u16 = 1;
const PAYLOAD: u16 = 9;
/// The upper two bits of a type are flags of netlink.
const TYPE: u16 = 0x3fff;
/// Address families of Linux.
const INET: u8 = 2;
const INET6: u8 = 10;
/// <linux/netfilter.h>: the hooks at which a packet is for this host, and from it.
const LOCAL_IN: u8 = 1;
const LOCAL_OUT: u8 = 3;

pub(super) fn nflog(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    let (Some(family), Some(_)) = (v.u8(0), v.be16(2)) else {
        return d.damaged(v.lack(HEADER), Layer::Link);
    };
    let mut rest = v.skip(HEADER);
    let big_endian = in_big_endian(rest);
    let mut ethertype = None;
    for _ in 0..limits::NFLOG_ATTRIBUTES {
        let (Some(length), Some(kind)) = (u16_of(rest, 0, big_endian), u16_of(rest, 2, big_endian)) else {
            // Nothing but attributes, or cut before the packet.
            return if rest.wire() == 0 { Found::Other } else { d.damaged(rest.lack(ATTRIBUTE), Layer::Link) };
        };
        let length = usize::from(length);
        if length < ATTRIBUTE {
            return d.damaged(Stop::BadHeader, Layer::Link);
        }
        if length > rest.wire() {
            d.stop(Stop::LengthLies, Layer::Link);
        }
        let value = rest.clip(length).skip(ATTRIBUTE);
        match kind & TYPE {
            PACKET_HEADER => {
                ethertype = value.be16(0);
                match value.u8(2) {
                    Some(LOCAL_IN) => d.packet.outgoing = Some(false),
                    Some(LOCAL_OUT) => d.packet.outgoing = Some(true),
                    _ => {}
                }
            }
            PAYLOAD => {
                return match (family, ethertype) {
                    (INET, _) => ipv4::ipv4(d, value),
                    (INET6, _) => ipv6::ipv6(d, value),
                    // Logged by a bridge or by any family.
                    (_, Some(kind)) => ethernet::ethertype(d, kind, value),
                    _ => Found::Other,
                };
            }
            _ => {}
        }
        rest = rest.skip(length.next_multiple_of(4));
    }
    d.damaged(Stop::TooDeep, Layer::Link)
}

/// Attributes are in the byte order of the capturing host, which nothing states. In the wrong order the first length is
/// above 1023: the first attribute is a short header.
fn in_big_endian(v: View<'_>) -> bool {
    matches!((v.le16(0), v.be16(0)), (Some(little), Some(big)) if big < little)
}

fn u16_of(v: View<'_>, at: usize, big_endian: bool) -> Option<u16> {
    if big_endian {
        v.be16(at)
    } else {
        v.le16(at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, decode, ipv4, ipv6, one, packets, record, tcp};
    use crate::packet::{Layer, Stop};

    const NFLOG: u16 = 239;

    fn attribute(kind: u16, value: &[u8], big_endian: bool) -> Vec<u8> {
        let length = (4 + value.len()) as u16;
        let mut made = if big_endian {
            [length.to_be_bytes(), kind.to_be_bytes()].concat()
        } else {
            [length.to_le_bytes(), kind.to_le_bytes()].concat()
        };
        made.extend(value);
        made.resize(made.len().next_multiple_of(4), 0);
        made
    }

    fn log(family: u8, hook: u8, big_endian: bool, packet: &[u8]) -> Vec<u8> {
        let ethertype = if packet[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
        let header = attribute(1, &[&ethertype[..], &[hook, 0]].concat(), big_endian);
        let prefix = attribute(10, b"in\0", big_endian);
        [&[family, 0, 0, 5][..], &header, &prefix, &attribute(9, packet, big_endian)].concat()
    }

    #[test]
    fn both_families_and_byte_orders() {
        for big_endian in [false, true] {
            for (family, packet) in [(2, ipv4(6, &tcp(&[], b"xyz"))), (10, ipv6(6, &tcp(&[], b"xyz")))] {
                for (hook, outgoing) in [(1, Some(false)), (3, Some(true)), (2, None)] {
                    let data = log(family, hook, big_endian, &packet);
                    let p = one(NFLOG, &data);
                    assert_eq!((p.src_port, p.payload_bytes, p.outgoing), (Some(40000), Some(3), outgoing));
                    cut_everywhere(NFLOG, &data);
                }
                // Of a bridge.
                assert_eq!(one(NFLOG, &log(7, 0, big_endian, &packet)).payload_bytes, Some(3));
            }
        }
    }

    #[test]
    fn attributes_that_lie() {
        let lies = [&[2, 0, 0, 0][..], &[3, 0, 9, 0]].concat();
        assert_eq!(one(NFLOG, &lies).stop, Stop::BadHeader);
        let mut long = log(2, 1, false, &ipv4(6, &tcp(&[], b"xyz")));
        let at = 4 + 8 + 8;
        long[at] += 40;
        let p = one(NFLOG, &long);
        assert_eq!((p.stop, p.stop_layer, p.src_port), (Stop::LengthLies, Layer::Link, Some(40000)));
        assert!(packets(NFLOG, &[2, 0, 0, 0]).is_empty());
        let endless = [&[2, 0, 0, 0][..], &[4, 0, 7, 0].repeat(500)].concat();
        assert_eq!(one(NFLOG, &endless).stop, Stop::TooDeep);
        let cut = log(2, 1, false, &ipv4(6, &tcp(&[], b"xyz")));
        assert_eq!(decode(&record(NFLOG, &cut[..9], cut.len())).0[0].stop, Stop::SnaplenCut);
    }
}
