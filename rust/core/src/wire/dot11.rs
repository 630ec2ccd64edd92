//! 802.11 frames up to the IP packets in their data frames (IEEE 802.11-2020 clause 9.2 and 9.3.2).

use crate::crypto::{Michael, MICHAEL_BYTES};
use crate::frame::{control, qos, Carries, Frame};
use crate::limits;
use crate::notes::NoteKind;
use crate::packet::{Layer, Mpdu, Stop};

use super::decoder::{Decoder, Found};
use super::digest;
use super::elements;
use super::fcs;
use super::fragments::Joined;
use super::llc;
use super::mac_header;
use super::radio_header::RadioHeader;
use super::view::View;

/// The frame after a capture header with a length field, which must be at least `least` bytes.
pub(super) fn behind(
    d: &mut Decoder<'_>,
    v: View<'_>,
    header_bytes: u32,
    least: usize,
    radio_header: &mut RadioHeader,
) -> Found {
    let header = usize::try_from(header_bytes).unwrap_or(usize::MAX);
    if header < least || header > v.wire() {
        return lost(d, Stop::LengthLies);
    }
    frame(d, v.skip(header), radio_header)
}

/// A frame that begins with its 802.11 header; only the container describes its FCS.
pub(super) fn dot11(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    let radio = d.radio.copied().unwrap_or_default();
    frame(d, v, &mut RadioHeader::of(radio))
}

/// The record's frame: its packets are emitted, then the frame itself.
pub(super) fn frame(d: &mut Decoder<'_>, v: View<'_>, radio_header: &mut RadioHeader) -> Found {
    radio(d, radio_header);
    if radio_header.empty {
        return no_frame(d, &mut radio_header.frame);
    }
    let fcs = fcs::settle(d, v, radio_header);
    if fcs.ok == Some(false) {
        d.note(NoteKind::BadFcs);
        d.unproven = true;
    }
    let before = d.packet;
    d.packet.intact = fcs.ok;
    let v = if fcs.at_end == Some(true) { v.clip(v.wire().saturating_sub(fcs::BYTES)) } else { v };
    let RadioHeader { frame, padded, .. } = radio_header;
    (frame.number, frame.time_ns, frame.fcs_ok) = (d.packet.number, d.packet.time_ns, fcs.ok);
    frame.mpdu_bytes = u32::try_from(v.wire() + fcs::BYTES).unwrap_or(u32::MAX);
    let mut header = mac_header::read(frame, v);
    if *padded {
        let pad = header.next_multiple_of(4) - header;
        header += pad;
        frame.mpdu_bytes = frame.mpdu_bytes.saturating_sub(pad as u32);
    }
    let body = v.skip(header);
    frame.body_digest = digest::body(body);
    let found = inside(d, frame, body, fcs.at_end.is_some());
    if d.unproven {
        // Nothing in it is verified: write no row from damaged bytes.
        d.packet = before;
    } else {
        if fcs.ok == Some(false) {
            (d.packet.stop, d.packet.stop_layer) = (Stop::BadFcs, Layer::Link);
        }
        d.finish(found);
        d.packet = before;
    }
    frame.carries = carries(d, frame);
    frame.ip_packet = d.ip_packet;
    d.sink.frame(frame, body.data());
    Found::Other
}

/// Note anomalies of the radio header.
fn radio(d: &mut Decoder<'_>, radio_header: &RadioHeader) {
    if radio_header.implausible {
        d.note(NoteKind::RadioImplausible);
    }
    if let Some(tsf) = radio_header.frame.radio.tsf_us {
        let last = d.state.interfaces.of(d.interface).tsf_us.replace(tsf);
        if last.is_some_and(|last| tsf < last) {
            d.note(NoteKind::TsfBackwards);
        }
    }
}

