//! IP packets in the bulk transfers of network adapters.
//!
//! A framing is accepted for an endpoint once it fits a whole transfer that contains a verified IP header: the
//! descriptors with the device's class are often sent before a capture begins.

use crate::limits;
use crate::notes::NoteKind;
use crate::urb::{Framing, UrbEvent};

use super::decoder::{Decoder, Found};
use super::view::View;
use super::{ethernet, ip, llc};

mod asix;
mod ncm;
mod piece;
mod prism2;
mod proof;
mod qmap;
mod realtek;
mod rndis;
mod search;
mod state;
#[cfg(test)]
pub(super) mod tests;

use piece::{Kind, Piece};
use state::Endpoint;
pub(super) use state::State;

/// Framings in the order of trial: those with a signature first, the one without a header last.
const CANDIDATES: [Framing; 9] = [
    Framing::Ncm,
    Framing::Rndis,
    Framing::Asix,
    Framing::Prism2,
    Framing::R8152,
    Framing::Ax88179,
    Framing::Qmap,
    Framing::Ethernet,
    Framing::Ip,
];

/// Emit the IP packets of a bulk transfer, and set their number and framing in `e`.
pub(super) fn packets(d: &mut Decoder<'_>, e: &mut UrbEvent, v: View<'_>) {
    let device = u64::from(e.interface) << 32 | u64::from(e.bus) << 16 | u64::from(e.device);
    if is_storage(&mut d.state.usb, device, v, e.is_in) {
        return;
    }
    let key = device << 5 | u64::from(e.endpoint) << 1 | u64::from(e.is_in);
    let known = d.state.usb.endpoints.get(&key).copied().unwrap_or_default();
    let mut pieces = std::mem::take(&mut d.state.usb.pieces);
    pieces.clear();
    let found = find(known, v, e.is_in, &mut pieces);
    let now = found.unwrap_or(Endpoint { carry: 0, ..known });
    if now.framing != known.framing || now.carry != known.carry {
        remember(&mut d.state.usb, key, now);
    }
    if now.carry > 0 && known.carry == 0 {
        d.note(NoteKind::UsbFrameSplit);
    }
    if !pieces.is_empty() {
        e.packets = hand_out(d, v, &pieces, !e.is_in);
        e.framing = now.framing.filter(|_| e.packets > 0);
    }
    d.state.usb.pieces = pieces;
}

fn hand_out(d: &mut Decoder<'_>, v: View<'_>, pieces: &[Piece], outgoing: bool) -> u16 {
    let mut start = d.packet;
    start.outgoing = Some(outgoing);
    let mut rows = 0u16;
    for piece in pieces {
        let frame = piece.of(v);
        if frame.data().is_empty() {
            d.note(NoteKind::SnaplenCut);
            break;
        }
        d.restart(start);
        d.ip_packet = false;
        let found: Found = match piece.kind {
            Kind::Ethernet => ethernet::ethernet(d, frame),
            Kind::Llc => llc::llc(d, frame),
            Kind::Ip => ip::ip(d, frame),
        };
        d.finish(found);
        rows = rows.saturating_add(u16::from(d.ip_packet));
    }
    d.restart(start);
    rows
}

/// Bulk-only mass storage marks its commands and answers (USB Mass Storage Bulk-Only section 5).
fn is_storage(state: &mut State, device: u64, v: View<'_>, is_in: bool) -> bool {
    let marked = match (v.array(0), is_in) {
        (Some([b'U', b'S', b'B', b'C']), false) => v.wire() == 31,
        (Some([b'U', b'S', b'B', b'S']), true) => v.wire() == 13,
        _ => false,
    };
    if marked && !state.storage.contains(&device) {
        if state.storage.len() >= limits::USB_FRAMINGS {
            state.storage.clear();
        }
        state.storage.insert(device);
    }
    marked || (!state.storage.is_empty() && state.storage.contains(&device))
}

fn remember(state: &mut State, key: u64, endpoint: Endpoint) {
    if state.endpoints.len() >= limits::USB_FRAMINGS && !state.endpoints.contains_key(&key) {
        state.endpoints.clear();
    }
    state.endpoints.insert(key, endpoint);
}

