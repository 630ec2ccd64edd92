//! Time on the air (TXTIME of every PHY) and the idle time between frames.

pub mod txtime;

use crate::frame::Frame;

/// Fills `airtime_ns` and `ifs_ns` of the frames of one capture, in order.
#[derive(Debug, Default)]
pub struct Timing {}

impl Timing {
    pub fn observe(&mut self, _frame: &mut Frame) {}
}
