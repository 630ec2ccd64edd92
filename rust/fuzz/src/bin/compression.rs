//! gzip, zstd and lz4: the mutated input as it is, and packed so that the inside is mutated.

use wlanlens_fuzz::{read_container, run, seeds, Options};

fn main() {
    run("compression", &Options::parse(), seeds::packed(), |input, rng| match rng.below(8) {
        0 => read_container(&seeds::PACKERS[rng.below(3)](input)),
        1 => {
            let other = seeds::PACKERS[rng.below(3)](b"");
            read_container(&[input, &other, input].concat());
        }
        _ => read_container(input),
    });
}
