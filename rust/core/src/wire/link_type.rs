//! LINKTYPE_ values (tcpdump.org/linktypes.html).

pub const NULL: u16 = 0;
pub const ETHERNET: u16 = 1;
pub const PPP: u16 = 9;
pub const FDDI: u16 = 10;
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
pub const NFLOG: u16 = 239;
pub const USBPCAP: u16 = 249;
pub const LINUX_SLL2: u16 = 276;
