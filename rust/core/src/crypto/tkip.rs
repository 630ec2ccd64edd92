//! TKIP: per-frame RC4 keys by two-phase mixing, ICV, Michael (IEEE 802.11-2020 clause 12.5.2).

use zeroize::{Zeroize, Zeroizing};

use super::wep;
use crate::frame::Mac;

/// Initialization vector, key identifier, extended initialization vector.
pub(super) const HEADER: usize = 8;
pub(super) const MICHAEL: usize = 8;

/// A key of Michael.
pub(super) type MicKey = [u8; 8];

/// A temporal key of TKIP with its two keys of Michael (clause 12.7.1.3: bits 0, 128 and 192).
pub(super) struct Key {
    tk: [u8; 16],
    from_authenticator: MicKey,
    from_supplicant: MicKey,
}

impl Key {
    pub fn new(key: &[u8; 32]) -> Key {
        let (mut tk, mut from_authenticator, mut from_supplicant) = ([0; 16], [0; 8], [0; 8]);
        tk.copy_from_slice(&key[..16]);
        from_authenticator.copy_from_slice(&key[16..24]);
        from_supplicant.copy_from_slice(&key[24..]);
        Key { tk, from_authenticator, from_supplicant }
    }

    /// Decrypt the bytes after the TKIP header into `out`, including the Michael MIC of the last fragment; returns
    /// whether the ICV is right. A `cut` body has no ICV.
    pub fn open(&self, ta: &Mac, body: &[u8], cut: bool, out: &mut Vec<u8>) -> bool {
        let (Some(h), Some(sealed)) = (body.first_chunk::<HEADER>(), body.get(HEADER..)) else {
            return false;
        };
        let tsc_high = u32::from_le_bytes([h[4], h[5], h[6], h[7]]);
        let tsc_low = u16::from_be_bytes([h[0], h[2]]);
        let seed = phase_2(&phase_1(&self.tk, ta, tsc_high), &self.tk, tsc_low);
        wep::open_with_seed(seed.as_slice(), sealed, cut, out)
    }

    /// The key of Michael for this direction.
    pub fn michael(&self, from_authenticator: bool) -> MicKey {
        if from_authenticator {
            self.from_authenticator
        } else {
            self.from_supplicant
        }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.tk.zeroize();
        self.from_authenticator.zeroize();
        self.from_supplicant.zeroize();
    }
}

/// Whether the MIC after an MSDU is right; the rest is the MSDU (clause 12.5.2.3).
pub(super) fn check_michael(key: &MicKey, da: &Mac, sa: &Mac, priority: u8, msdu: &[u8]) -> Option<usize> {
    let (data, mic) = msdu.split_last_chunk::<MICHAEL>()?;
    let mut header = [0; 16];
    header[..6].copy_from_slice(da);
    header[6..12].copy_from_slice(sa);
    header[12] = priority;
    (michael(key, &header, data) == *mic).then_some(data.len())
}

/// Michael over a header of whole words and data.
fn michael(key: &MicKey, header: &[u8], data: &[u8]) -> [u8; 8] {
    let mut state = [word(&key[..4]), word(&key[4..])];
    let mut take = |m: u32| {
        let [mut l, mut r] = state;
        l ^= m;
        r ^= l.rotate_left(17);
        l = l.wrapping_add(r);
        r ^= (l & 0xff00_ff00) >> 8 | (l & 0x00ff_00ff) << 8;
        l = l.wrapping_add(r);
        r ^= l.rotate_left(3);
        l = l.wrapping_add(r);
        r ^= l.rotate_right(2);
        l = l.wrapping_add(r);
        state = [l, r];
    };
    header.chunks_exact(4).for_each(|m| take(word(m)));
    let whole = data.chunks_exact(4);
    let mut last = [0; 4];
    let rest = whole.remainder();
    whole.for_each(|m| take(word(m)));
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = 0x5a;
    take(u32::from_le_bytes(last));
    take(0);
    let mut out = [0; 8];
    out[..4].copy_from_slice(&state[0].to_le_bytes());
    out[4..].copy_from_slice(&state[1].to_le_bytes());
    out
}

fn word(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |w, b| w << 8 | u32::from(*b))
}

/// TTAK: temporal key and transmitter mixed with the upper 32 bits of the sequence counter.
fn phase_1(tk: &[u8; 16], ta: &Mac, tsc_high: u32) -> Zeroizing<[u16; 5]> {
    let key = |i: usize| u16::from_le_bytes([tk[i], tk[i + 1]]);
    let address = |i: usize| u16::from_le_bytes([ta[i], ta[i + 1]]);
    let mut t = Zeroizing::new([tsc_high as u16, (tsc_high >> 16) as u16, address(0), address(2), address(4)]);
    for i in 0..8u16 {
        let j = 2 * usize::from(i & 1);
        t[0] = t[0].wrapping_add(substitute(t[4] ^ key(j)));
        t[1] = t[1].wrapping_add(substitute(t[0] ^ key(4 + j)));
        t[2] = t[2].wrapping_add(substitute(t[1] ^ key(8 + j)));
        t[3] = t[3].wrapping_add(substitute(t[2] ^ key(12 + j)));
        t[4] = t[4].wrapping_add(substitute(t[3] ^ key(j))).wrapping_add(i);
    }
    t
}