/// A frame that cannot be reached because its capture header is damaged: a row with the reason.
pub(super) fn lost(d: &mut Decoder<'_>, stop: Stop) -> Found {
    let before = d.packet;
    let damage = d.damaged(stop, Layer::Link);
    d.finish(damage);
    d.packet = before;
    let mut frame =
        Frame { number: before.number, time_ns: before.time_ns, ip_packet: d.ip_packet, stop, ..Frame::default() };
    d.sink.frame(&mut frame, &[]);
    Found::Other
}

/// A row for the PPDU alone.
fn no_frame(d: &mut Decoder<'_>, frame: &mut Frame) -> Found {
    d.note(NoteKind::NoFrame);
    (frame.number, frame.time_ns) = (d.packet.number, d.packet.time_ns);
    d.sink.frame(frame, &[]);
    Found::Other
}

fn carries(d: &Decoder<'_>, frame: &Frame) -> Carries {
    match frame.kind() {
        Some(control::MANAGEMENT) => Carries::Management,
        Some(control::CONTROL) => Carries::Control,
        Some(control::DATA) if frame.has(control::NO_DATA) => Carries::Null,
        Some(control::DATA) if frame.has(control::PROTECTED) && !d.opened => Carries::Protected,
        _ => d.carries,
    }
}

/// The packets inside a frame.
fn inside(d: &mut Decoder<'_>, frame: &Frame, body: View<'_>, fcs_known: bool) -> Found {
    if frame.stop != Stop::None && frame.control.is_none() {
        return d.damaged(frame.stop, Layer::Link);
    }
    if !frame.is_data() || frame.has(control::NO_DATA) {
        if frame.kind() == Some(control::MANAGEMENT) {
            d.state.crypto.management(frame, body.data());
        }
        d.note_of(frame.stop);
        if frame.stop == Stop::None {
            elements::check(d, frame, body, fcs_known);
        }
        return Found::Other;
    }
    data(d, frame, body, fcs_known)
}

fn data(d: &mut Decoder<'_>, frame: &Frame, body: View<'_>, fcs_known: bool) -> Found {
    if let (Some(ra), Some(ta), Some(seq_ctl)) = (frame.address_1, frame.address_2, frame.seq_ctl) {
        d.packet.mpdu = Some(Mpdu { ta, ra, seq_ctl, tid: frame.tid().unwrap_or(0), retry: frame.retry() });
    }
    if frame.has(control::PROTECTED) {
        return protected(d, frame, body);
    }
    payload(d, frame, body, None, fcs_known)
}

/// An encrypted frame: decrypted if a key fits, else counted with the reason.
fn protected(d: &mut Decoder<'_>, frame: &Frame, body: View<'_>) -> Found {
    let mut room = d.state.crypto.take_room();
    let found = match d.state.crypto.open(frame, body.data(), body.wire(), &mut room) {
        Ok(opened) => {
            // A valid integrity check proves more than the FCS does.
            d.unproven &= !body.whole();
            d.packet.intact = if body.whole() { Some(true) } else { d.packet.intact };
            d.opened = true;
            d.note(NoteKind::Decrypted);
            payload(d, frame, View::new(&room, opened.wire_bytes), opened.michael, true)
        }
        Err(why) => {
            d.note(NoteKind::Encrypted);
            if let Some(kind) = why.note() {
                d.note(kind);
            }
            d.note_of(frame.stop);
            Found::Other
        }
    };
    d.state.crypto.give_back(room);
    found
}

/// The decrypted payload of a data frame; `michael` verifies the MSDU of a TKIP frame.
fn payload(d: &mut Decoder<'_>, frame: &Frame, body: View<'_>, michael: Option<Michael>, fcs_known: bool) -> Found {
    if frame.stop != Stop::None {
        return d.damaged(frame.stop, Layer::Link);
    }
    let more = frame.has(control::MORE_FRAGMENTS);
    // In a damaged frame the number itself may be wrong.
    if (more || frame.fragment().is_some_and(|n| n != 0)) && !d.unproven {
        return fragment(d, frame, body, michael);
    }
    if more {
        d.note(NoteKind::WlanFragment);
        return part(d, frame, body);
    }
    whole(d, frame, body, michael, fcs_known)
}

