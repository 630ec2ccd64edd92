//! Geometry of clock comparison: the lines of offset and drift that agree with pairs of timestamps.

mod hull;
mod region;

pub use hull::hull;
pub use region::{Limit, Region};
