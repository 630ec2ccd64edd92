//! USB captures with whole framing and damaged records: headers, URB tracking, network framings.

use wlanlens_fuzz::{mutate, read_whole, run_made, seeds, Options};

fn main() {
    let records = seeds::usb::records();
    let whole: Vec<Vec<u8>> = records
        .iter()
        .map(|(link_type, urbs)| {
            let timed: Vec<_> =
                urbs.iter().enumerate().map(|(i, u)| (i as u64 * 125, u.len() as u32, u.clone())).collect();
            seeds::pcap_at(*link_type, &timed)
        })
        .collect();
    let make = |files: &[Vec<u8>], rng: &mut _| match mutate::one_in(4, rng) {
        true => mutate::next(files, rng),
        false => mutate::capture(&records, rng),
    };
    run_made("urbs", &Options::parse(), whole, make, |input, rng| {
        read_whole(input, [1, 7, 65_536][rng.below(3)]);
    });
}
