//! WEP: RC4 keyed with initialization vector and key, a CRC as integrity check (IEEE 802.11-2012 clause 11.2.2).

use flate2::Crc;
use rc4::{KeyInit, Rc4, StreamCipher};
use zeroize::Zeroizing;

/// Initialization vector and key identifier.
pub(super) const HEADER: usize = 4;
pub(super) const ICV: usize = 4;
const LONGEST_KEY: usize = 16;

/// Decrypt the bytes after the WEP header into `out`, without the ICV; returns whether the ICV is right. A `cut` body
/// has no ICV; the result is then true.
pub(super) fn open(key: &[u8], body: &[u8], cut: bool, out: &mut Vec<u8>) -> bool {
    let (Some(iv), Some(sealed)) = (body.first_chunk::<3>(), body.get(HEADER..)) else {
        return false;
    };
    if key.len() > LONGEST_KEY {
        return false;
    }
    let mut seed = Zeroizing::new([0; 3 + LONGEST_KEY]);
    seed[..3].copy_from_slice(iv);
    seed[3..3 + key.len()].copy_from_slice(key);
    open_with_seed(&seed[..3 + key.len()], sealed, cut, out)
}

/// RC4 and ICV under a whole seed, as TKIP uses them too.
pub(super) fn open_with_seed(seed: &[u8], sealed: &[u8], cut: bool, out: &mut Vec<u8>) -> bool {
    out.clear();
    let Ok(mut rc4) = Rc4::new_from_slice(seed) else {
        return false;
    };
    out.extend_from_slice(sealed);
    rc4.apply_keystream(out);
    if cut {
        return true;
    }
    let Some((data, icv)) = out.split_last_chunk::<ICV>() else {
        return false;
    };
    let mut crc = Crc::new();
    crc.update(data);
    let right = crc.sum() == u32::from_le_bytes(*icv);
    out.truncate(out.len() - ICV);
    right
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::testing::hex;

    #[test]
    fn the_example_of_annex_j() {
        // IEEE 802.11-2012 Table M-2: sample plaintext, key and ciphertext MPDU.
        let key = hex("fb029e3031323334");
        let mut body = key[..3].to_vec();
        body.push(0);
        body.extend(hex("f69c5806bd6ce84626bcbefb9474650aad1f7909b0f64d5f58a503a258b7ed22eb0ea64930d3a056a55742fcce141d485f8aa836dea18df42c5380805ad0c61a5d6f58f41040b24b7d1a693856ed0d4398e7aee3bf0e2a2ca8f7"));
        let plain = hex("aaaa0300000008004500004e661a00008011be640a0001220affffff00890089003a000080a601100001000000000000204543454a4548454346434550464545494546464343414341434143414341414100002000 01");
        let mut out = Vec::new();
        assert!(open(&key[3..], &body, false, &mut out));
        assert_eq!(out, plain);
        for n in 0..12 {
            assert!(!open(&key[3..], &body[..n], false, &mut out));
        }
        assert!(open(&key[3..], &body[..30], true, &mut out));
        assert_eq!(out[..], plain[..26]);
        assert!(!open(&[0; 17], &body, false, &mut out));
        body[20] ^= 1;
        assert!(!open(&key[3..], &body, false, &mut out));
    }
}
