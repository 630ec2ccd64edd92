//! TCP facts: from packets to `segments`, `timeouts`, `recoveries`, `intervals` and `flows`, in one pass.

pub mod counters;
pub mod moments;
pub mod sent_ranges;

use arrow_array::RecordBatch;

use crate::notes::Notes;
use crate::packet::Packet;

/// Which connection a packet belongs to and whether it goes from b to a.
pub type FlowId = (u32, bool);

/// Follows every TCP connection of one capture.
#[derive(Debug, Default)]
pub struct Tracker {
    notes: Notes,
}

impl Tracker {
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Observe one packet; returns its connection when it is TCP.
    pub fn observe(&mut self, _packet: &Packet, _start_ns: i64) -> Option<FlowId> {
        None
    }

    /// Batches whose rows are final, as (table, rows).
    pub fn drain(&mut self, _out: &mut Vec<(&'static str, RecordBatch)>) {}

    /// Close every flow and hand out everything that is left.
    pub fn finish(&mut self, _out: &mut Vec<(&'static str, RecordBatch)>) {}
}
