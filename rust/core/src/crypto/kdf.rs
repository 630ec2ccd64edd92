//! Key derivation of the robust security network (IEEE 802.11-2020 clause 12.7.1).

use aes::Aes128;
use cmac::Cmac;
use hmac::digest::OutputSizeUser;
use hmac::{EagerHash, Hmac, KeyInit, Mac};
use md5::Md5;
use pbkdf2::pbkdf2_hmac;
use sha1::Sha1;
use sha2::Sha256;
use zeroize::Zeroizing;

use super::keys::Pmk;

/// The PMK of a passphrase and a network's name (clause J.4.1).
pub(super) fn pmk_of_passphrase(passphrase: &[u8], ssid: &[u8]) -> Pmk {
    const ITERATIONS: u32 = 4096;
    let mut out = Zeroizing::new([0; 32]);
    pbkdf2_hmac::<Sha1>(passphrase, ssid, ITERATIONS, out.as_mut());
    out
}

/// Longest output of the two functions below: 512 bits of a pairwise key, rounded up to whole SHA-1 digests.
const LONGEST: usize = 80;

/// The buffer of an expanded key: its first bytes are the key.
pub(super) type Expanded = Zeroizing<[u8; LONGEST]>;

/// PRF-n of clause 12.7.1.2: HMAC-SHA1 over label, zero, data and a counter byte.
pub(super) fn prf(key: &[u8], label: &[u8], data: &[u8]) -> Expanded {
    expand::<Sha1>(key, |i| [label, &[0], data, &[i]].concat())
}

/// KDF-SHA-256-n of clause 12.7.1.7.2, for `bits` of output.
pub(super) fn kdf(key: &[u8], label: &[u8], data: &[u8], bits: u16) -> Expanded {
    expand::<Sha256>(key, |i| [&[i.wrapping_add(1), 0], label, data, &bits.to_le_bytes()].concat())
}

fn expand<D: EagerHash>(key: &[u8], message: impl Fn(u8) -> Vec<u8>) -> Expanded {
    let mut out = Zeroizing::new([0; LONGEST]);
    let step = <Hmac<D> as OutputSizeUser>::output_size();
    for (i, chunk) in out.chunks_mut(step).enumerate() {
        let digest = hmac::<D>(key, &message(i as u8));
        let n = chunk.len();
        chunk.copy_from_slice(&digest[..n]);
    }
    out
}

fn hmac<D: EagerHash>(key: &[u8], message: &[u8]) -> Zeroizing<Vec<u8>> {
    // HMAC takes keys of any length: the error cannot happen.
    let Ok(mut mac) = Hmac::<D>::new_from_slice(key) else {
        return Zeroizing::new(vec![0; <Hmac<D> as OutputSizeUser>::output_size()]);
    };
    mac.update(message);
    Zeroizing::new(mac.finalize().into_bytes().to_vec())
}

/// The MIC algorithm of an EAPOL-Key frame (Table 12-10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Integrity {
    /// Key descriptor version 1.
    HmacMd5,
    /// Version 2.
    HmacSha1,
    /// Version 3, and the AKMs of SAE.
    AesCmac,
}

/// The 16 bytes of the MIC of an EAPOL-Key frame whose MIC field is zero.
pub(super) fn mic(integrity: Integrity, kck: &[u8; 16], message: &[u8]) -> [u8; 16] {
    let digest = match integrity {
        Integrity::HmacMd5 => hmac::<Md5>(kck, message),
        Integrity::HmacSha1 => hmac::<Sha1>(kck, message),
        Integrity::AesCmac => {
            let mut mac = Cmac::<Aes128>::new(kck.into());
            mac.update(message);
            Zeroizing::new(mac.finalize().into_bytes().to_vec())
        }
    };
    let mut out = [0; 16];
    out.copy_from_slice(&digest[..16]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::testing::hex;

    #[test]
    fn passphrases_of_annex_j() {
        // IEEE 802.11-2020 Table J-9.
        for (passphrase, ssid, psk) in [
            ("password", "IEEE", "f42c6fc52df0ebef9ebb4b90b38a5f902e83fe1b135a70e23aed762e9710a12e"),
            ("ThisIsAPassword", "ThisIsASSID", "0dc0d6eb90555ed6419756b9a15ec3e3209b63df707dd508d14581f8982721af"),
            (
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                "ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ",
                "becb93866bb8c3832cb777c2f559807c8c59afcb6eae734885001300a981cc62",
            ),
        ] {
            assert_eq!(pmk_of_passphrase(passphrase.as_bytes(), ssid.as_bytes()).to_vec(), hex(psk));
        }
    }

    #[test]
    fn prf_of_annex_j() {
        // IEEE 802.11-2020 Table J-6, test cases 1 to 3.
        for (key, data, want) in [
            (
                vec![0x0b; 20],
                &b"Hi There"[..],
                "bcd4c650b30b9684951829e0d75f9d54b862175ed9f00606e17d8da35402ffee75df78c3d31e0f889f012120c0862beb67753e7439ae242edb8373698356cf5a",
            ),
            (
                b"Jefe".to_vec(),
                b"what do ya want for nothing?",
                "51f4de5b33f249adf81aeb713a3c20f4fe631446fabdfa58244759ae58ef9009a99abf4eac2ca5fa87e692c440eb40023e7babb206d61de7b92f41529092b8fc",
            ),
            (
                vec![0xaa; 20],
                &[0xdd; 50],
                "e1ac546ec4cb636f9976487be5c86be17a0252ca5d8d8df12cfb0473525249ce9dd8d177ead710bc9b590547239107aef7b4abd43d87f0a68f1cbd9e2b6f7607",
            ),
        ] {
            assert_eq!(prf(&key, b"prefix", data)[..64].to_vec(), hex(want));
        }
    }

    #[test]
    fn kdf_by_its_definition() {
        // One HMAC over counter, label, context and length in bits.
        let want = hmac::<Sha256>(b"key", b"\x01\0labelctx\x80\x01");
        assert_eq!(kdf(b"key", b"label", b"ctx", 384)[..32], want[..]);
    }
}
