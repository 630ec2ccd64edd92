//! wlanlens core: from captures to facts, as Arrow record batches.
//!
//! Rust establishes facts; thresholds and judgements are in Python. The only I/O is reading the capture.

pub mod airtime;
pub mod clock;
pub mod container;
pub mod crypto;
pub mod error;
pub mod exchange;
pub mod flow;
pub mod frame;
pub mod limits;
mod memory;
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
