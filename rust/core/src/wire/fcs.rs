//! The frame check sequence (IEEE 802.11-2020 clause 9.2.4.9): announced, or found by its value.

use flate2::Crc;

use crate::limits;
use crate::notes::NoteKind;

use super::decoder::Decoder;
use super::heard::Heard;
use super::view::View;

pub(super) const BYTES: usize = 4;
/// The shortest frame: an ACK without its FCS.
const SHORTEST: usize = 10;

/// What is known of one frame's FCS.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Settled {
    /// Whether the frame's bytes end with it; None while nobody knows.
    pub at_end: Option<bool>,
    /// Whether it is right; None when it was not captured and the receiver does not say.
    pub ok: Option<bool>,
}

/// Captures, or their interfaces, that announce nothing: whether their frames end with an FCS is told once, by the
/// first frames.
#[derive(Debug, Default)]
pub(super) struct Unannounced {
    interfaces: Vec<Trial>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Trial {
    decided: Option<bool>,
    frames: u8,
}

impl Unannounced {
    fn trial(&mut self, interface: u32) -> &mut Trial {
        let at = usize::try_from(interface).unwrap_or(usize::MAX).min(limits::FCS_INTERFACES - 1);
        if self.interfaces.len() <= at {
            self.interfaces.resize(at + 1, Trial::default());
        }
        &mut self.interfaces[at]
    }
}

/// Find out about the FCS of a frame that begins `v`.
pub(super) fn settle(d: &mut Decoder<'_>, v: View<'_>, heard: &Heard) -> Settled {
    let at_end = heard.fcs.at_end.or(d.fcs_bytes.map(|n| n > 0)).or_else(|| find(d, v, heard));
    let ok = match at_end {
        _ if heard.fcs.failed => Some(false),
        Some(true) => right(v),
        _ => None,
    };
    Settled { at_end, ok }
}

/// Whether this frame's capture ends its frames with an FCS. A frame that this host sent never reached a receiver that
/// could have put one behind it.
fn find(d: &mut Decoder<'_>, v: View<'_>, heard: &Heard) -> Option<bool> {
    if heard.radio.transmitted {
        return None;
    }
    let trial = d.state.unannounced_fcs.trial(d.interface);
    if trial.decided.is_some() || v.data().len() < SHORTEST + BYTES {
        return trial.decided;
    }
    let right = right(v)?;
    trial.frames += 1;
    if right {
        trial.decided = Some(true);
        d.note(NoteKind::FcsFound);
    } else if trial.frames == limits::FCS_TRIALS {
        trial.decided = Some(false);
    }
    right.then_some(true)
}

/// Whether the last four bytes are the FCS of those before; None when not everything was captured.
fn right(v: View<'_>) -> Option<bool> {
    let (body, &fcs) = v.data().split_last_chunk::<BYTES>()?;
    if !v.whole() {
        return None;
    }
    let mut crc = Crc::new();
    crc.update(body);
    Some(crc.sum() == u32::from_le_bytes(fcs))
}
