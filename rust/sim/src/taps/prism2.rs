//! The bulk transfers of a Prism 2 adapter: a descriptor of 60 bytes before each frame's body.
//!
//! Layout: Linux, drivers/staging/wlan-ng/hfa384x.h. 14 bytes of the adapter's own, the 802.11 header with four addresses,
//! the body's length, an 802.3 header; then LLC, SNAP and the packet.

use super::head::Head;
use super::{write_ip, Gather, Names};
use crate::packet::{Mac, Packet};

pub const DESCRIPTOR_BYTES: u32 = 60;
const LLC_SNAP: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

/// Bytes of a transfer with a packet from the host: padded to whole transactions.
pub fn out_bytes(ip_bytes: u32) -> u32 {
    in_bytes(ip_bytes).next_multiple_of(64)
}

/// Bytes of a transfer with a packet to the host.
pub fn in_bytes(ip_bytes: u32) -> u32 {
    DESCRIPTOR_BYTES + LLC_SNAP.len() as u32 + ip_bytes
}

/// The fields of the descriptor besides the packet.
#[derive(Debug, Clone, Copy)]
pub struct Prism2 {
    /// From the host to the adapter.
    pub out: bool,
    pub bssid: Mac,
    pub ad_hoc: bool,
    pub src: Mac,
    pub dst: Mac,
    /// Of a received frame.
    pub signal_dbm: i8,
    pub noise_dbm: i8,
    pub rate_kbps: u32,
}

/// Append the transfer's data.
pub fn prism2_frame(f: &Prism2, p: &Packet, n: &Names, out: &mut Gather) {
    let start = out.mark();
    let body = (LLC_SNAP.len() as u32 + p.ip_bytes) as u16;
    let mut head = Head::<{ DESCRIPTOR_BYTES as usize + LLC_SNAP.len() }>::new();
    // Skipped fields are 0: most of the adapter's own words, duration, sequence control, the fourth address.
    head.skip(6);
    if f.out {
        head.skip(3);
    } else {
        let above_dbm = |level: i8| (i16::from(level) + 100) as u8;
        head.put([above_dbm(f.noise_dbm), above_dbm(f.signal_dbm), (f.rate_kbps / 100) as u8]);
    }
    head.skip(5);
    let ds: u16 = match (f.ad_hoc, f.out) {
        (true, _) => 0,
        (false, true) => 0x0100,
        (false, false) => 0x0200,
    };
    head.put((0x0008 | ds).to_le_bytes());
    head.skip(2);
    let addresses = match (f.ad_hoc, f.out) {
        (true, _) => [f.dst, f.src, f.bssid],
        (false, true) => [f.bssid, f.src, f.dst],
        (false, false) => [f.dst, f.bssid, f.src],
    };
    for address in addresses {
        head.put(address);
    }
    head.skip(8);
    head.put(body.to_le_bytes());
    head.put(f.dst);
    head.put(f.src);
    head.put(body.to_be_bytes());
    head.put(LLC_SNAP);
    out.put(head.bytes());
    write_ip(p, n, out);
    if f.out {
        let filled = out_bytes(p.ip_bytes) as usize - out.since(start);
        out.put(&[0; 64][..filled]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_segment_takes_25_transactions() {
        assert_eq!((out_bytes(1500) / 64, out_bytes(1500), in_bytes(52)), (25, 1600, 120));
    }
}
