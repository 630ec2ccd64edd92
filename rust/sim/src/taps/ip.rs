//! IPv4 packets with TCP or UDP inside, checksums right.

use super::head::Head;
use super::Gather;
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
pub fn write_ip(p: &Packet, n: &Names, out: &mut Gather) {
    let protocol = if matches!(p.body, Body::Tcp(_)) { 6 } else { 17 };
    let mut ip = Head::<IP_HEADER>::new();
    ip.put([0x45, 0]);
    ip.put((p.ip_bytes as u16).to_be_bytes());
    ip.put(p.ip_id.to_be_bytes());
    // Don't fragment.
    ip.put([0x40, 0, p.ttl, protocol, 0, 0]);
    ip.put(n.src);
    ip.put(n.dst);
    ip.set(10, (!fold(words(ip.bytes()))).to_be_bytes());
    out.put(ip.bytes());

    let (mut header, from, len, at) = match &p.body {
        Body::Tcp(s) => (tcp_header(s, n), s.seq, s.len, 16),
        Body::Udp { len, number } => (udp_header(*len, n), *number, *len, 6),
    };
    let payload = Payload { from: (from % PERIOD as u64) as usize, len: len as usize };
    let length = (header.bytes().len() + payload.len) as u64;
    let pseudo = words(&n.src) + words(&n.dst) + protocol as u64 + length;
    let sum = !fold(words(header.bytes()) + payload.words() + pseudo);
    // A UDP checksum of 0 means none (RFC 768).
    let sum = if protocol == 17 && sum == 0 { 0xffff } else { sum };
    header.set(at, sum.to_be_bytes());
    out.put(header.bytes());
    out.lend(payload.bytes());
}

fn udp_header(len: u32, n: &Names) -> Head<60> {
    let mut out = Head::new();
    out.put(n.src_port.to_be_bytes());
    out.put(n.dst_port.to_be_bytes());
    out.put((8 + len as u16).to_be_bytes());
    out.put([0, 0]);
    out
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

const PERIOD: usize = 64;
/// 64 printable characters, again and again: any packet's payload is one piece of it.
static PATTERN: [u8; PERIOD + 0xffff] = pattern();
/// Sums of the pattern's bytes before each of its first places: of those in even places, and in odd ones.
static SUMS: [[u64; 2]; PERIOD + 1] = sums();

/// Bytes of the application: a pattern by their place in the stream, so that a resend carries the same.
struct Payload {
    /// Place in the pattern.
    from: usize,
    len: usize,
}

impl Payload {
    fn bytes(&self) -> &'static [u8] {
        &PATTERN[self.from..self.from + self.len]
    }

    /// The sum of its 16-bit words, an odd byte padded, without a look at the bytes.
    fn words(&self) -> u64 {
        let before = |place: usize, odd: usize| (place / PERIOD) as u64 * SUMS[PERIOD][odd] + SUMS[place % PERIOD][odd];
        let sum = |odd: usize| before(self.from + self.len, odd) - before(self.from, odd);
        let first = self.from % 2;
        (sum(first) << 8) + sum(1 - first)
    }
}

const fn pattern<const N: usize>() -> [u8; N] {
    const LETTERS: &[u8; PERIOD] = b"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ+/";
    let mut out = [0; N];
    let mut i = 0;
    while i < N {
        out[i] = LETTERS[i % PERIOD];
        i += 1;
    }
    out
}

const fn sums() -> [[u64; 2]; PERIOD + 1] {
    let letters: [u8; PERIOD] = pattern();
    let mut out = [[0; 2]; PERIOD + 1];
    let mut i = 0;
    while i < PERIOD {
        out[i + 1] = out[i];
        out[i + 1][i % 2] += letters[i] as u64;
        i += 1;
    }
    out
}

/// Sum of a header's 16-bit words: in one's complement sums of 32-bit words are as good (RFC 1071, section 2).
fn words(header: &[u8]) -> u64 {
    header.chunks_exact(4).map(|w| u64::from(u32::from_be_bytes([w[0], w[1], w[2], w[3]]))).sum()
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_a_payload_are_those_of_its_bytes() {
        for from in 0..PERIOD {
            for len in [0, 1, 2, 63, 64, 65, 536, 1447, 1448, 0xffff] {
                let p = Payload { from, len };
                let sum: u64 =
                    p.bytes().chunks(2).map(|w| u64::from(w[0]) << 8 | w.get(1).map_or(0, |b| (*b).into())).sum();
                assert_eq!(p.words(), sum, "{from} {len}");
            }
        }
    }
}
