//! The decoder of each link type, one record a time.

use wlanlens_core::container::Record;
use wlanlens_core::notes::Notes;
use wlanlens_core::packet::Packet;
use wlanlens_core::wire;
use wlanlens_fuzz::{rng::Rng, run, seeds, Options};

fn main() {
    let options = Options::parse();
    let all = 0..=u16::MAX;
    let types: Vec<u16> = match options.link_type {
        Some(t) => vec![t],
        None => all.filter(|t| wire::supported(*t)).collect(),
    };
    let mut frames: Vec<Vec<u8>> = seeds::frames().into_iter().map(|f| f.1.concat()).collect();
    for records in [seeds::air::records(), seeds::usb::records()] {
        frames.extend(records.into_iter().flat_map(|r| r.1));
    }
    run("wire", &options, frames, |input, rng| {
        // Any frame to any decoder: the header of one is random bytes for another.
        for link_type in &types {
            decode(*link_type, input, rng);
        }
    });
}

fn decode(link_type: u16, data: &[u8], rng: &mut Rng) {
    let wire_bytes = match rng.below(4) {
        0 => rng.next() as u32,
        1 => data.len() as u32 + rng.below(2000) as u32,
        _ => data.len() as u32,
    };
    let record = Record {
        time_ns: Some(1_700_000_000_000_000_000),
        wire_bytes,
        data,
        link_type,
        interface: 0,
        fcs_bytes: [None, Some(0), Some(4), Some(255)][rng.below(4)],
        outgoing: None,
        offset: 0,
        radio: None,
    };
    let mut notes = Notes::default();
    let mut packets = 0;
    wire::decode(&record, 1, &mut wire::State::default(), &mut notes, &mut |_: &Packet| packets += 1);
    assert!(packets <= data.len().max(1), "every packet has a header in the record");
}
