//! IPv4 packets with TCP or UDP inside and with right checksums.

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
    /// The options of the sender's SYN.
    pub mss: u16,
    pub wscale: u8,
    pub sack_permitted: bool,
}

const IP_HEADER: usize = 20;

/// Length of a packet at the IP layer.
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
    let protocol: u16 = if matches!(p.body, Body::Tcp(_)) { 6 } else { 17 };
    let (src, dst) = (u32::from_be_bytes(n.src), u32::from_be_bytes(n.dst));
    let life = u16::from(p.ttl) << 8 | protocol;
    let mut header = Words::default();
    header.put(pair(0x4500, p.ip_bytes as u16));
    // Don't fragment.
    header.put(pair(p.ip_id, 0x4000));
    header.put(pair(life, 0));
    header.put(src);
    header.put(dst);
    header.bytes[2] = pair(life, !fold(header.sum)).to_be_bytes();

    // Add the part of the pseudo-header to the checksum.
    header.sum = u64::from(src) + u64::from(dst) + u64::from(protocol);
    let (from, len) = match &p.body {
        Body::Tcp(s) => {
            tcp_header(s, n, &mut header);
            (s.seq, s.len)
        }
        Body::Udp { len, number } => {
            header.put(pair(n.src_port, n.dst_port));
            header.put(pair(8 + *len as u16, 0));
            (*number, *len)
        }
    };
    let payload = Payload { from: (from % PERIOD as u64) as usize, len: len as usize };
    let length = (4 * header.len - IP_HEADER + payload.len) as u64;
    let sum = !fold(header.sum + length + payload.words());
    match p.body {
        Body::Tcp(_) => header.bytes[9] = pair(sum, 0).to_be_bytes(),
        // A UDP checksum of 0 means none (RFC 768).
        Body::Udp { len, .. } => {
            header.bytes[6] = pair(8 + len as u16, if sum == 0 { 0xffff } else { sum }).to_be_bytes()
        }
    }
    out.put(header.bytes[..header.len].as_flattened());
    out.lend(payload.bytes());
}

/// Append the header with its options, 60 bytes at most.
fn tcp_header(s: &Segment, n: &Names, out: &mut Words) {
    let offset = ((20 + options_length(s)) / 4) as u16;
    let flags = u16::from(s.fin) | u16::from(s.syn) << 1 | u16::from(s.rst) << 2 | u16::from(s.psh) << 3;
    let shift = if s.syn { 0 } else { n.wscale };
    let window = (s.window >> shift).min(0xffff) as u16;
    out.put(pair(n.src_port, n.dst_port));
    out.put(n.isn.wrapping_add(s.seq as u32));
    out.put(s.ack.map_or(0, |a| n.peer_isn.wrapping_add(a as u32)));
    out.put(pair(offset << 12 | flags | u16::from(s.ack.is_some()) << 4, window));
    out.put(0);
    if s.syn {
        out.put(pair(0x0204, n.mss));
        if let Some((tsval, tsecr)) = s.timestamps {
            out.put(pair(if n.sack_permitted { 0x0402 } else { 0x0101 }, 0x080a));
            out.put(tsval);
            out.put(tsecr);
        } else {
            out.put(pair(0x0101, if n.sack_permitted { 0x0402 } else { 0x0101 }));
        }
        out.put(pair(0x0103, 0x0300 | u16::from(n.wscale)));
        return;
    }
    if let Some((tsval, tsecr)) = s.timestamps {
        out.put(0x0101_080a);
        out.put(tsval);
        out.put(tsecr);
    }
    if s.sack_blocks > 0 {
        out.put(pair(0x0101, 0x0500 | u16::from(2 + 8 * s.sack_blocks)));
        for (left, right) in &s.sack[..usize::from(s.sack_blocks)] {
            out.put(n.peer_isn.wrapping_add(*left as u32));
            out.put(n.peer_isn.wrapping_add(*right as u32));
        }
    }
}

/// Headers of IP and of its payload, in words of 32 bits.
#[derive(Default)]
struct Words {
    bytes: [[u8; 4]; 20],
    len: usize,
    /// Sum of the words: in one's complement it is equivalent to that of 16-bit words (RFC 1071, section 2).
    sum: u64,
}

impl Words {
    #[inline]
    fn put(&mut self, word: u32) {
        self.bytes[self.len] = word.to_be_bytes();
        self.len += 1;
        self.sum += u64::from(word);
    }
}

/// Two fields of 16 bits.
fn pair(first: u16, second: u16) -> u32 {
    u32::from(first) << 16 | u32::from(second)
}

const PERIOD: usize = 64;
/// 64 printable characters, repeated: any packet's payload is one slice of it.
static PATTERN: [u8; PERIOD + 0xffff] = pattern();
/// Sums of the pattern's bytes before each of its first positions: upper half for even positions, lower half for odd ones. No
/// packet is long enough for the lower sum to reach the upper half.
static SUMS: [u64; PERIOD + 1] = sums();

/// Bytes of the application: a pattern by position in the stream, so that a retransmission carries the same.
struct Payload {
    /// Position in the pattern.
    from: usize,
    len: usize,
}

impl Payload {
    fn bytes(&self) -> &'static [u8] {
        &PATTERN[self.from..self.from + self.len]
    }

    /// The sum of its 16-bit words, an odd byte padded, without reading the bytes.
    fn words(&self) -> u64 {
        let before = |place: usize| (place / PERIOD) as u64 * SUMS[PERIOD] + SUMS[place % PERIOD];
        let sums = before(self.from + self.len) - before(self.from);
        let (even, odd) = (sums >> 32, sums & 0xffff_ffff);
        if self.from % 2 == 0 {
            (even << 8) + odd
        } else {
            (odd << 8) + even
        }
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

const fn sums() -> [u64; PERIOD + 1] {
    let letters: [u8; PERIOD] = pattern();
    let mut out = [0; PERIOD + 1];
    let mut i = 0;
    while i < PERIOD {
        out[i + 1] = out[i] + ((letters[i] as u64) << if i % 2 == 0 { 32 } else { 0 });
        i += 1;
    }
    out
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
    fn the_sum_of_a_payload_is_the_sum_of_its_bytes() {
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
