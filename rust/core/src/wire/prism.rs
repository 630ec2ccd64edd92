//! Prism header (LINKTYPE_IEEE802_11_PRISM) in the capturing host's byte order: a message of numbered items.

use crate::limits;
use crate::packet::Stop;
use crate::phy::Radio;

use super::avs;
use super::decoder::{Decoder, Found};
use super::dot11;
use super::radio_header::{channel_mhz, legacy, RadioHeader};
use super::view::View;

/// Message code, message length, device name.
const LEAST: usize = 24;
/// Message code of linux-wlan-ng (rx_sniff), whose items are numbered 1 << 16 | code.
const WLAN_NG: u32 = 0x44;
/// Message code of drivers that number them 1 << 12 | code.
const SHORT: u32 = 0x41;

pub(super) fn prism(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    let (Some(first), Some(second)) = (v.array(0), v.array(4)) else {
        return dot11::lost(d, v.lack(LEAST));
    };
    if avs::is_avs(u32::from_be_bytes(first)) {
        return avs::avs(d, v);
    }
    let known = |order: Order| matches!(order(first), WLAN_NG | SHORT);
    let orders: [Order; 2] = [u32::from_le_bytes, u32::from_be_bytes];
    let Some(order) = orders.into_iter().find(|&o| known(o)) else {
        return dot11::lost(d, Stop::BadHeader);
    };
    let length = order(second);
    let shift = if order(first) == WLAN_NG { 16 } else { 12 };
    let header = v.clip(usize::try_from(length).unwrap_or(usize::MAX));
    let radio = radio(header.skip(LEAST), order, shift);
    dot11::behind(d, v, length, LEAST, &mut RadioHeader::of(radio))
}

/// The byte order of this host.
type Order = fn([u8; 4]) -> u32;

/// The items: number, status (0: supplied), length, value.
fn radio(items: View<'_>, order: Order, shift: u32) -> Radio {
    const ITEM: usize = 12;
    let mut radio = Radio::default();
    let [mut rssi, mut signal] = [None, None];
    for item in items.data().chunks_exact(ITEM).take(limits::PRISM_ITEMS) {
        let item = View::new(item, ITEM);
        let (Some(number), Some(status), Some(value)) = (item.array(0), item.array::<2>(4), item.array(8)) else {
            break;
        };
        let supplied = status == [0, 0] && order(number) != 0;
        let value = order(value);
        match order(number) >> shift {
            _ if !supplied => {}
            2 => radio.tsf_us = Some(u64::from(value)),
            3 => radio.ppdu.channel_mhz = channel_mhz(value),
            4 => rssi = dbm(value),
            6 => signal = dbm(value),
            7 => radio.noise_dbm = dbm(value),
            8 => radio.ppdu.rate_mbps = Some(value).filter(|r| (1..=MAX_RATE).contains(r)).map(|r| f64::from(r) / 2.0),
            9 => radio.transmitted = value != 0,
            _ => {}
        }
    }
    radio.signal_dbm = signal.or(rssi);
    legacy(&mut radio.ppdu);
    radio
}

/// 54 Mbit/s, and 108 of vendors that doubled it, in 500 kbit/s.
const MAX_RATE: u32 = 216;

/// A power, if the driver reports dBm: then it is negative. Other drivers count from a floor of their own.
fn dbm(value: u32) -> Option<i8> {
    i8::try_from(value as i32).ok().filter(|&n| n < 0)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, dot11, frame, ipv4, one, snap, tcp};
    use crate::packet::Stop;
    use crate::phy::{Phy, Radio};

    #[test]
    fn both_byte_orders_and_lies() {
        let air = dot11(0x0108, &[], &snap(&ipv4(6, &tcp(&[], b"x"))));
        for order in [u32::to_be_bytes, u32::to_le_bytes] {
            let data = |length: u32| [&order(0x44)[..], &order(length), &[0; 136], &air].concat();
            assert_eq!(one(119, &data(144)).payload_bytes, Some(1));
            cut_everywhere(119, &data(144));
            for length in [0, u32::MAX] {
                assert_eq!(one(119, &data(length)).stop, Stop::LengthLies);
            }
        }
        assert_eq!(one(119, &[7; 200]).stop, Stop::BadHeader);
    }

    /// A header whose items are numbered as the message's code demands.
    fn header(code: u32, order: fn(u32) -> [u8; 4], short: fn(u16) -> [u8; 2], items: &[(u32, u16, i32)]) -> Vec<u8> {
        let mut data = [&order(code)[..], &order(144), b"wlan0\0\0\0\0\0\0\0\0\0\0\0"].concat();
        let shift = if code == 0x44 { 16 } else { 12 };
        for (number, status, value) in items {
            data.extend(order(number << shift | code));
            data.extend(short(*status));
            data.extend(short(4));
            data.extend(order(*value as u32));
        }
        data.resize(144, 0);
        data.extend(&dot11(0x00d4, &[], &[])[..10]);
        data
    }

    #[test]
    fn what_the_radio_says() {
        let items =
            [(1, 0, 7), (2, 0, 12345), (3, 0, 11), (4, 0, 30), (6, 0, -61), (7, 0, -95), (8, 0, 108), (9, 0, 0)];
        for code in [0x44, 0x41] {
            for data in [
                header(code, u32::to_le_bytes, u16::to_le_bytes, &items),
                header(code, u32::to_be_bytes, u16::to_be_bytes, &items),
            ] {
                let r = frame(119, &data).0.radio;
                assert_eq!((r.tsf_us, r.signal_dbm, r.noise_dbm), (Some(12345), Some(-61), Some(-95)));
                assert_eq!((r.ppdu.phy, r.ppdu.rate_mbps), (Some(Phy::G), Some(54.0)));
                assert_eq!((r.ppdu.channel_mhz, r.transmitted), (Some(2462), false));
                cut_everywhere(119, &data);
            }
        }
    }

    #[test]
    fn items_not_supplied_and_powers_without_a_unit() {
        let items = [(2, 1, 12345), (3, 0, 300), (4, 0, 57), (6, 0, 57), (8, 0, 100_000), (9, 0, 1)];
        let r = frame(119, &header(0x44, u32::to_le_bytes, u16::to_le_bytes, &items)).0.radio;
        assert_eq!(r, Radio { transmitted: true, ..Radio::default() });
        // Only the RSSI is a power here.
        let items = [(4, 0, -70), (6, 0, 30)];
        let r = frame(119, &header(0x44, u32::to_le_bytes, u16::to_le_bytes, &items)).0.radio;
        assert_eq!(r.signal_dbm, Some(-70));
    }
}
