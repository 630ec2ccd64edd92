//! Duration of frames: DSSS, HR/DSSS and ERP-OFDM (IEEE 802.11-2020 clauses 15, 16 and 18).

use crate::engine::{Ns, US};

/// A data rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate {
    pub kbps: u32,
}

impl Rate {
    pub const R1: Rate = Rate { kbps: 1_000 };
    pub const R2: Rate = Rate { kbps: 2_000 };
    pub const R5_5: Rate = Rate { kbps: 5_500 };
    pub const R11: Rate = Rate { kbps: 11_000 };
    pub const DSSS: [Rate; 4] = [Rate::R1, Rate::R2, Rate::R5_5, Rate::R11];

    /// OFDM rates are the multiples of 6 and 9 Mb/s; DSSS has 1, 2, 5.5 and 11.
    pub fn ofdm(self) -> bool {
        !Rate::DSSS.contains(&self)
    }
}

/// The PLCP preamble of DSSS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preamble {
    /// 144 + 48 us, all at 1 Mb/s.
    #[default]
    Long,
    /// 72 us at 1 Mb/s and 24 us at 2 Mb/s; not for frames at 1 Mb/s.
    Short,
}

/// Bytes of the control frames, FCS included.
pub const ACK_BYTES: u32 = 14;
pub const CTS_BYTES: u32 = 14;
pub const RTS_BYTES: u32 = 20;

/// Time on the air of a frame of this many bytes, FCS included.
pub fn airtime(rate: Rate, preamble: Preamble, bytes: u32) -> Ns {
    let bits = 8 * u64::from(bytes);
    let kbps = u64::from(rate.kbps.max(1));
    if rate.ofdm() {
        // Clause 18.5.3: 20 us of preamble and SIGNAL, symbols of 4 us for SERVICE, data and tail, 6 us signal extension.
        let symbol_bits = 4 * kbps / 1000;
        return (20 + 4 * (16 + bits + 6).div_ceil(symbol_bits) + 6) * US;
    }
    // Clause 16.3.4: the time of the data is rounded up to whole microseconds.
    plcp(rate, preamble) + (bits * 1000).div_ceil(kbps) * US
}

/// Time from a frame's start to the first bit of its MAC header.
pub fn plcp(rate: Rate, preamble: Preamble) -> Ns {
    match preamble {
        _ if rate.ofdm() => 20 * US,
        Preamble::Short if rate > Rate::R1 => 96 * US,
        _ => 192 * US,
    }
}

/// The interframe spaces of one BSS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spaces {
    pub slot: Ns,
    pub sifs: Ns,
}

impl Spaces {
    /// 2.4 GHz with DSSS stations in the cell: long slots.
    pub const DSSS: Spaces = Spaces { slot: 20 * US, sifs: 10 * US };

    pub fn difs(self) -> Ns {
        self.sifs + 2 * self.slot
    }

    /// After a frame that could not be decoded: time for the ACK that it may require, at the lowest rate
    /// (clause 10.3.2.3.7).
    pub fn eifs(self, preamble: Preamble) -> Ns {
        self.sifs + airtime(Rate::R1, preamble, ACK_BYTES) + self.difs()
    }

    /// Time that a sender waits for the start of a response (clause 10.3.2.11): SIFS, a slot and the PHY's start delay.
    pub fn answer_timeout(self, preamble: Preamble) -> Ns {
        let start_delay = if preamble == Preamble::Short { 96 } else { 192 };
        self.sifs + self.slot + start_delay * US
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hand_computed() {
        // 192 + 8 * 1536 / 11 = 192 + 1117.09 -> 1118.
        assert_eq!(airtime(Rate::R11, Preamble::Long, 1536), 1310 * US);
        assert_eq!(airtime(Rate::R2, Preamble::Long, 14), 248 * US);
        assert_eq!(airtime(Rate::R2, Preamble::Short, 14), 152 * US);
        // Short preambles do not exist at 1 Mb/s.
        assert_eq!(airtime(Rate::R1, Preamble::Short, 14), 304 * US);
        // (16 + 12240 + 6) / 216 = 56.77 -> 57 symbols: 20 + 228 + 6.
        assert_eq!(airtime(Rate { kbps: 54_000 }, Preamble::Long, 1530), 254 * US);
        assert_eq!(Spaces::DSSS.difs(), 50 * US);
        assert_eq!(Spaces::DSSS.eifs(Preamble::Long), 364 * US);
    }
}