/// A fragment: the packet is read with the last fragment of an MSDU. Of a cut or incomplete MSDU the start is read.
fn fragment(d: &mut Decoder<'_>, frame: &Frame, body: View<'_>, michael: Option<Michael>) -> Found {
    if !body.whole() {
        d.note(NoteKind::WlanFragment);
        return if frame.fragment() == Some(0) { part(d, frame, body) } else { Found::Other };
    }
    match d.state.fragments.join(frame, body.data()) {
        Some(Joined::Whole(msdu)) => whole(d, frame, View::new(&msdu, msdu.len()), michael, true),
        Some(Joined::Gap(Some(begun))) => {
            d.note(NoteKind::WlanFragment);
            part(d, frame, View::new(&begun, begun.len()))
        }
        Some(Joined::Gap(None)) => {
            d.note(NoteKind::WlanFragment);
            Found::Other
        }
        Some(Joined::Waiting | Joined::Again) | None => Found::Other,
    }
}

/// The start of an MSDU.
fn part(d: &mut Decoder<'_>, frame: &Frame, body: View<'_>) -> Found {
    d.stop(Stop::Fragment, Layer::Link);
    match msdu(d, body, mesh(frame)) {
        Found::Row => Found::Row,
        Found::Other => d.other(),
    }
}

/// A whole MSDU or A-MSDU.
fn whole(d: &mut Decoder<'_>, frame: &Frame, body: View<'_>, michael: Option<Michael>, fcs_known: bool) -> Found {
    let body = match michael {
        Some(key) if body.whole() => match key.check(frame, body.data()) {
            Some(length) => body.clip(length),
            None => {
                d.note(NoteKind::MichaelFailed);
                return Found::Other;
            }
        },
        Some(_) => body.clip(body.wire().saturating_sub(MICHAEL_BYTES)),
        None => body,
    };
    d.state.crypto.payload(frame, body.data());
    if frame.qos.is_some_and(|q| q & qos::AMSDU != 0) && !d.unproven {
        amsdu(d, body, mesh(frame), fcs_known)
    } else {
        msdu(d, body, mesh(frame))
    }
}

fn mesh(frame: &Frame) -> bool {
    frame.qos.is_some_and(|q| q & qos::MESH != 0) && frame.has(control::FROM_DS)
}

/// An MSDU, after its mesh control field if there is one. Drafts of 802.11s had no bit in the QoS field to announce
/// it, so the SNAP header after it is evidence, too.
fn msdu(d: &mut Decoder<'_>, v: View<'_>, mesh: bool) -> Found {
    let length = v.u8(0).map_or(0, mesh_control);
    let behind = v.skip(length);
    let found = llc::llc(d, if mesh || behind.array(0) == Some(llc::SNAP_HEADER) { behind } else { v });
    if found == Found::Other && d.carries == Carries::Unknown && !d.unproven {
        d.carries = Carries::Other;
    }
    found
}

/// Length of a mesh control field with these flags (clause 9.2.4.8.3): 0, 1 or 2 more addresses. Access points use
/// the QoS bit for other purposes, so reserved flags mean that there is none; LLC's 0xaa has some of them set.
fn mesh_control(flags: u8) -> usize {
    match flags {
        0..=2 => 6 + 6 * usize::from(flags),
        _ => 0,
    }
}

