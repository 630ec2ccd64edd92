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

/// A packet in 8 bytes, because every packet writes one: half of its fingerprint, and its time in ticks of 64 ns modulo 2^32, 275 s.
#[derive(Debug, Clone, Copy)]
struct Older {
    print: u32,
    ticks: u32,
}

const TICK_SHIFT: u32 = 6;

impl Older {
    fn new(print: u64, t: i64) -> Older {
        Older { print: (print >> 32) as u32, ticks: (t >> TICK_SHIFT) as u32 }
    }

    /// The time since the packet, to one tick; `self` is a packet with the same fingerprint now.
    fn since(self, before: Older) -> i64 {
        i64::from(self.ticks.wrapping_sub(before.ticks)) << TICK_SHIFT
    }
}

/// Rings of the latest packets: a few by fingerprint, and more of those captured on the air by their MAC headers.
#[derive(Debug, Default)]
pub struct RecentPackets {
    prints: [u64; ON_WIRE],
    times: [i64; ON_WIRE],
    next: u8,
    air: VecDeque<AirCopy>,
    /// Of each of these, in the same order, what a copy of it has in common with it: numbers of 32 bits, of which four are compared at
    /// once.
    air_ids: VecDeque<u32>,
    air_prints: VecDeque<u32>,
    /// The packets before these, for copies that a second tap delays.
    older: VecDeque<Older>,
    /// The delay of the latest such copy and its fingerprint, and how many different packets in a row had this delay.
    delay: (i64, u64),
    delays: u32,
    packets: u32,
}

/// What shows that an identical packet is a copy made by a capture, besides its fields.
#[derive(Debug, Clone, Copy)]
pub struct Identity {
    /// Its IP ID identifies packets.
    pub by_id: bool,
    /// A packet with payload this soon after an identical one cannot be a retransmission.
    pub near_ns: i64,
    /// It occupies no new sequence numbers and acknowledges nothing new.
    pub repeats: bool,
    /// A retransmission after this time would have a newer timestamp.
    pub stamp_ns: Option<i64>,
}

/// Two copies that a second tap made have the same delay, to the resolution of the capture.
const SAME_DELAY_NS: i64 = 2_000;
/// From the third packet with the same delay on it is that of a tap, if a third of all packets are such copies: a tap copies every packet,
/// a sender repeats few. No timer is that short.
const DELAYS: u32 = 3;
const LONGEST_DELAY_NS: i64 = 200_000_000;

/// What identifies a packet: TCP never sends two identical ones, since a retransmission has another IP ID.
#[inline]
pub fn fingerprint(p: &Packet, tcp: &Tcp, payload: u32) -> u64 {
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

/// A number that is the same for two copies of one packet in one MPDU, and hardly ever for others.
fn air_id(mpdu: &Mpdu, ip_id: Option<u32>, seq: u32) -> u32 {
    let [a, b, c, d, e, f] = mpdu.ta;
    let ta = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
    let number = u64::from(mpdu.seq_ctl) << 48 | u64::from(mpdu.tid) << 40;
    let packet = u64::from(ip_id.unwrap_or(0)) << 32 | u64::from(seq);
    let id = (ta ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ packet.wrapping_mul(0xd6e8_feb8_6659_fd93);
    (id >> 32) as u32
}

impl RecentPackets {
    /// Whether a packet with this fingerprint was among the latest few.
    #[inline]
    pub fn holds(&self, print: u64) -> bool {
        self.prints.contains(&print)
    }

    /// Look a packet up and store it.
    pub fn seen(&mut self, p: &Packet, seq: u32, print: u64, t: i64, known: Identity) -> Option<Transmission> {
        let found = match &p.mpdu {
            Some(mpdu) => self.heard(mpdu, print, p.ip_id, seq),
            None => None,
        };
        let found = found
            .or_else(|| {
                let i = self.prints.iter().position(|q| *q == print)?;
                (known.by_id || t - self.times[i] < known.near_ns).then_some(Transmission::CaptureDuplicate)
            })
            .or_else(|| self.delayed(print, t, known));
        self.store(print, t);
        found
    }

    /// Store a packet.
    #[inline]
    pub fn store(&mut self, print: u64, t: i64) {
        let at = usize::from(self.next) % ON_WIRE;
        if self.prints[at] != 0 {
            if self.older.len() >= limits::RECENT_PRINTS - ON_WIRE {
                self.older.pop_front();
            }
            self.older.push_back(Older::new(self.prints[at], self.times[at]));
        }
        (self.prints[at], self.times[at]) = (print, t);
        self.next = (self.next + 1) % ON_WIRE as u8;
        self.packets = self.packets.saturating_add(1);
    }

    /// A copy that came long after the packet: by its IP ID or timestamp, or because others had exactly the same delay.
    fn delayed(&mut self, print: u64, t: i64, known: Identity) -> Option<Transmission> {
        if !known.repeats {
            return None;
        }
        let near = self.prints.iter().zip(self.times).filter(|(q, _)| **q == print).map(|(_, at)| at).max();
        let delay = match near {
            Some(at) => t - at,
            None => {
                let now = Older::new(print, t);
                now.since(*self.older.iter().rev().find(|p| p.print == now.print)?)
            }
        };
        let exact = delay < LONGEST_DELAY_NS && (delay - self.delay.0).abs() <= SAME_DELAY_NS;
        // Identical packets in a row, such as duplicate ACKs, prove nothing.
        if self.delay.1 != print {
            self.delays = if exact { self.delays.saturating_add(1) } else { 1 };
            self.delay = (delay, print);
        }
        let copy = known.by_id
            || known.stamp_ns.is_some_and(|tick| delay > 2 * tick)
            || exact && self.delays >= DELAYS && self.delays >= self.packets / 3;
        copy.then_some(Transmission::CaptureDuplicate)
    }

    /// IEEE 802.11-2020 clause 10.3.2.14: same transmitter and sequence control, so the same MPDU. The IP ID separates the
    /// packets of an A-MSDU; other fields may differ if one copy has bit errors.
    fn heard(&mut self, mpdu: &Mpdu, print: u64, ip_id: Option<u32>, seq: u32) -> Option<Transmission> {
        let (id, half) = (air_id(mpdu, ip_id, seq), (print >> 32) as u32);
        let found = if self.air_ids.contains(&id) || self.air_prints.contains(&half) {
            self.air.iter().rev().find_map(|h| {
                let same = h.mpdu.ta == mpdu.ta && h.mpdu.seq_ctl == mpdu.seq_ctl && h.mpdu.tid == mpdu.tid;
                match () {
                    () if same && h.ip_id == ip_id && h.seq == seq => Some(Transmission::MacCopy),
                    // The same packet on another hop.
                    () if h.print == print && h.mpdu.ta != mpdu.ta => Some(Transmission::CaptureDuplicate),
                    () => None,
                }
            })
        } else {
            None
        };
        if self.air.len() >= limits::RECENT_MPDUS {
            self.air.pop_front();
            self.air_ids.pop_front();
            self.air_prints.pop_front();
        }
        self.air.push_back(AirCopy { mpdu: *mpdu, print, ip_id, seq });
        self.air_ids.push_back(id);
        self.air_prints.push_back(half);
        found
    }

    /// Clear it, for an idle connection.
    pub fn compact(&mut self) {
        (self.air, self.air_ids, self.air_prints) = Default::default();
        self.older = VecDeque::new();
    }
}
