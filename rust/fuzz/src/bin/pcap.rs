//! The pcap container.

use wlanlens_fuzz::{read_container, run, seeds, Options};

fn main() {
    run("pcap", &Options::parse(), seeds::pcap(), |input, _| read_container(input));
}
