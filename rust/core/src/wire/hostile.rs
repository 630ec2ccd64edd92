//! Hostile bytes with every link type: no panic, a bounded number of rows, no access beyond the capture.

use proptest::prelude::*;

use super::testing::{decode, dot11, ethernet, found, ipv4, ipv6, record, snap, tcp, Found, TIMESTAMPS};
use crate::limits;
use crate::packet::Stop;

fn link_types() -> Vec<u16> {
    (0..=u16::MAX).filter(|l| super::supported(*l)).collect()
}

/// A valid frame of every kind of nesting, for mutation.
fn seeds() -> Vec<(u16, Vec<u8>)> {
    let options = [&TIMESTAMPS[..], &[1, 1, 5, 18, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 1, 0, 0, 0, 2, 0]].concat();
    let v4 = ipv4(6, &tcp(&options, b"payload"));
    let v6 = ipv6(0, &[&[44, 0, 1, 4, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 7][..], &tcp(&options, b"payload")].concat());
    let gre = ipv4(47, &[&[0xb0, 0, 0x65, 0x58][..], &[0; 12], &ethernet(0x0800, &v4)].concat());
    let subframe = [&[2; 12][..], &[0, v4.len() as u8 + 8], &snap(&v4), &[0; 3]].concat();
    let amsdu = dot11(0x0388, &[0, 0, 0, 0, 0, 0, 0x80, 1], &[subframe.clone(), subframe].concat());
    let radiotap = [&[0, 0, 16, 0, 0x02, 0, 0, 0xa0, 0x20, 0, 0, 0, 0x20, 0, 0, 0][..], &amsdu].concat();
    let mut prism = [&[0x44, 0, 0, 0, 144, 0, 0, 0][..], b"wlan0\0\0\0\0\0\0\0\0\0\0\0"].concat();
    (1..=10u8).for_each(|item| prism.extend([0x44, 0, item, 0, 0, 0, 4, 0, 1, 0, 0, 0]));
    // TSFT, MCS, A-MPDU status, VHT, timestamp, HE, HE-MU, HE-MU-other-user, L-SIG.
    let he = [&[0, 0, 104, 0, 1, 0, 0xf8, 0x0b][..], &[0xff; 96]].concat();
    // U-SIG and EHT with one user.
    let eht = [&[0, 0, 72, 0, 0, 0, 0, 0x10, 33, 0, 12, 0][..], &[7; 12], &[34, 0, 44, 0], &[0xff; 44]].concat();
    vec![
        (1, ethernet(0x8100, &[&[0, 1, 0x88, 0x64, 0x11, 0, 0, 1, 0, v4.len() as u8 + 2, 0, 0x21][..], &v4].concat())),
        (1, ethernet(0x8847, &[&[0, 1, 0x11, 64][..], &gre].concat())),
        (1, ethernet(0x86dd, &v6)),
        (1, ethernet((v4.len() + 8) as u16, &snap(&v4))),
        (113, [&[0, 4, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0][..], &v4].concat()),
        (276, [&[8, 0, 0, 0, 0, 0, 0, 1, 0, 1, 4, 6, 0, 0, 0, 0, 0, 0, 0, 0][..], &v4].concat()),
        (0, [&[2, 0, 0, 0][..], &v4].concat()),
        (204, [&[1, 0xff, 3, 0, 0x57][..], &v6].concat()),
        (101, ipv4(41, &ipv6(4, &v4))),
        (105, dot11(0x8188, &[0, 0, 1, 2, 3, 4], &snap(&v4))),
        (127, radiotap.clone()),
        (192, [&[0, 0, 8, 0, 105, 0, 0, 0][..], &amsdu].concat()),
        (119, [&[0, 0, 0, 0x44, 0, 0, 0, 144][..], &[0; 136], &amsdu].concat()),
        (163, [&[0x80, 0x21, 0x10, 1, 0, 0, 0, 64][..], &[0; 56], &amsdu].concat()),
        (220, super::usb_net::tests::bulk(true, &usb_frame(), usb_frame().len())),
        (220, super::usb_net::tests::bulk(false, &[&rndis_header(usb_frame().len()), &usb_frame()[..]].concat(), 60)),
        (119, [&prism[..], &amsdu].concat()),
        (127, [&he[..], &amsdu].concat()),
        (127, [&eht[..], &amsdu].concat()),
        (192, [&[0, 0, 32, 0, 105, 0, 0, 0, 2, 0, 20, 0][..], &[0; 20], &amsdu].concat()),
        (113, [&[0, 0, 3, 0x23, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4][..], &radiotap].concat()),
    ]
}