/// Each subframe of an A-MSDU is a row of its own (clause 9.3.2.2.2).
fn amsdu(d: &mut Decoder<'_>, mut v: View<'_>, mesh: bool, fcs_known: bool) -> Found {
    const HEADER: usize = 14;
    let start = d.packet;
    // If it is unknown, the last bytes may be the FCS.
    let trailer = if fcs_known { 0 } else { fcs::BYTES };
    for _ in 0..limits::AMSDU_SUBFRAMES {
        if v.wire() == 0 || v.wire() == trailer {
            return Found::Other;
        }
        if v.data().is_empty() {
            d.note(NoteKind::SnaplenCut);
            return Found::Other;
        }
        d.restart(start);
        let Some(length) = v.be16(12).map(usize::from) else {
            return d.damaged(v.lack(HEADER), Layer::Link);
        };
        let body = v.skip(HEADER);
        if length > body.wire() {
            d.stop(Stop::LengthLies, Layer::Link);
        }
        let found = msdu(d, body.clip(length), mesh);
        d.finish(found);
        d.restart(start);
        v = v.skip((HEADER + length).next_multiple_of(4));
    }
    d.note(NoteKind::TooDeep);
    Found::Other
}

#[cfg(test)]
mod tests {
    use super::super::testing::{
        cut_everywhere, decode, dot11, found, found_where_fcs_is_computed, frame, ipv4, noted, one, packets, record,
        snap, tcp,
    };
    use super::super::{decode as decode_record, State};
    use crate::frame::Carries;
    use crate::notes::{NoteKind, Notes};
    use crate::packet::{Layer, Packet, Stop};

    const AIR: u16 = 105;

    fn body() -> Vec<u8> {
        snap(&ipv4(6, &tcp(&[], b"x")))
    }

    fn subframe(length_error: i32) -> Vec<u8> {
        let msdu = body();
        let mut s = [&[2; 12][..], &((msdu.len() as i32 + length_error) as u16).to_be_bytes(), &msdu].concat();
        s.resize(s.len().next_multiple_of(4), 0);
        s
    }

    #[test]
    fn every_header() {
        // Data, QoS data, both with four addresses, QoS with HT control.
        for (fc, extra) in
            [(0x0108u16, 0), (0x0208, 0), (0x0188, 2), (0x0308, 6), (0x0388, 8), (0x8188, 6), (0x8388, 12), (0x8108, 0)]
        {
            let frame = dot11(fc, &vec![0; extra], &body());
            let p = one(AIR, &frame);
            assert_eq!((p.src_port, p.payload_bytes, p.stop), (Some(40000), Some(1), Stop::None), "{fc:#06x}");
            cut_everywhere(AIR, &frame);
        }
    }

    #[test]
    fn the_mpdu_that_carried_it() {
        let m = one(AIR, &dot11(0x0988, &[5, 0], &body())).mpdu.unwrap();
        assert_eq!((m.ra, m.ta, m.seq_ctl, m.tid, m.retry), ([1; 6], [2; 6], 0x1230, 5, true));
    }

    #[test]
    fn frames_without_ip() {
        for fc in [0x0080u16, 0x00d4, 0x0148, 0x01c8, 0x001c] {
            assert!(packets(AIR, &dot11(fc, &[0, 0], &body())).is_empty(), "{fc:#06x}");
        }
        let p = one(AIR, &dot11(0x0109, &[], &body()));
        assert_eq!((p.stop, p.stop_layer), (Stop::BadHeader, Layer::Link));
    }

    #[test]
    fn protected_and_fragmented_frames() {
        let frame = dot11(0x4188, &[0, 0], &body());
        assert!(packets(AIR, &frame).is_empty());
        assert_eq!(noted(AIR, &frame, NoteKind::Encrypted), 1);
        // A single fragment gives no packet, unless the rest of it was cut by the snap length.
        let first = dot11(0x0508, &[], &body()[..30]);
        assert!(packets(AIR, &first).is_empty());
        let p = decode(&record(AIR, &first, first.len() + 1)).0[0];
        assert_eq!((p.ip_version, p.stop, p.stop_layer), (4, Stop::Fragment, Layer::Link));
        let mut later = dot11(0x0108, &[], &body());
        later[22] |= 1;
        assert!(packets(AIR, &later).is_empty());
        assert_eq!(noted(AIR, &later, NoteKind::WlanFragment), 1);
    }

