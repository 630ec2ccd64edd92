//! The NetXRay, DOS Sniffer and usbmon text containers.

use wlanlens_fuzz::{read_container, run, seeds, Options};

fn main() {
    let all = [seeds::sniffer::netxrays(), seeds::sniffer::dos_files(), seeds::sniffer::usbmon_text()].concat();
    run("sniffer", &Options::parse(), all, |input, _| read_container(input));
}
