//! Rate control: which rate a station tries next.

use crate::phy::Rate;

/// What a station learns of its own frames. One per destination.
pub trait RateControl: std::fmt::Debug + Send {
    /// The rate of attempt number `attempt` (0 first) of a frame.
    fn rate(&mut self, attempt: u32) -> Rate;
    /// An attempt was acknowledged.
    fn succeeded(&mut self);
    /// An attempt was not.
    fn failed(&mut self);
    /// The frame was given up.
    fn dropped(&mut self) {}
}

/// Always the same.
#[derive(Debug, Clone, Copy)]
pub struct Fixed(pub Rate);

impl RateControl for Fixed {
    fn rate(&mut self, _attempt: u32) -> Rate {
        self.0
    }
    fn succeeded(&mut self) {}
    fn failed(&mut self) {}
}
