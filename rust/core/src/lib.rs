//! wlanlens core: captures in, facts out, as Arrow record batches.
//!
//! Rust establishes facts; every threshold and verdict is Python's. No I/O but reading the capture.

pub mod airtime;
pub mod container;
pub mod crypto;
pub mod error;
pub mod exchange;
pub mod flow;
pub mod frame;
pub mod limits;
pub mod networks;
pub mod notes;
pub mod packet;
pub mod phy;
pub mod reader;
#[macro_use]
pub mod table;
pub mod pairing;
pub mod urb;
pub mod usb;
pub mod wire;
