//! The captures of the capture points: real bytes in real formats.

mod clock;
mod ethernet;
mod gather;
mod head;
mod ip;
mod pcap;
mod prism2;
mod radiotap;
mod usbmon;

pub use clock::{TapClock, TapConfig};
pub use ethernet::ethernet;
pub use gather::Gather;
pub use ip::{ip_bytes, write_ip, Names};
pub use pcap::PcapFile;
pub use prism2::{in_bytes, out_bytes, prism2_frame, Prism2};
pub use radiotap::{air_frame, Reception, Roles, LINKTYPE_RADIOTAP};
pub use usbmon::{urb_record, UrbRecord, IN, LINKTYPE_USBMON};

/// LINKTYPE_ETHERNET.
pub const LINKTYPE_ETHERNET: u32 = 1;
