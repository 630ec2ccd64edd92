//! A host's USB adapter: its bus, the URBs in progress, the frames that it holds.

use std::collections::VecDeque;

use crate::config;
use crate::dcf::StationId;
use crate::engine::{Alarm, Ns};
use crate::packet::{Mac, Packet};
use crate::usb_host::UsbHost;

/// A submitted URB.
#[derive(Debug, Clone, Copy)]
pub(super) struct Urb {
    pub id: u64,
    pub submitted: Ns,
    pub packet: Option<Packet>,
    pub bytes: u32,
    /// Packets in the adapter for the air when it took this one.
    pub found: u32,
}

/// A host's USB adapter.
#[derive(Debug)]
pub(super) struct Adapter {
    pub station: StationId,
    pub node: usize,
    pub config: config::Usb,
    pub host: UsbHost,
    pub bssid: Mac,
    /// Outstanding, the oldest first.
    pub out: VecDeque<Urb>,
    pub posted: VecDeque<Urb>,
    /// Number of OUT packets that the adapter has.
    pub taken: usize,
    /// Frames for the host.
    pub received: VecDeque<Packet>,
    /// Packets that the driver passes up.
    pub rising: VecDeque<Packet>,
    pub driver: Ns,
    /// The driver handles one transfer at a time.
    pub busy_until: Ns,
    pub plan: Alarm,
    pub urbs: u64,
}

impl Adapter {
    pub fn new(station: StationId, node: usize, bssid: Mac, config: config::Usb, host: UsbHost) -> Self {
        Adapter {
            station,
            node,
            driver: config::seconds(config.driver_s),
            config,
            host,
            bssid,
            out: VecDeque::new(),
            posted: VecDeque::new(),
            taken: 0,
            received: VecDeque::new(),
            rising: VecDeque::new(),
            busy_until: 0,
            plan: Alarm::default(),
            urbs: 0,
        }
    }

    /// When the driver handles something that arrives then.
    pub fn works(&mut self, at: Ns) -> Ns {
        self.busy_until = self.busy_until.max(at);
        self.busy_until
    }

    /// Addresses in kernel memory, reused in turn.
    pub fn next_id(&mut self) -> u64 {
        self.urbs += 1;
        0xffff_8800_0000_0000 + (self.urbs % 64) * 0xc0
    }
}
