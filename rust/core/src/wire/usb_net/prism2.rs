//! Prism 2 adapters with linux-wlan-ng and the prism2_usb driver derived from it.
//!
//! In both directions a descriptor of 60 bytes is before the frame's body: 14 bytes of the adapter's own, the 802.11 header with
//! four addresses, the body's length, an 802.3 header. Source: Linux, drivers/staging/wlan-ng/hfa384x.h.

use super::super::view::View;
use super::piece::{add, Kind, Piece};
use crate::frame::control;

const DESCRIPTOR: usize = 60;
const FRAME_CONTROL: usize = 14;
const BODY_LENGTH: usize = 44;
/// Bits of the first word that are set in everything but a received frame.
const NOT_A_FRAME: u16 = 0x9000;
/// Transfers are filled up to a multiple of this.
const ROUND: usize = 64;

pub(super) fn frame(v: View<'_>, pieces: &mut Vec<Piece>) -> Option<()> {
    let kind = v.le16(0)?;
    let fc = v.le16(FRAME_CONTROL)?;
    let length = usize::from(v.le16(BODY_LENGTH)?);
    let data = fc & (control::VERSION | control::TYPE) == control::DATA;
    let open = fc & (control::NO_DATA | control::PROTECTED) == 0;
    let fits = length > 0 && DESCRIPTOR + length <= v.wire() && v.wire() < DESCRIPTOR + length + ROUND;
    if kind & NOT_A_FRAME != 0 || !data || !open || !fits {
        return None;
    }
    add(pieces, Kind::Llc, DESCRIPTOR, length).then_some(())
}
