//! Wire formats: from the bytes of a record to IP packets.
//!
//! One protocol a file. Each decoder takes what is left of the record and answers whether there is a row.

mod avs;
pub mod beacon;
pub mod block_ack;
mod decoder;
mod digest;
mod dot11;
mod elements;
mod ethernet;
mod fcs;
mod fragments;
mod gre;
mod heard;
#[cfg(test)]
mod hostile;
mod icmp;
mod interfaces;
mod ip;
mod ipv4;
mod ipv6;
mod llc;
mod mac_header;
mod mpls;
mod null;
mod ppi;
mod ppp;
mod prism;
mod radiotap;
mod sll;
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
use crate::crypto::keys::Keys;
use crate::crypto::Crypto;
use crate::frame::Frame;
use crate::notes::{NoteKind, Notes};
use crate::packet::{Layer, Packet, Stop};
use crate::urb::UrbEvent;

use decoder::{Decoder, Found};
use fragments::Fragments;
use view::View;

/// LINKTYPE_ values (tcpdump.org/linktypes.html).
mod link_type {
    pub const NULL: u16 = 0;
    pub const ETHERNET: u16 = 1;
    pub const PPP: u16 = 9;
    /// DLT_RAW of most systems and of OpenBSD, written unmapped by old libpcap.
    pub const RAW_BSD: u16 = 12;
    pub const RAW_OPENBSD: u16 = 14;
    pub const PPP_HDLC: u16 = 50;
    pub const PPP_ETHER: u16 = 51;
    pub const RAW: u16 = 101;
    pub const C_HDLC: u16 = 104;
    pub const IEEE802_11: u16 = 105;
    pub const LOOP: u16 = 108;
    pub const LINUX_SLL: u16 = 113;
    pub const IEEE802_11_PRISM: u16 = 119;
    pub const IEEE802_11_RADIOTAP: u16 = 127;
    pub const IEEE802_11_AVS: u16 = 163;
    pub const USB_LINUX: u16 = 189;
    pub const PPI: u16 = 192;
    pub const PPP_WITH_DIR: u16 = 204;
    pub const USB_LINUX_MMAPPED: u16 = 220;
    pub const IPV4: u16 = 228;
    pub const IPV6: u16 = 229;
    pub const USBPCAP: u16 = 249;
    pub const LINUX_SLL2: u16 = 276;
}

/// Who takes what is found in a record.
pub trait Sink {
    /// Every IP packet; an A-MSDU holds several.
    fn packet(&mut self, packet: &Packet);

    /// The 802.11 frame that the record is, after its packets; `body` is what was captured behind the MAC header,
    /// without the FCS. The sink fills in what it knows of the frame's time.
    fn frame(&mut self, _frame: &mut Frame, _body: &[u8]) {}

    /// The USB record, after its packets.
    fn urb(&mut self, _event: &UrbEvent) {}
}

/// A closure takes the packets alone.
impl<F: FnMut(&Packet)> Sink for F {
    fn packet(&mut self, packet: &Packet) {
        self(packet);
    }
}

/// What decoding remembers from record to record.
#[derive(Default)]
pub struct State {
    usb: usb_net::State,
    interfaces: interfaces::Interfaces,
    crypto: Crypto,
    fragments: Fragments,
}

impl State {
    /// With keys for protected frames.
    pub fn new(keys: Keys) -> State {
        State { crypto: Crypto::new(keys), ..State::default() }
    }

    /// What only the records together tell.
    pub fn notes(&self) -> Notes {
        let mut notes = self.crypto.notes();
        match self.fragments.unfinished() {
            0 => {}
            n => notes.add_many(NoteKind::WlanFragment, n, 0, 0),
        }
        notes
    }
}

/// Decode one record, handing every IP packet, frame and URB event that it holds to `sink`.
///
/// A record that is damaged below IP gives one packet with `stop` set; a sound record of another
/// protocol (ARP, a beacon) gives none and is counted by the caller.
pub fn decode(record: &Record<'_>, number: u64, state: &mut State, notes: &mut Notes, sink: &mut dyn Sink) {
    let mut d = Decoder::new(record, number, state, notes, sink);
    let wire = usize::try_from(record.wire_bytes).unwrap_or(usize::MAX);
    let mut view = View::new(record.data, wire);
    if let Some(fcs) = record.fcs_bytes.filter(|_| !has_own_fcs(record.link_type)) {
        view = view.clip(view.wire().saturating_sub(usize::from(fcs)));
    }
    let found = link(&mut d, record.link_type, view);
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

type LinkDecoder = for<'a> fn(&mut Decoder<'_>, View<'a>) -> Found;

fn decoder_of(link_type: u16) -> Option<LinkDecoder> {
    Some(match link_type {
        link_type::ETHERNET => ethernet::ethernet,
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
