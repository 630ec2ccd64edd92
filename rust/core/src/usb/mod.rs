//! From usbmon and USBPcap records to transfers: submissions joined with completions.

use arrow_array::RecordBatch;

use crate::notes::Notes;
use crate::table::urbs::UrbRows;
use crate::urb::UrbEvent;

/// Joins the URBs of one capture.
#[derive(Debug, Default)]
pub struct Tracker {
    rows: UrbRows,
    notes: Notes,
}

impl Tracker {
    /// The next record of the capture; `start_ns` is the trace's start.
    pub fn observe(&mut self, _event: &UrbEvent, _start_ns: i64) {}

    /// Hand out the rows that are settled.
    pub fn drain(&mut self, _out: &mut Vec<(&'static str, RecordBatch)>) {}

    /// The capture has ended: hand out everything.
    pub fn finish(&mut self, out: &mut Vec<(&'static str, RecordBatch)>) {
        out.push(("urbs", self.rows.finish()));
    }

    pub fn notes(&self) -> &Notes {
        &self.notes
    }
}