    #[test]
    fn fragments_put_together() {
        let (mut state, mut notes) = (State::default(), Notes::default());
        let mut decode_next = |number: u8, control: u16, bytes: &[u8]| {
            let mut frame = dot11(control, &[], bytes);
            frame[22] = frame[22] & 0xf0 | number;
            let mut got = Vec::new();
            let r = record(AIR, &frame, frame.len());
            decode_record(&r, u64::from(number) + 1, &mut state, &mut notes, &mut |p: &Packet| got.push(*p));
            got
        };
        assert!(decode_next(0, 0x0508, &body()[..20]).is_empty());
        assert!(decode_next(1, 0x0508, &body()[20..30]).is_empty());
        let got = decode_next(2, 0x0108, &body()[30..]);
        assert_eq!((got.len(), got[0].number, got[0].stop), (1, 3, Stop::None));
        assert_eq!((got[0].src_port, got[0].payload_bytes), (Some(40000), Some(1)));
        assert!(decode_next(2, 0x0908, &body()[30..]).is_empty());
        // The second is missing: the first is decoded as far as possible.
        assert!(decode_next(0, 0x0508, &body()[..40]).is_empty());
        let got = decode_next(2, 0x0108, &[1]);
        assert_eq!((got.len(), got[0].src_port, got[0].stop), (1, Some(40000), Stop::Fragment));
    }

    #[test]
    fn mesh_control() {
        for (flags, length) in [(0u8, 6), (1, 12), (2, 18)] {
            let mut mesh = vec![0; length];
            mesh[0] = flags;
            let frame = dot11(0x0388, &[0, 0, 0, 0, 0, 0, 0, 1], &[&mesh[..], &body()].concat());
            assert_eq!(one(AIR, &frame).src_port, Some(40000));
        }
        // A draft's frame, without the bit.
        let mesh = [1, 31, 0, 0, 0, 45, 0, 0, 0, 0, 0, 9];
        let frame = dot11(0x0288, &[0, 0], &[&mesh[..], &body()].concat());
        assert_eq!(one(AIR, &frame).src_port, Some(40000));
        // An access point's queue size in the same bits.
        assert_eq!(one(AIR, &dot11(0x0288, &[0, 1], &body())).src_port, Some(40000));
    }

    #[test]
    fn aggregates() {
        let frame = dot11(0x0188, &[0x80, 0], &[subframe(0), subframe(0), subframe(0)].concat());
        let got = packets(AIR, &frame);
        assert_eq!(got.len(), 3);
        assert!(got.iter().all(|p| p.payload_bytes == Some(1) && p.stop == Stop::None && p.mpdu.is_some()));
        cut_everywhere(AIR, &frame);
        let with_fcs = [&frame[..], &[1, 2, 3, 4]].concat();
        assert_eq!(packets(AIR, &with_fcs).len(), 3);
        let lies = dot11(0x0188, &[0x80, 0], &[subframe(0), subframe(9000)].concat());
        let got = packets(AIR, &lies);
        assert_eq!((got.len(), got[0].stop, got[1].stop), (2, Stop::None, Stop::LengthLies));
        let remainder = dot11(0x0188, &[0x80, 0], &[&subframe(0)[..], &[1]].concat());
        assert_eq!(packets(AIR, &remainder)[1].stop, Stop::LengthLies);
        let flood = dot11(0x0188, &[0x80, 0], &[0; 14 * 1000]);
        assert_eq!(noted(AIR, &flood, NoteKind::TooDeep), 1);
    }

