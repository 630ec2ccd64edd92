//! Qualcomm's multiplexing and aggregation protocol (Linux, Documentation/networking/device_drivers/cellular/qualcomm/rmnet.rst,
//! version 1): padding, channel and length before each IP packet.

use super::super::view::View;
use super::piece::{add, Kind, Piece};

const HEADER: usize = 4;
const COMMAND: u8 = 0x80;
const RESERVED: u8 = 0x40;
const PADDING: u8 = 0x3f;
const LEAST_PACKET: usize = 20;

pub(super) fn packets(v: View<'_>, pieces: &mut Vec<Piece>) -> Option<()> {
    let mut at = 0;
    while at < v.wire() {
        let (Some(first), Some(length)) = (v.u8(at), v.be16(at + 2).map(usize::from)) else {
            break;
        };
        let packet = length.checked_sub(usize::from(first & PADDING))?;
        let fits = packet >= LEAST_PACKET && at + HEADER + length <= v.wire();
        if first & RESERVED != 0 || !fits {
            return None;
        }
        if first & COMMAND == 0 && !add(pieces, Kind::Ip, at + HEADER, packet) {
            break;
        }
        at += HEADER + length;
    }
    Some(())
}