/// A frame that the USB decoder can verify: with an IPv4 checksum.
fn usb_frame() -> Vec<u8> {
    let options = [&TIMESTAMPS[..], &[1, 1, 5, 18, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 1, 0, 0, 0, 2, 0]].concat();
    let mut packet = ipv4(6, &tcp(&options, b"payload"));
    super::usb_net::tests::set_checksum(&mut packet);
    ethernet(0x0800, &packet)
}

fn rndis_header(frame: usize) -> Vec<u8> {
    [1, 44 + frame as u32, 36, frame as u32, 0, 0, 0, 0, 0, 0, 0].iter().flat_map(|n| n.to_le_bytes()).collect()
}

/// What must hold for every result, however damaged its record.
fn check(found: &Found, data: &[u8], wire: u32) -> Result<(), TestCaseError> {
    let Found { packets, frames, .. } = found;
    prop_assert!(frames.len() <= 1);
    for (f, body) in frames {
        prop_assert!(body.len() <= data.len());
        prop_assert!(f.control.is_some() || f.address_1.is_none());
        let p = &f.radio.ppdu;
        prop_assert!(p.rate_mbps.is_none_or(|r| r.is_finite() && r > 0.0));
        prop_assert!(p.streams.is_none_or(|n| (1..=16).contains(&n)));
    }
    prop_assert!(packets.len() <= limits::AMSDU_SUBFRAMES.max(limits::USB_DATAGRAMS));
    for p in packets {
        prop_assert_eq!((p.number, p.wire_bytes, p.captured_bytes as usize), (1, wire, data.len()));
        prop_assert!(p.payload_bytes.is_none_or(|n| n <= wire.max(p.captured_bytes)));
        prop_assert!(p.ip_version != 0 || p.stop != Stop::None);
        if let Some(t) = p.tcp {
            prop_assert!(p.ip_version != 0 && p.src_port.is_some() && p.dst_port.is_some());
            prop_assert!(t.wscale.is_none_or(|n| n <= 14) && t.flags <= 0x0fff);
        }
    }
    Ok(())
}

#[test]
fn the_seeds_are_valid() {
    for (link_type, data) in seeds() {
        let (packets, _) = decode(&record(link_type, &data, data.len()));
        assert!(!packets.is_empty());
        for p in packets {
            assert_eq!((p.tcp.map(|t| t.sack_blocks), p.stop), (Some(2), Stop::None), "link type {link_type}");
        }
    }
}

proptest! {
    #[test]
    fn noise(data in proptest::collection::vec(any::<u8>(), 0..400), wire in 0u32..2000, fcs in proptest::option::of(0u8..8)) {
        for link_type in link_types() {
            let mut r = record(link_type, &data, wire as usize);
            r.fcs_bytes = fcs;
            check(&found(&r).0, &data, wire)?;
        }
    }

    #[test]
    fn mutations(
        which in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        keep in any::<prop::sample::Index>(),
        more in 0u32..100_000,
    ) {
        let seeds = seeds();
        let (link_type, mut data) = which.get(&seeds).clone();
        for (at, value) in changes {
            let at = at.index(data.len());
            data[at] = value;
        }
        check(&found(&record(link_type, &data, data.len())).0, &data, data.len() as u32)?;
        let wire = data.len() as u32 + more;
        data.truncate(keep.index(data.len() + 1));
        check(&found(&record(link_type, &data, wire as usize)).0, &data, wire)?;
    }
}
