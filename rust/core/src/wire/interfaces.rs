//! What is kept of each capture interface from record to record.

use crate::limits;

/// One place per interface; the later ones share the last.
#[derive(Debug, Default)]
pub(super) struct Interfaces {
    seen: Vec<Interface>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Interface {
    pub unannounced_fcs: Trial,
    /// Whether a right FCS was captured, of frames received and of frames sent.
    pub computes_fcs: [bool; 2],
    /// The sniffer's clock at the previous frame.
    pub tsf_us: Option<u64>,
}

/// Whether frames end with an FCS that is not announced: decided once, by the first frames.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Trial {
    pub decided: Option<bool>,
    /// Frames tested.
    pub frames: u8,
}

impl Interfaces {
    pub fn of(&mut self, interface: u32) -> &mut Interface {
        let at = usize::try_from(interface).unwrap_or(usize::MAX).min(limits::AIR_INTERFACES - 1);
        if self.seen.len() <= at {
            self.seen.resize(at + 1, Interface::default());
        }
        &mut self.seen[at]
    }
}
