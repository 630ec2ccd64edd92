//! The tables to which a connection writes its facts.

use super::host_queue::{Busy, HostQueues};
use super::pair_times::PairTimes;
use super::rows::SegmentBlocks;
use crate::notes::Notes;
use crate::table::tcp::{IntervalRows, RecoveryRows, TimeoutRows};

/// The tables, and what is known of pairs of hosts, borrowed for one packet of one connection.
pub struct Out<'a> {
    pub flow: u32,
    pub segments: &'a mut SegmentBlocks,
    pub timeouts: &'a mut TimeoutRows,
    pub recoveries: &'a mut RecoveryRows,
    pub intervals: &'a mut IntervalRows,
    pub notes: &'a mut Notes,
    pub pairs: &'a mut PairTimes,
    pub hosts: &'a mut HostQueues,
    /// Of the host of the packet.
    pub busy: Busy,
}
