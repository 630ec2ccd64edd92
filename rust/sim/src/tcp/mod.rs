//! TCP, both ends: state machines whose inputs and outputs are segments and timers. They are independent of the network.
//!
//! Sequence numbers are offsets: the SYN is 0, the first byte of data 1. The taps add the initial numbers.

mod config;
mod endpoint;
mod receiver;
mod rto;
mod scoreboard;
mod segment;
mod sender;
#[cfg(test)]
mod tests;
mod wheel;
mod writer;

pub use config::{Recovery, SendBuffer, TcpConfig};
pub use endpoint::{Endpoint, Role};
pub use rto::RtoFlavour;
pub use segment::{Segment, Trigger};
pub use sender::{Event, Variables, Wait};
pub use wheel::Wheel;
