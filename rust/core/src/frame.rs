//! One decoded 802.11 frame: the decoders fill it; the tables and the exchange tracker read it.

use crate::packet::Stop;
use crate::phy::Radio;

/// A MAC address.
pub type Mac = [u8; 6];

/// Bits of the frame control field, read as little endian (IEEE 802.11-2020 clause 9.2.4.1).
pub mod control {
    pub const VERSION: u16 = 0x0003;
    pub const TYPE: u16 = 0x000c;
    pub const MANAGEMENT: u16 = 0x0000;
    pub const CONTROL: u16 = 0x0004;
    pub const DATA: u16 = 0x0008;
    pub const EXTENSION: u16 = 0x000c;
    pub const SUBTYPE: u16 = 0x00f0;
    /// Data subtypes without a body: Null, CF-Ack and the like.
    pub const NO_DATA: u16 = 0x0040;
    pub const QOS: u16 = 0x0080;
    pub const TO_DS: u16 = 0x0100;
    pub const FROM_DS: u16 = 0x0200;
    pub const MORE_FRAGMENTS: u16 = 0x0400;
    pub const RETRY: u16 = 0x0800;
    pub const PROTECTED: u16 = 0x4000;
    /// In QoS data and management: an HT Control field follows.
    pub const ORDER: u16 = 0x8000;
    /// The subtype of a control frame extension, in the place of the flags (Table 9-2).
    pub const EXTENSION_SUBTYPE: u16 = 0x0f00;
    pub const DMG_DTS: u16 = 0x0600;
}

/// Subtypes of control frames, and of two others (Table 9-1).
pub mod subtype {
    pub const TRIGGER: u8 = 2;
    pub const CONTROL_EXTENSION: u8 = 6;
    pub const CONTROL_WRAPPER: u8 = 7;
    pub const BLOCK_ACK_REQUEST: u8 = 8;
    pub const BLOCK_ACK: u8 = 9;
    pub const PS_POLL: u8 = 10;
    pub const RTS: u8 = 11;
    pub const CTS: u8 = 12;
    pub const ACK: u8 = 13;
    pub const CF_END: u8 = 14;
    pub const CF_END_CF_ACK: u8 = 15;
    /// Of the extension type.
    pub const DMG_BEACON: u8 = 0;
    pub const S1G_BEACON: u8 = 1;
}

/// Bits of the QoS control field.
pub mod qos {
    pub const TID: u16 = 0x000f;
    pub const ACK_POLICY: u16 = 0x0060;
    pub const AMSDU: u16 = 0x0080;
    pub const MESH: u16 = 0x0100;
}

/// What a frame carries, as far as it can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(i8)]
pub enum Carries {
    /// Not known: damaged or cut off.
    #[default]
    Unknown = -1,
    /// A TCP segment with payload (or SYN, FIN).
    TcpData = 0,
    /// TCP segments without payload.
    TcpAck = 1,
    Udp = 2,
    OtherIp = 3,
    /// ARP, EAPOL and other protocols.
    Other = 4,
    Management = 5,
    Control = 6,
    /// Data without a body: Null and QoS Null.
    Null = 7,
    /// Encrypted, without a matching key.
    Protected = 8,
}

/// One 802.11 frame. Fields that were not captured are None.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Frame {
    /// 1-based number of the record in its file.
    pub number: u64,
    pub time_ns: Option<i64>,
    /// Length of the MPDU on the air with its FCS, whether the FCS was captured or not.
    pub mpdu_bytes: u32,
    /// The frame control field; None when not captured.
    pub control: Option<u16>,
    /// The Duration/ID field as on the air.
    pub duration: Option<u16>,
    pub address_1: Option<Mac>,
    pub address_2: Option<Mac>,
    pub address_3: Option<Mac>,
    pub address_4: Option<Mac>,
    /// Sequence number << 4 | fragment number.
    pub seq_ctl: Option<u16>,
    pub qos: Option<u16>,
    /// None: not captured, and not reported by the receiver.
    pub fcs_ok: Option<bool>,
    pub radio: Radio,
    pub carries: Carries,
    /// Hash of the body's first bytes as transmitted: the same in every capture of the frame.
    pub body_digest: Option<u32>,
    /// The record holds at least one row of `packets`.
    pub ip_packet: bool,
    /// Why decoding of the MAC header ended early.
    pub stop: Stop,
    /// Time on the air, by TXTIME of its PHY; set by `airtime`.
    pub airtime_ns: Option<u32>,
    /// Idle time before the frame; set by `airtime`.
    pub ifs_ns: Option<i64>,
}

