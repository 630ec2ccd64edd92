//! From frames to exchanges: every attempt to bring one MSDU from station to station, and what became of it.

use arrow_array::RecordBatch;

use crate::frame::Frame;
use crate::notes::Notes;
use crate::table::exchanges::ExchangeRows;

/// Follows the stations of one capture.
#[derive(Debug, Default)]
pub struct Tracker {
    rows: ExchangeRows,
    notes: Notes,
}

impl Tracker {
    /// The next frame of the capture; `body` is what was captured behind its MAC header, `flow` the TCP connection of
    /// the segment it carries and whether that goes from b to a. `start_ns` is the trace's start.
    pub fn observe(&mut self, _frame: &Frame, _body: &[u8], _flow: Option<(u32, bool)>, _start_ns: i64) {}

    /// Hand out the rows that are settled.
    pub fn drain(&mut self, _out: &mut Vec<(&'static str, RecordBatch)>) {}

    /// The capture has ended: hand out everything.
    pub fn finish(&mut self, out: &mut Vec<(&'static str, RecordBatch)>) {
        out.push(("exchanges", self.rows.finish()));
    }

    pub fn notes(&self) -> &Notes {
        &self.notes
    }
}
