//! Reader, decoder, TCP tracking and tables together.

use wlanlens_fuzz::{read_whole, run, seeds, Options};

fn main() {
    let all = [
        seeds::pcap(),
        seeds::pcapng(),
        seeds::packed(),
        seeds::connections(),
        seeds::sniffer::netxrays(),
        seeds::sniffer::dos_files(),
        seeds::sniffer::usbmon_text(),
    ]
    .concat();
    run("whole", &Options::parse(), all, |input, rng| {
        let rows = [1, 7, 65_536][rng.below(3)];
        read_whole(input, rows);
    });
}
