//! Wire formats: from the bytes of a record to IP packets.
//!
//! One protocol a file. Each decoder reads its header from the rest of the record and returns whether there is a row.
//!
//! Some decoders call each other: a header names the protocol of its payload, and tunnels lead back (IP in GRE in IP,
//! Ethernet in GRE, any link type in PPI). These are the only modules of this crate that import each other.

mod avs;
pub mod beacon;
pub mod block_ack;
mod checked_senders;
mod checksum;
mod decoder;
mod digest;
mod dot11;
mod elements;
mod ethernet;
mod fcs;
mod fddi;
mod fragments;
mod gre;
#[cfg(test)]
mod hostile;
mod icmp;
mod interfaces;
mod ip;
mod ipv4;
mod ipv6;
mod link_type;
mod llc;
mod mac_header;
mod mpls;
mod nflog;
mod null;
mod ppi;
mod ppp;
mod prism;
mod protocol;
mod radio_header;
mod radiotap;
mod sink;
mod sll;
mod state;
mod tcp;
#[cfg(test)]
mod testing;
mod udp;
mod usb;
mod usb_net;
mod usbmon;
mod usbpcap;
mod view;

use crate::container::Record;
use crate::notes::Notes;
use crate::packet::{Layer, Stop};

use decoder::{Decoder, Found, LinkDecoder};
use view::View;

pub use sink::Sink;
pub use state::State;

/// Decode one record and pass every IP packet, frame and URB event in it to `sink`.
///
/// A record that is damaged below IP gives one packet with `stop` set; a valid record of another
/// protocol (ARP, a beacon) gives none and is counted by the caller.
pub fn decode(record: &Record<'_>, number: u64, state: &mut State, notes: &mut Notes, sink: &mut dyn Sink) {
    let mut d = Decoder::new(record, number, state, notes, sink);
    let wire = usize::try_from(record.wire_bytes).unwrap_or(usize::MAX);
    let mut view = View::new(record.data, wire);
    let mut intact = None;
    if let Some(bytes) = record.fcs_bytes.filter(|_| !has_own_fcs(record.link_type)) {
        if record.link_type == link_type::ETHERNET {
            intact = fcs::of_ethernet(&mut d, view);
        }
        view = view.clip(view.wire().saturating_sub(usize::from(bytes)));
    }
    d.packet.intact = intact;
    let found = link(&mut d, record.link_type, view);
    if intact == Some(false) {
        if d.unproven {
            // Nothing in it is verified: write no row from damaged bytes.
            return;
        }
        (d.packet.stop, d.packet.stop_layer) = (Stop::BadFcs, Layer::Link);
    }
    d.finish(found);
}

/// Whether records of this LINKTYPE_ can be decoded.
pub fn supported(link_type: u16) -> bool {
    decoder_of(link_type).is_some()
}

/// Link types whose decoder checks and removes the frame check sequence itself.
fn has_own_fcs(link_type: u16) -> bool {
    use link_type::{IEEE802_11, IEEE802_11_AVS, IEEE802_11_PRISM, IEEE802_11_RADIOTAP, PPI};
    matches!(link_type, IEEE802_11 | IEEE802_11_RADIOTAP | IEEE802_11_PRISM | IEEE802_11_AVS | PPI)
}

fn decoder_of(link_type: u16) -> Option<LinkDecoder> {
    Some(match link_type {
        link_type::ETHERNET => ethernet::ethernet,
        link_type::FDDI => fddi::fddi,
        link_type::NFLOG => nflog::nflog,
        link_type::NULL | link_type::LOOP => null::null,
        link_type::RAW | link_type::RAW_BSD | link_type::RAW_OPENBSD => ip::ip,
        link_type::IPV4 => ipv4::ipv4,
        link_type::IPV6 => ipv6::ipv6,
        link_type::PPP | link_type::PPP_HDLC | link_type::C_HDLC => ppp::hdlc,
        link_type::PPP_WITH_DIR => ppp::with_direction,
        link_type::PPP_ETHER => ppp::pppoe,
        link_type::LINUX_SLL => sll::sll,
        link_type::LINUX_SLL2 => sll::sll2,
        link_type::IEEE802_11 => dot11::dot11,
        link_type::IEEE802_11_RADIOTAP => radiotap::radiotap,
        link_type::IEEE802_11_PRISM => prism::prism,
        link_type::IEEE802_11_AVS => avs::avs,
        link_type::PPI => ppi::ppi,
        link_type::USB_LINUX => usbmon::short,
        link_type::USB_LINUX_MMAPPED => usbmon::long,
        link_type::USBPCAP => usbpcap::usbpcap,
        _ => return None,
    })
}

fn link(d: &mut Decoder<'_>, link_type: u16, view: View<'_>) -> Found {
    match decoder_of(link_type) {
        Some(decode) => decode(d, view),
        None => d.damaged(Stop::UnknownType, Layer::Link),
    }
}
