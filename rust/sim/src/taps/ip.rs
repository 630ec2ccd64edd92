//! IPv4 packets with TCP or UDP inside, checksums right.

use super::head::Head;
use crate::packet::{Body, Packet};
use crate::tcp::Segment;

/// Addresses and ports of a packet.
#[derive(Debug, Clone, Copy)]
pub struct Names {
    pub src: [u8; 4],
    pub dst: [u8; 4],
    pub src_port: u16,
    pub dst_port: u16,
    /// Initial sequence numbers of the sender of this packet and of its peer.
    pub isn: u32,
    pub peer_isn: u32,
    /// What the sender's SYN offers.
    pub mss: u16,
    pub wscale: u8,
    pub sack_permitted: bool,
}

const IP_HEADER: usize = 20;

/// Length of a packet on the IP layer.
pub fn ip_bytes(body: &Body) -> u32 {
    match body {
        Body::Tcp(s) => (IP_HEADER + 20 + options_length(s) + s.len as usize) as u32,
        Body::Udp { len, .. } => (IP_HEADER + 8) as u32 + len,
    }
}

fn options_length(s: &Segment) -> usize {
    let stamps = if s.timestamps.is_some() { 12 } else { 0 };
    if s.syn {
        // MSS, SACK-permitted or padding, window scale with a no-operation.
        return 4 + 4 + stamps + if s.timestamps.is_some() { 0 } else { 4 };
    }
    stamps + if s.sack_blocks > 0 { 4 + 8 * usize::from(s.sack_blocks) } else { 0 }
}

/// Append the packet to `out`.
pub fn write_ip(p: &Packet, n: &Names, out: &mut Vec<u8>) {
    let protocol = if matches!(p.body, Body::Tcp(_)) { 6 } else { 17 };
    let mut ip = [0; IP_HEADER];
    ip[..2].copy_from_slice(&[0x45, 0]);
    ip[2..4].copy_from_slice(&(p.ip_bytes as u16).to_be_bytes());
    ip[4..6].copy_from_slice(&p.ip_id.to_be_bytes());
    // Don't fragment.
    ip[6..10].copy_from_slice(&[0x40, 0, p.ttl, protocol]);
    ip[12..16].copy_from_slice(&n.src);
    ip[16..20].copy_from_slice(&n.dst);
    let sum = fold(words(&ip));
    ip[10..12].copy_from_slice(&(!sum).to_be_bytes());
    out.extend_from_slice(&ip);

    let l4 = out.len();
    let at = match &p.body {
        Body::Tcp(s) => {
            out.extend_from_slice(tcp_header(s, n).bytes());
            payload(s.seq, s.len, out);
            16
        }
        Body::Udp { len, number } => {
            let mut udp = Head::<8>::new();
            udp.put(n.src_port.to_be_bytes());
            udp.put(n.dst_port.to_be_bytes());
            udp.put((8 + *len as u16).to_be_bytes());
            udp.put([0, 0]);
            out.extend_from_slice(udp.bytes());
            payload(*number, *len, out);
            6
        }
    };
    let length = (out.len() - l4) as u64;
    let pseudo = words(&n.src) + words(&n.dst) + protocol as u64 + length;
    let sum = !fold(words(&out[l4..]) + pseudo);
    // A UDP checksum of 0 means none (RFC 768).
    let sum = if protocol == 17 && sum == 0 { 0xffff } else { sum };
    out[l4 + at..l4 + at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// The header with its options, 60 bytes at most.
fn tcp_header(s: &Segment, n: &Names) -> Head<60> {
    let mut out = Head::new();
    let options = options_length(s);
    out.put(n.src_port.to_be_bytes());
    out.put(n.dst_port.to_be_bytes());
    out.put(n.isn.wrapping_add(s.seq as u32).to_be_bytes());
    out.put(s.ack.map_or(0, |a| n.peer_isn.wrapping_add(a as u32)).to_be_bytes());
    let flags = u8::from(s.fin) | u8::from(s.syn) << 1 | u8::from(s.rst) << 2 | u8::from(s.psh) << 3;
    out.put([(((20 + options) / 4) << 4) as u8, flags | u8::from(s.ack.is_some()) << 4]);
    let shift = if s.syn { 0 } else { n.wscale };
    let window = (s.window >> shift).min(0xffff) as u16;
    out.put(window.to_be_bytes());
    out.put([0, 0, 0, 0]);
    if s.syn {
        out.put([2, 4]);
        out.put(n.mss.to_be_bytes());
        if let Some((tsval, tsecr)) = s.timestamps {
            out.put(if n.sack_permitted { [4, 2] } else { [1, 1] });
            out.put([8, 10]);
            out.put(tsval.to_be_bytes());
            out.put(tsecr.to_be_bytes());
        } else {
            out.put(if n.sack_permitted { [1, 1, 4, 2] } else { [1, 1, 1, 1] });
        }
        out.put([1, 3, 3, n.wscale]);
        return out;
    }
    if let Some((tsval, tsecr)) = s.timestamps {
        out.put([1, 1, 8, 10]);
        out.put(tsval.to_be_bytes());
        out.put(tsecr.to_be_bytes());
    }
    if s.sack_blocks > 0 {
        out.put([1, 1, 5, 2 + 8 * s.sack_blocks]);
        for (left, right) in &s.sack[..usize::from(s.sack_blocks)] {
            out.put(n.peer_isn.wrapping_add(*left as u32).to_be_bytes());
            out.put(n.peer_isn.wrapping_add(*right as u32).to_be_bytes());
        }
    }
    out
}

/// Bytes of the application: a pattern by their place in the stream, so that a resend carries the same.
fn payload(from: u64, len: u32, out: &mut Vec<u8>) {
    const PERIOD: usize = 64;
    static PATTERN: [u8; PERIOD + 0xffff] = pattern();
    let at = (from % PERIOD as u64) as usize;
    out.extend_from_slice(&PATTERN[at..at + len as usize]);
}

/// 64 printable characters, again and again: any packet's payload is one slice of it.
const fn pattern<const N: usize>() -> [u8; N] {
    const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ+/";
    let mut out = [0; N];
    let mut i = 0;
    while i < N {
        out[i] = LETTERS[i % 64];
        i += 1;
    }
    out
}

/// Sum of 16-bit words, an odd byte padded. In one's complement sums of 64-bit words in either byte order are as good, a
/// carry added at the other end (RFC 1071, section 2).
fn words(bytes: &[u8]) -> u64 {
    let eights = bytes.chunks_exact(8);
    let mut rest = [0; 8];
    rest[..eights.remainder().len()].copy_from_slice(eights.remainder());
    let sum = eights.fold(u64::from_le_bytes(rest), |sum, w| {
        let (sum, carry) = sum.overflowing_add(u64::from_le_bytes([w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]]));
        sum.wrapping_add(u64::from(carry))
    });
    u64::from(fold(sum).swap_bytes())
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
