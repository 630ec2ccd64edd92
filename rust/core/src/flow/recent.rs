//! Packets that one direction sent recently, to recognise copies of the same packet.

use std::collections::VecDeque;

use super::kinds::Transmission;
use crate::limits;
use crate::packet::{Mpdu, Packet, Tcp};

const ON_WIRE: usize = limits::RECENT_PACKETS;

/// A packet captured on the air.
#[derive(Debug, Clone, Copy)]
struct AirCopy {
    mpdu: Mpdu,
    print: u64,
    ip_id: Option<u32>,
    seq: u32,
}

/// Rings of the latest packets: a few by fingerprint, and more of those captured on the air by their MAC headers.
#[derive(Debug, Default)]
pub struct RecentPackets {
    prints: [u64; ON_WIRE],
    times: [i64; ON_WIRE],
    next: u8,
    air: VecDeque<AirCopy>,
}

/// What identifies a packet: TCP never sends two identical ones, since a retransmission has another IP ID.
#[inline]
fn fingerprint(p: &Packet, tcp: &Tcp, payload: u32) -> u64 {
    // Multiplied by odd constants (splitmix64's) so that fields in the same bits do not cancel.
    let a = (u64::from(tcp.seq) << 32 | u64::from(tcp.ack)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let b = (u64::from(payload) << 32 | u64::from(tcp.window) << 16 | u64::from(tcp.flags))
        .wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let (tsval, tsecr) = tcp.timestamps.unwrap_or((0, 0));
    let c = (u64::from(tsval) << 32 | u64::from(tsecr)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let sack = u64::from(tcp.sack[0].0) << 32 | u64::from(tcp.sack[0].1);
    let d = (u64::from(p.ip_id.unwrap_or(0)) ^ sack.rotate_left(17)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (a ^ b.rotate_left(13) ^ c.rotate_left(29) ^ d.rotate_left(43)) | 1
}

impl RecentPackets {
    /// Look a packet up and store it. `identified`: its IP ID identifies packets; `near_ns`: a packet with payload this soon after
    /// an identical one cannot be a retransmission.
    pub fn seen(
        &mut self,
        p: &Packet,
        tcp: &Tcp,
        payload: u32,
        t: i64,
        identified: bool,
        near_ns: i64,
    ) -> Option<Transmission> {
        let print = fingerprint(p, tcp, payload);
        let found = match &p.mpdu {
            Some(mpdu) => self.heard(mpdu, print, p.ip_id, tcp.seq),
            None => None,
        };
        let found = found.or_else(|| {
            let i = self.prints.iter().position(|q| *q == print)?;
            (identified || t - self.times[i] < near_ns).then_some(Transmission::CaptureDuplicate)
        });
        let at = usize::from(self.next) % ON_WIRE;
        (self.prints[at], self.times[at]) = (print, t);
        self.next = (self.next + 1) % ON_WIRE as u8;
        found
    }

    /// IEEE 802.11-2020 clause 10.3.2.14: same transmitter and sequence control, so the same MPDU. The IP ID separates the
    /// packets of an A-MSDU; other fields may differ if one copy has bit errors.
    fn heard(&mut self, mpdu: &Mpdu, print: u64, ip_id: Option<u32>, seq: u32) -> Option<Transmission> {
        let found = self.air.iter().rev().find_map(|h| {
            let same = h.mpdu.ta == mpdu.ta && h.mpdu.seq_ctl == mpdu.seq_ctl && h.mpdu.tid == mpdu.tid;
            match () {
                () if same && h.ip_id == ip_id && h.seq == seq => Some(Transmission::MacCopy),
                // The same packet on another hop.
                () if h.print == print && h.mpdu.ta != mpdu.ta => Some(Transmission::CaptureDuplicate),
                () => None,
            }
        });
        if self.air.len() >= limits::RECENT_MPDUS {
            self.air.pop_front();
        }
        self.air.push_back(AirCopy { mpdu: *mpdu, print, ip_id, seq });
        found
    }

    /// Clear it, for an idle connection.
    pub fn compact(&mut self) {
        self.air = VecDeque::new();
    }
}
