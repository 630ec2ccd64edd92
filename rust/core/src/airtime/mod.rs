//! Time on the air (TXTIME of every PHY) and the idle time between PPDUs.
//!
//! The MPDUs of an A-MPDU share one PPDU: the first has the preamble, each later one the time that its delimiter, its bytes and the
//! padding before it (clause 9.7.1) add to the PPDU. So the times of the captured MPDUs sum to the PPDU's TXTIME;
//! if MPDUs were missed the sum is smaller. If only the L-SIG gives the duration (several users), the
//! first MPDU has all of it.

mod columns;
mod idle;
mod stamps;
pub mod sums;
pub mod trials;
pub mod txtime;
pub mod vectors;

use crate::frame::Frame;
use crate::limits;
use crate::notes::{NoteKind, Notes};
use crate::phy::Phy;

use idle::{Idle, Timed};
pub use stamps::Stamps;

/// Bytes of an MPDU delimiter (clause 9.7.1).
const DELIMITER: u32 = 4;

/// Sets `airtime_ns` and `ifs_ns` of the frames of one capture, in order.
#[derive(Debug, Default)]
pub struct Timing {
    ppdu: Ppdu,
    idle: Idle,
    notes: Notes,
}

/// The PPDU whose MPDUs are arriving.
#[derive(Debug, Default)]
struct Ppdu {
    /// Its A-MPDU's number; None outside.
    ampdu: Option<u32>,
    modulation: (Option<Phy>, Option<u8>),
    mpdus: u32,
    psdu_bytes: u32,
    total_ns: u32,
}

impl Timing {
    /// Process the next frame, whose row will be `row` of the batch.
    pub fn observe(&mut self, f: &mut Frame, row: usize) {
        let radio = &f.radio;
        if self.ppdu.mpdus < limits::AMPDU_MPDUS && self.continues(f) {
            let psdu_bytes = self.ppdu.psdu_bytes.next_multiple_of(4).saturating_add(DELIMITER + f.mpdu_bytes);
            if let Some(total_ns) = txtime::txtime_ns(&radio.ppdu, psdu_bytes) {
                f.airtime_ns = Some(total_ns.saturating_sub(self.ppdu.total_ns));
                self.ppdu.mpdus += 1;
                self.ppdu.psdu_bytes = psdu_bytes;
                self.ppdu.total_ns = total_ns;
                self.idle.more(f, total_ns);
                return self.note(f);
            }
        }
        let aggregated = radio.ampdu.is_some() || txtime::always_aggregates(radio.ppdu.phy);
        let psdu_bytes = f.mpdu_bytes.saturating_add(if aggregated { DELIMITER } else { 0 });
        // A record without an MPDU: it is unknown whether the PPDU had none or it was not captured.
        let times = txtime::times(&radio.ppdu, psdu_bytes).filter(|_| f.mpdu_bytes > 0);
        let total_ns = times.map(|t| t.total_ns);
        self.ppdu = Ppdu {
            ampdu: radio.ampdu,
            modulation: (radio.ppdu.phy, radio.ppdu.mcs),
            mpdus: 1,
            psdu_bytes,
            total_ns: total_ns.unwrap_or(0),
        };
        f.airtime_ns = total_ns;
        let timed = times.map(|times| Timed { times, open_end: txtime::extension_unknown(&f.radio.ppdu) });
        self.idle.begin(f, timed, row, &mut self.notes);
        self.note(f);
    }

    /// Whether a frame belongs to the A-MPDU before it. Some drivers number MPDUs, not A-MPDUs: then the same timestamp,
    /// to the microsecond, and the same modulation show it, since no two PPDUs begin at once.
    fn continues(&self, f: &Frame) -> bool {
        let (Some(before), Some(now)) = (self.ppdu.ampdu, f.radio.ampdu) else { return false };
        let modulation = (f.radio.ppdu.phy, f.radio.ppdu.mcs);
        !f.radio.transmitted && self.ppdu.modulation == modulation && self.idle.same_ppdu(f, before == now)
    }

    fn note(&mut self, f: &Frame) {
        let ppdu = &f.radio.ppdu;
        if f.airtime_ns.is_none() {
            self.notes.add(NoteKind::AirtimeUnknown, f.number, 0);
        } else if txtime::assumes(ppdu) {
            self.notes.add(NoteKind::AirtimeAssumes, f.number, 0);
        }
        if f.airtime_ns.is_some() && txtime::extension_unknown(ppdu) {
            self.notes.add(NoteKind::PacketExtensionUntold, f.number, 0);
        }
    }

    /// Idle times found later, by row of the batch.
    pub fn settled(&mut self) -> impl Iterator<Item = (usize, i64)> + '_ {
        self.idle.settled.drain(..)
    }

    /// Whether idle times of rows of the batch may still be found; limited by `limits::HELD_FRAMES`.
    pub fn waiting(&self) -> bool {
        self.idle.waiting()
    }

    /// The capture has ended: decide what is possible.
    pub fn finish(&mut self) {
        self.idle.finish(&mut self.notes);
    }

    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// The instant of a PPDU that the timestamps mark; None before any frame showed it.
    pub fn stamps(&self) -> Option<Stamps> {
        self.idle.stamps()
    }
}

#[cfg(test)]
mod tests;
