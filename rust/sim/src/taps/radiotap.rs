//! 802.11 frames after radiotap headers, as a sniffer writes them.

use super::head::Head;
use super::Gather;
use crate::dcf::{AirFrame, FrameKind};
use crate::packet::Mac;

/// LINKTYPE_IEEE802_11_RADIOTAP.
pub const LINKTYPE_RADIOTAP: u32 = 127;

/// The sniffer's data about the frame.
#[derive(Debug, Clone, Copy)]
pub struct Reception {
    /// The MAC clock at the first bit of the MPDU.
    pub tsf_us: u64,
    pub channel_mhz: u16,
    pub signal_dbm: i8,
    pub noise_dbm: i8,
    pub damaged: bool,
}

/// The MAC addresses of a frame: receiver, transmitter, and the third; and the two DS bits.
#[derive(Debug, Clone, Copy)]
pub struct Roles {
    pub ra: Mac,
    pub ta: Mac,
    pub third: Mac,
    pub to_ds: bool,
    pub from_ds: bool,
}

const HEADER: usize = 24;
/// Of data.
const MAC_HEADER: usize = 24;

/// Append radiotap, the MAC header, what `body` appends to data frames, and the FCS.
pub fn air_frame(
    f: &AirFrame,
    roles: &Roles,
    body: impl FnOnce(&mut Gather),
    beacon: bool,
    r: &Reception,
    out: &mut Gather,
) {
    let mut head = Head::<{ HEADER + MAC_HEADER }>::new();
    // Version 0; TSFT, flags, rate, channel, signal, noise.
    head.put([0, 0, HEADER as u8, 0]);
    head.put((1u32 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 6).to_le_bytes());
    head.put(r.tsf_us.to_le_bytes());
    let short = f.preamble == crate::phy::Preamble::Short && f.rate > crate::phy::Rate::R1;
    // The frame ends with its FCS.
    head.put([0x10 | u8::from(short) << 1 | u8::from(r.damaged) << 6]);
    head.put([(f.rate.kbps / 500) as u8]);
    head.put(r.channel_mhz.to_le_bytes());
    // 2 GHz, with CCK or OFDM.
    head.put((0x0080 | if f.rate.ofdm() { 0x0040u16 } else { 0x0020 }).to_le_bytes());
    head.put([r.signal_dbm as u8, r.noise_dbm as u8]);

    let control: u16 = match f.kind {
        FrameKind::Rts => 0x00b4,
        FrameKind::Cts => 0x00c4,
        FrameKind::Ack => 0x00d4,
        FrameKind::Data if beacon => 0x0080,
        FrameKind::Data => {
            0x0008 | u16::from(roles.to_ds) << 8 | u16::from(roles.from_ds) << 9 | u16::from(f.retry) << 11
        }
    };
    head.put(control.to_le_bytes());
    head.put(f.duration_us.to_le_bytes());
    head.put(roles.ra);
    match f.kind {
        FrameKind::Cts | FrameKind::Ack => {}
        FrameKind::Rts => head.put(roles.ta),
        FrameKind::Data => {
            head.put(roles.ta);
            head.put(roles.third);
            head.put((f.seq << 4).to_le_bytes());
        }
    }
    let (radiotap, frame) = head.bytes().split_at(HEADER);
    out.put(radiotap);
    let start = out.mark();
    out.put(frame);
    if f.kind == FrameKind::Data {
        body(out);
    }
    let mut fcs = crc32fast::Hasher::new();
    out.pieces(start, |piece| fcs.update(piece));
    if r.damaged {
        // A damaged frame: some bits of the body are wrong.
        let heard = out.copy(start);
        heard[heard.len() * 2 / 3] ^= 0x5a;
    }
    out.put(&fcs.finalize().to_le_bytes());
}
