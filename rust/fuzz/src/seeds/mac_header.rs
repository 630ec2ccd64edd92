//! The MAC header of an 802.11 frame.

use super::halves;

/// The access point, which is the BSSID.
pub const AP: [u8; 6] = [2, 0xaa, 0, 0, 0, 1];

/// A MAC header of three addresses: frame control, from, to, sequence number.
pub fn header(fc: u16, to: [u8; 6], from: [u8; 6], seq: u16) -> Vec<u8> {
    let mut out = halves(false, &[fc, 44]);
    out.extend(to);
    out.extend(from);
    out.extend(AP);
    out.extend(halves(false, &[seq << 4]));
    out
}
