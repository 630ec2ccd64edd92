//! 802.11 captures with whole framing and damaged frames: headers, airtime, exchanges and decryption.

use wlanlens_fuzz::{mutate, read_with_keys, run_made, seeds, Options};

fn main() {
    let records = seeds::air::records();
    let whole: Vec<Vec<u8>> = records
        .iter()
        .map(|(link_type, frames)| {
            let timed: Vec<_> =
                frames.iter().enumerate().map(|(i, f)| (i as u64 * 500, f.len() as u32, f.clone())).collect();
            seeds::pcap_at(*link_type, &timed)
        })
        .collect();
    let make = |files: &[Vec<u8>], rng: &mut _| match mutate::one_in(4, rng) {
        true => mutate::next(files, rng),
        false => mutate::capture(&records, rng),
    };
    run_made("air", &Options::parse(), whole, make, |input, rng| {
        let keys = &seeds::crypto::KEYS[..rng.below(seeds::crypto::KEYS.len() + 1)];
        read_with_keys(input, [1, 7, 65_536][rng.below(3)], keys);
    });
}