impl Frame {
    /// Whether every given bit of the frame control field is set.
    pub fn has(&self, bits: u16) -> bool {
        self.control.is_some_and(|c| c & bits == bits)
    }

    /// Frame type: one of `control::MANAGEMENT`, `CONTROL`, `DATA`, `EXTENSION`.
    pub fn kind(&self) -> Option<u16> {
        self.control.map(|c| c & control::TYPE)
    }

    pub fn subtype(&self) -> Option<u8> {
        self.control.map(|c| ((c & control::SUBTYPE) >> 4) as u8)
    }

    pub fn is_data(&self) -> bool {
        self.kind() == Some(control::DATA)
    }

    pub fn seq(&self) -> Option<u16> {
        self.seq_ctl.map(|s| s >> 4)
    }

    pub fn fragment(&self) -> Option<u8> {
        self.seq_ctl.map(|s| (s & 0xf) as u8)
    }

    pub fn tid(&self) -> Option<u8> {
        self.qos.map(|q| (q & qos::TID) as u8)
    }

    pub fn retry(&self) -> bool {
        self.flag(control::RETRY) == Some(true)
    }

    /// A flag of the frame control field; None in frames that use its upper byte otherwise: control frame
    /// extensions and S1G beacons (Figures 9-4 and 9-6).
    pub fn flag(&self, bit: u16) -> Option<bool> {
        let other = match self.kind()? {
            control::CONTROL => self.subtype() == Some(subtype::CONTROL_EXTENSION),
            control::EXTENSION => self.subtype() == Some(subtype::S1G_BEACON),
            _ => false,
        };
        (!other).then(|| self.has(bit))
    }

    /// Receiver address; beacons of the extension type have none.
    pub fn ra(&self) -> Option<Mac> {
        self.address_1.filter(|_| self.kind() != Some(control::EXTENSION))
    }

    /// Transmitter address, the bandwidth signalling bit of control frames cleared.
    pub fn ta(&self) -> Option<Mac> {
        match self.kind()? {
            // A S1G beacon begins with its source (clause 9.3.4.3).
            control::EXTENSION => self.address_1.filter(|_| self.subtype() == Some(subtype::S1G_BEACON)),
            _ => self.address_2,
        }
    }

    /// Whether the body is an A-MSDU; None without a QoS field or body, where the bit is reserved.
    pub fn amsdu(&self) -> Option<bool> {
        self.qos.filter(|_| !self.has(control::NO_DATA)).map(|q| q & qos::AMSDU != 0)
    }

    /// Destination (Table 9-30): an A-MSDU's are in its subframes.
    pub fn da(&self) -> Option<Mac> {
        match self.kind()? {
            control::DATA if self.has(control::TO_DS) => self.address_3.filter(|_| self.amsdu() != Some(true)),
            control::DATA | control::MANAGEMENT => self.address_1,
            _ => None,
        }
    }

    /// Source (Table 9-30).
    pub fn sa(&self) -> Option<Mac> {
        let single = self.amsdu() != Some(true);
        match self.kind()? {
            control::DATA if self.has(control::TO_DS | control::FROM_DS) => self.address_4.filter(|_| single),
            control::DATA if self.has(control::FROM_DS) => self.address_3.filter(|_| single),
            control::DATA | control::MANAGEMENT => self.address_2,
            control::EXTENSION => self.ta(),
            _ => None,
        }
    }

    /// Basic service set (Table 9-30); none between access points, except in an A-MSDU.
    pub fn bssid(&self) -> Option<Mac> {
        match self.kind()? {
            control::MANAGEMENT => self.address_3,
            control::DATA => match (self.has(control::TO_DS), self.has(control::FROM_DS)) {
                (false, false) => self.address_3,
                (false, true) => self.address_2,
                (true, false) => self.address_1,
                (true, true) => self.address_3.filter(|_| self.amsdu() == Some(true)),
            },
            control::EXTENSION => self.address_1.filter(|_| self.subtype() == Some(subtype::DMG_BEACON)),
            control::CONTROL => match self.subtype()? {
                subtype::PS_POLL => self.address_1,
                subtype::CF_END | subtype::CF_END_CF_ACK => self.address_2,
                _ => None,
            },
            _ => None,
        }
    }
}

/// The elements of a management frame's body after its fixed fields, as (element ID, value), up to the first that runs past
/// the end (clause 9.4.2).
pub fn elements(body: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut rest = body;
    std::iter::from_fn(move || {
        let [id, length, behind @ ..] = rest else { return None };
        let (value, next) = behind.split_at_checked(usize::from(*length))?;
        rest = next;
        Some((*id, value))
    })
}