/// Split a transfer into frames and return its framing; None: no packet in it can be verified.
fn find(known: Endpoint, v: View<'_>, is_in: bool, pieces: &mut Vec<Piece>) -> Option<Endpoint> {
    if let Some(framing) = known.framing {
        // The continuation may not have been captured.
        let carries = [known.carry, 0];
        for carry in &carries[usize::from(known.carry == 0)..] {
            pieces.clear();
            let fits = split(framing, v, is_in, *carry, pieces)
                .filter(|_| !is_loose(framing) || pieces.iter().all(|p| looks_like(*p, v)));
            if let Some(carry) = fits {
                return Some(Endpoint { framing: Some(framing), carry });
            }
        }
    }
    for framing in CANDIDATES {
        pieces.clear();
        let Some(carry) = split(framing, v, is_in, 0, pieces) else {
            continue;
        };
        if pieces.iter().any(|p| proof::proves(p.kind, p.of(v))) {
            let framing = if framing == Framing::Ncm && pieces.iter().all(|p| p.kind == Kind::Ip) {
                Framing::Mbim
            } else {
                framing
            };
            return Some(Endpoint { framing: Some(framing), carry });
        }
    }
    pieces.clear();
    if is_continuation(known, v) {
        return Some(Endpoint { carry: known.carry.saturating_sub(v.wire()), ..known });
    }
    search::search(v, pieces);
    // The known framing of the endpoint has priority over a single find.
    (!pieces.is_empty()).then_some(Endpoint { framing: known.framing.or(Some(Framing::Found)), carry: 0 })
}

fn is_continuation(known: Endpoint, v: View<'_>) -> bool {
    known.carry > 0 && v.wire() <= known.carry.saturating_add(limits::USB_SEARCH_BYTES)
}

/// Framings without a header: every transfer fits them.
fn is_loose(framing: Framing) -> bool {
    matches!(framing, Framing::Ethernet | Framing::Ip)
}

/// Whether this is again a frame of the endpoint's known framing.
fn looks_like(p: Piece, v: View<'_>) -> bool {
    let frame = p.of(v);
    match p.kind {
        Kind::Ip => matches!(frame.u8(0).map(|b| b >> 4), Some(4 | 6)),
        Kind::Ethernet => match (frame.be16(12), frame.u8(14).map(|b| b >> 4)) {
            (Some(0x0800), version) => version == Some(4),
            (Some(0x86dd), version) => version == Some(6),
            (Some(kind), _) => matches!(kind, 0x0806 | 0x8100 | 0x88a8 | 0x8847 | 0x8864),
            _ => false,
        },
        Kind::Llc => true,
    }
}

/// Split a transfer by one framing: returns how many bytes of its last frame are in the next transfer, or None if it
/// does not fit. `carry`: this many bytes at its start belong to the previous frame.
fn split(framing: Framing, v: View<'_>, is_in: bool, carry: usize, pieces: &mut Vec<Piece>) -> Option<usize> {
    match framing {
        Framing::Asix => return asix::ax88772(v, carry, pieces),
        _ if carry > 0 => return None,
        Framing::Ethernet => return whole(Kind::Ethernet, v, pieces),
        Framing::Ip => return whole(Kind::Ip, v, pieces),
        Framing::Ncm | Framing::Mbim => ncm::blocks(v, pieces),
        Framing::Rndis => rndis::messages(v, pieces),
        Framing::Ax88179 if is_in => asix::ax88179_in(v, pieces),
        Framing::Ax88179 => asix::ax88179_out(v, pieces),
        Framing::R8152 if is_in => realtek::received(v, pieces),
        Framing::R8152 => realtek::sent(v, pieces),
        Framing::Prism2 => prism2::frame(v, pieces),
        Framing::Qmap => qmap::packets(v, pieces),
        Framing::Found => {
            search::search(v, pieces);
            (!pieces.is_empty()).then_some(())
        }
    }
    .map(|()| 0)
}

/// The transfer is one frame, which continues in the next one if its IP header shows this.
fn whole(kind: Kind, v: View<'_>, pieces: &mut Vec<Piece>) -> Option<usize> {
    let bytes = proof::frame_bytes(kind, v).unwrap_or(0).max(v.wire());
    pieces.push(Piece { kind, at: 0, bytes });
    Some(bytes - v.wire())
}
