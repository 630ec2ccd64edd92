//! The pcapng container.

use wlanlens_fuzz::{read_container, run, seeds, Options};

fn main() {
    run("pcapng", &Options::parse(), seeds::pcapng(), |input, _| read_container(input));
}
