//! The records of one capture, and their decoders.

use super::decoded::Decoded;
use crate::container::RecordSource;
use crate::error::{Error, ErrorKind, Result};
use crate::notes::{NoteKind, Notes};
use crate::wire;

/// The progress so far, also for the capture's description.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    pub records: u64,
    /// Records without an IP packet (ARP, beacons ...).
    pub other_records: u64,
    /// Bytes of records read, after decompression.
    pub offset: u64,
    pub first_ns: Option<i64>,
    pub last_ns: Option<i64>,
    pub wire_bytes: u64,
    /// LINKTYPE_ values seen with their record counts.
    pub link_types: Vec<(u16, u64)>,
}

pub struct Input {
    pub source: Box<dyn RecordSource>,
    pub wire: wire::State,
    pub notes: Notes,
    pub progress: Progress,
    /// No record is left.
    pub ended: bool,
}

impl Input {
    pub fn new(source: Box<dyn RecordSource>) -> Self {
        Input {
            source,
            wire: wire::State::default(),
            notes: Notes::default(),
            progress: Progress::default(),
            ended: false,
        }
    }

    /// Decode records until this many packets or records are held, or none is left.
    pub fn decode(&mut self, out: &mut Decoded, most: usize) -> Result<()> {
        let Input { source, wire, notes, progress, .. } = self;
        while out.rows.len() < most && out.records < most {
            // Used where it was returned: copying a new record for every packet is slow.
            let next = source.next_record(notes);
            let record = match &next {
                Ok(Some(record)) => record,
                Ok(None) => {
                    self.ended = true;
                    break;
                }
                Err(_) => return next.map(|_| ()),
            };
            out.records += 1;
            progress.records += 1;
            progress.offset = record.offset;
            progress.wire_bytes = progress.wire_bytes.saturating_add(u64::from(record.wire_bytes));
            match progress.link_types.iter_mut().find(|l| l.0 == record.link_type) {
                Some(l) => l.1 += 1,
                None if wire::supported(record.link_type) => progress.link_types.push((record.link_type, 1)),
                None if progress.records == 1 => {
                    return Err(Error::new(
                        ErrorKind::UnsupportedLinkType,
                        format!("link type {} is not supported", record.link_type),
                    )
                    .at(record.offset)
                    .next("see `wlanlens list formats` for the supported ones"));
                }
                None => {
                    notes.add(NoteKind::UnsupportedLinkType, progress.records, record.offset);
                    continue;
                }
            }
            if let Some(t) = record.time_ns {
                if progress.first_ns.is_none() {
                    progress.first_ns = Some(t);
                }
                if progress.last_ns.is_some_and(|last| t < last) {
                    notes.add(NoteKind::TimeBackwards, progress.records, record.offset);
                }
                progress.last_ns = Some(t);
            }
            out.begin_record(progress.first_ns.unwrap_or(0));
            wire::decode(record, progress.records, wire, notes, out);
            if !out.has_packet() {
                progress.other_records += 1;
            }
        }
        Ok(())
    }
}