    #[test]
    fn a_frame_check_sequence_that_fails_is_noise() {
        let mut frame = dot11(0x0108, &[], &body());
        let mut crc = flate2::Crc::new();
        crc.update(&frame);
        frame.extend(crc.sum().to_le_bytes());
        let with = |data: &[u8], wire: usize| {
            let mut r = record(AIR, data, wire);
            r.fcs_bytes = Some(4);
            let (found, notes) = found_where_fcs_is_computed(&r);
            (found.packets.len(), notes.get(NoteKind::BadFcs).count)
        };
        assert_eq!(with(&frame, frame.len()), (1, 0));
        frame[40] ^= 1;
        assert_eq!(with(&frame, frame.len()), (0, 1));
        // A right IPv4 header checksum shows that the header is not damaged.
        frame[40] ^= 1;
        frame[42..44].copy_from_slice(&[0x14, 0x6f]);
        let mut r = record(AIR, &frame, frame.len());
        r.fcs_bytes = Some(4);
        let p = found_where_fcs_is_computed(&r).0.packets[0];
        assert_eq!((p.stop, p.stop_layer, p.src_port), (Stop::BadFcs, Layer::Link, Some(40000)));
        assert_eq!(p.intact, Some(false));
        frame[42..44].fill(0);
        assert_eq!(with(&frame[..60], frame.len()), (1, 0));
    }

    #[test]
    fn what_a_frame_carries() {
        let carries = |control: u16, rest: &[u8], body: &[u8]| {
            let f = frame(AIR, &dot11(control, rest, body)).0;
            (f.carries, f.ip_packet)
        };
        let arp = [0xaa, 0xaa, 3, 0, 0, 0, 8, 6, 0, 1];
        let eapol = [0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0x8e, 1, 3];
        assert_eq!(carries(0x0108, &[], &body()), (Carries::TcpData, true));
        assert_eq!(carries(0x0108, &[], &snap(&ipv4(6, &tcp(&[], &[])))), (Carries::TcpAck, true));
        assert_eq!(carries(0x0108, &[], &snap(&ipv4(17, &[0; 8]))), (Carries::Udp, true));
        assert_eq!(carries(0x0108, &[], &snap(&ipv4(1, &[8; 8]))), (Carries::OtherIp, true));
        assert_eq!(carries(0x0188, &[0, 0], &arp), (Carries::Other, false));
        assert_eq!(carries(0x0108, &[], &eapol), (Carries::Other, false));
        assert_eq!(carries(0x4108, &[], &body()), (Carries::Protected, false));
        assert_eq!(carries(0x01c8, &[0, 0], &[]), (Carries::Null, false));
        assert_eq!(carries(0x0080, &[], &[0; 12]), (Carries::Management, false));
        assert_eq!(carries(0x00d4, &[], &[]), (Carries::Control, false));
        assert_eq!(carries(0x0108, &[], &[]), (Carries::Unknown, true));
        // TCP data and an ACK in one A-MSDU.
        let subframe = |packet: &[u8]| [&[2; 12][..], &[0, packet.len() as u8], packet, &[0; 3]].concat();
        let mut two = subframe(&snap(&ipv4(6, &tcp(&[], &[]))));
        two.truncate(two.len().next_multiple_of(4) - 4);
        two.extend(subframe(&body()));
        assert_eq!(carries(0x0188, &[0x80, 0], &two).0, Carries::TcpData);
    }

    #[test]
    fn the_body_is_what_follows_the_header() {
        let mut data = dot11(0x8188, &[5, 0, 1, 2, 3, 4], b"body");
        let mut r = record(AIR, &data, data.len());
        r.fcs_bytes = Some(0);
        assert_eq!(found(&r).0.frames[0].1, b"body");
        data.extend([9; 4]);
        let mut r = record(AIR, &data, data.len());
        r.fcs_bytes = Some(4);
        for (found, ok) in [(found(&r), None), (found_where_fcs_is_computed(&r), Some(false))] {
            let (f, body) = &found.0.frames[0];
            assert_eq!((&body[..], f.fcs_ok, f.mpdu_bytes as usize), (&b"body"[..], ok, data.len()));
        }
    }
}