/// The RC4 key: TTAK mixed with the lower 16 bits of the sequence counter.
fn phase_2(ttak: &[u16; 5], tk: &[u8; 16], tsc_low: u16) -> Zeroizing<[u8; 16]> {
    let key = |i: usize| u16::from_le_bytes([tk[2 * i], tk[2 * i + 1]]);
    let mut p = Zeroizing::new([0u16; 6]);
    p[..5].copy_from_slice(ttak);
    p[5] = ttak[4].wrapping_add(tsc_low);
    for i in 0..6 {
        let before = p[(i + 5) % 6];
        p[i] = p[i].wrapping_add(substitute(before ^ key(i)));
    }
    for i in 0..6 {
        let before = p[(i + 5) % 6] ^ if i < 2 { key(6 + i) } else { 0 };
        p[i] = p[i].wrapping_add(before.rotate_right(1));
    }
    let [high, low] = tsc_low.to_be_bytes();
    let mut out = Zeroizing::new([0; 16]);
    out[0] = high;
    out[1] = (high | 0x20) & 0x7f;
    out[2] = low;
    out[3] = ((p[5] ^ key(0)) >> 1) as u8;
    for (to, from) in out[4..].chunks_exact_mut(2).zip(p.iter()) {
        to.copy_from_slice(&from.to_le_bytes());
    }
    out
}

/// The substitution of 16 bits, made of two of 8 bits.
fn substitute(x: u16) -> u16 {
    let [high, low] = x.to_be_bytes();
    SUBSTITUTE[usize::from(low)] ^ SUBSTITUTE[usize::from(high)].swap_bytes()
}

/// The S-box of AES times 2 and times 3 in its field, a byte each.
static SUBSTITUTE: [u16; 256] = substitution_table();

const fn substitution_table() -> [u16; 256] {
    let mut table = [0; 256];
    // p runs through the powers of 3, q through those of its inverse.
    let (mut p, mut q) = (1u8, 1u8);
    loop {
        p = p ^ double(p);
        q ^= q << 1;
        q ^= q << 2;
        q ^= q << 4;
        if q & 0x80 != 0 {
            q ^= 0x09;
        }
        table[p as usize] = entry(q ^ q.rotate_left(1) ^ q.rotate_left(2) ^ q.rotate_left(3) ^ q.rotate_left(4) ^ 0x63);
        if p == 1 {
            break;
        }
    }
    table[0] = entry(0x63);
    table
}

const fn entry(s: u8) -> u16 {
    (double(s) as u16) << 8 | (double(s) ^ s) as u16
}

/// Times x modulo the polynomial of AES.
const fn double(x: u8) -> u8 {
    (x << 1) ^ ((x >> 7) * 0x1b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::testing::hex;

    #[test]
    fn mixing_vectors() {
        // IEEE 802.11-2020 J.2.3.
        for (tk, ta, high, low, ttak, seed) in [
            (
                "000102030405060708090a0b0c0d0e0f",
                "102233445566",
                0,
                0,
                "3dd2016e76f48697b2e8",
                "00200033ea8d2f60ca6d1374234a660b",
            ),
            (
                "000102030405060708090a0b0c0d0e0f",
                "102233445566",
                0,
                1,
                "3dd2016e76f48697b2e8",
                "00200190ffdc314389a9d9d074fd20aa",
            ),
            (
                "63893b250840b8ae0bd0fa7e61d2783e",
                "64f2eaeddc25",
                0x20dc_fd43,
                0xffff,
                "7c6749d79724b5e9b4f1",
                "ff7fff93810fc6e58f5dd326251544ce",
            ),
            (
                "63893b250840b8ae0bd0fa7e61d2783e",
                "64f2eaeddc25",
                0x20dc_fd44,
                0,
                "5a5d73a8a8592ec1dc8b",
                "002000498ca471fcfbfaa16e3610f005",
            ),
            (
                "983a16ef4facb351aa9ecc271d7309e2",
                "509c4b1727d9",
                0xf0a4_10fc,
                0x058c,
                "f2dfebb188d35923a07c",
                "05258cf4d85152f4d9af1a64f1d07021",
            ),
            (
                "c8adc16a8b4dda3b4dd5b65438359b05",
                "945e244e4d6e",
                0x8b15_73b7,
                0x30f8,
                "eff13f38a36460a976f3",
                "3030f8650da073ea614ea8f474ee0319",
            ),
        ] {
            let tk: [u8; 16] = hex(tk).try_into().unwrap();
            let mixed = phase_1(&tk, &hex(ta).try_into().unwrap(), high);
            let want: Vec<u16> = hex(ttak).chunks(2).map(|b| u16::from_be_bytes([b[0], b[1]])).collect();
            assert_eq!(mixed.to_vec(), want);
            assert_eq!(phase_2(&mixed, &tk, low).to_vec(), hex(seed));
        }
    }

    #[test]
    fn michael_vectors() {
        // IEEE 802.11-2020 Table J-3: each result is the next key.
        let mut key = [0; 8];
        for (message, mic) in [
            ("", "82925c1ca1d130b8"),
            ("M", "434721ca40639b3f"),
            ("Mi", "e8f9becae97e5d29"),
            ("Mic", "90038fc6cf13c1db"),
            ("Mich", "d55e100510128986"),
            ("Michael", "0a942b124ecaa546"),
        ] {
            key = michael(&key, &[], message.as_bytes());
            assert_eq!(key.to_vec(), hex(mic), "{message}");
        }
    }

    #[test]
    fn short_bodies() {
        let key = Key::new(&[7; 32]);
        let mut out = Vec::new();
        for n in 0..12 {
            assert!(!key.open(&[2; 6], &[0; 12][..n], false, &mut out), "{n}");
        }
        assert_eq!(check_michael(&[0; 8], &[0; 6], &[0; 6], 0, &[0; 7]), None);
    }
}
