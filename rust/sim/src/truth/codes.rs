//! Enumerations of the truth tables: their names, and codes as places in these.

use crate::dcf::{AirFrame, Damage, Fate, FrameKind};
use crate::tcp::Trigger;

pub const PACKET_FATES: [&str; 10] = [
    "under_way",
    "delivered",
    "device_queue",
    "mac_queue",
    "air",
    "wire_queue",
    "wire",
    "early_drop",
    "router",
    "adapter_queue",
];
pub const TRIGGERS: [&str; 8] = ["new", "rto", "go_back_n", "fast", "partial_ack", "sack", "tail_loss_probe", "answer"];
pub const FRAME_KINDS: [&str; 4] = ["rts", "cts", "ack", "data"];
pub const DAMAGES: [&str; 5] = ["noise", "fade", "independent", "burst", "script"];
pub const FRAME_FATES: [&str; 3] = ["received", "collision", "damaged"];

/// Code in `TRIGGERS`.
pub fn trigger(t: Trigger) -> i8 {
    match t {
        Trigger::New => 0,
        Trigger::Rto => 1,
        Trigger::GoBackN => 2,
        Trigger::Fast => 3,
        Trigger::PartialAck => 4,
        Trigger::Sack => 5,
        Trigger::TailLossProbe => 6,
        Trigger::Answer => 7,
    }
}

/// Code of a frame's kind in `FRAME_KINDS`.
pub fn kind(f: &AirFrame) -> i8 {
    match f.kind {
        FrameKind::Rts => 0,
        FrameKind::Cts => 1,
        FrameKind::Ack => 2,
        FrameKind::Data => 3,
    }
}

/// Code of a frame's fate in `FRAME_FATES`, and the other party of a collision.
pub fn fate(f: &AirFrame) -> (i8, Option<usize>) {
    match f.fate {
        Fate::Received => (0, None),
        Fate::Collision(with) => (1, Some(with)),
        Fate::Damaged(_) => (2, None),
    }
}

/// Code in `DAMAGES` of what damaged a frame.
pub fn damage(f: &AirFrame) -> Option<i8> {
    match f.fate {
        Fate::Damaged(by) => Some(match by {
            Damage::Noise => 0,
            Damage::Fade => 1,
            Damage::Independent => 2,
            Damage::Burst => 3,
            Damage::Script => 4,
        }),
        _ => None,
    }
}
