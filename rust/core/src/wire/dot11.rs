//! 802.11 frames as far as IP inside open data frames (IEEE 802.11-2020 clause 9.2 and 9.3.2).

use crate::frame::{control, qos, Carries, Frame};
use crate::limits;
use crate::notes::NoteKind;
use crate::packet::{Layer, Mpdu, Stop};
use crate::phy::Radio;

use super::decoder::{Decoder, Found};
use super::fcs;
use super::heard::Heard;
use super::llc;
use super::mac_header;
use super::view::View;

/// The frame behind a capture header that states its own length, which is at least `least` bytes.
pub(super) fn behind(d: &mut Decoder<'_>, v: View<'_>, header_bytes: u32, least: usize, radio: &Radio) -> Found {
    let header = usize::try_from(header_bytes).unwrap_or(usize::MAX);
    if header < least || header > v.wire() {
        return lost(d, Stop::LengthLies);
    }
    frame(d, v.skip(header), &Heard { radio: *radio, ..Heard::default() })
}

/// A frame that begins with its 802.11 header, the container alone telling of its FCS.
pub(super) fn dot11(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    frame(d, v, &Heard::default())
}

/// The record's one frame: its packets are handed out, then itself.
pub(super) fn frame(d: &mut Decoder<'_>, v: View<'_>, heard: &Heard) -> Found {
    if heard.empty {
        return no_frame(d, heard);
    }
    let fcs = fcs::settle(d, v, heard);
    if fcs.ok == Some(false) {
        d.note(NoteKind::BadFcs);
        d.unproven = true;
    }
    let before = d.packet;
    let v = if fcs.at_end == Some(true) { v.clip(v.wire().saturating_sub(fcs::BYTES)) } else { v };
    let mut frame = Frame {
        number: d.packet.number,
        time_ns: d.packet.time_ns,
        mpdu_bytes: u32::try_from(v.wire() + fcs::BYTES).unwrap_or(u32::MAX),
        fcs_ok: fcs.ok,
        radio: heard.radio,
        ..Frame::default()
    };
    let mut header = mac_header::read(&mut frame, v);
    if heard.padded {
        let pad = header.next_multiple_of(4) - header;
        header += pad;
        frame.mpdu_bytes = frame.mpdu_bytes.saturating_sub(pad as u32);
    }
    let body = v.skip(header);
    let found = inside(d, &frame, body, fcs.at_end.is_some());
    if d.unproven {
        // Nothing vouched for anything in it: no row is made of noise.
        d.packet = before;
    } else {
        if fcs.ok == Some(false) {
            (d.packet.stop, d.packet.stop_layer) = (Stop::BadFcs, Layer::Link);
        }
        d.finish(found);
        d.packet = before;
    }
    frame.carries = carries(d, &frame);
    frame.ip_packet = d.ip_packet;
    d.sink.frame(&mut frame, body.data());
    Found::Other
}

/// A frame that cannot be reached, since the capture header in front of it is damaged: a row for the reason.
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
fn no_frame(d: &mut Decoder<'_>, heard: &Heard) -> Found {
    d.note(NoteKind::NoFrame);
    let mut frame =
        Frame { number: d.packet.number, time_ns: d.packet.time_ns, radio: heard.radio, ..Frame::default() };
    d.sink.frame(&mut frame, &[]);
    Found::Other
}

fn carries(d: &Decoder<'_>, frame: &Frame) -> Carries {
    match frame.kind() {
        Some(control::MANAGEMENT) => Carries::Management,
        Some(control::CONTROL) => Carries::Control,
        Some(control::DATA) if frame.has(control::NO_DATA) => Carries::Null,
        Some(control::DATA) if frame.has(control::PROTECTED) && d.carries == Carries::Unknown => Carries::Protected,
        _ => d.carries,
    }
}

/// The packets inside a frame.
fn inside(d: &mut Decoder<'_>, frame: &Frame, body: View<'_>, fcs_known: bool) -> Found {
    if frame.stop != Stop::None && frame.control.is_none() {
        return d.damaged(frame.stop, Layer::Link);
    }
    if !frame.is_data() || frame.has(control::NO_DATA) {
        d.note_of(frame.stop);
        return Found::Other;
    }
    data(d, frame, body, fcs_known)
}

fn data(d: &mut Decoder<'_>, frame: &Frame, body: View<'_>, fcs_known: bool) -> Found {
    if let (Some(ra), Some(ta), Some(seq_ctl)) = (frame.address_1, frame.address_2, frame.seq_ctl) {
        d.packet.mpdu = Some(Mpdu { ta, ra, seq_ctl, tid: frame.tid().unwrap_or(0), retry: frame.retry() });
    }
    if frame.has(control::PROTECTED) {
        d.note(NoteKind::Encrypted);
        d.note_of(frame.stop);
        return Found::Other;
    }
    if frame.fragment().is_some_and(|n| n != 0) && !d.unproven {
        // The LLC header was in the first fragment. (In a damaged frame the number itself may be the damage.)
        d.note(NoteKind::WlanFragment);
        return Found::Other;
    }
    if frame.stop != Stop::None {
        return d.damaged(frame.stop, Layer::Link);
    }
    let qos = frame.qos.unwrap_or(0);
    let mesh = qos & qos::MESH != 0 && frame.has(control::FROM_DS);
    if frame.has(control::MORE_FRAGMENTS) {
        d.note(NoteKind::WlanFragment);
        d.stop(Stop::Fragment, Layer::Link);
        return match msdu(d, body, mesh) {
            Found::Row => Found::Row,
            Found::Other => d.other(),
        };
    }
    if qos & qos::AMSDU != 0 && !d.unproven {
        amsdu(d, body, mesh, fcs_known)
    } else {
        msdu(d, body, mesh)
    }
}

/// An MSDU, after its mesh control field if there is one. Drafts of 802.11s had no bit in the QoS field to announce
/// it, so the SNAP header behind it is evidence, too.
fn msdu(d: &mut Decoder<'_>, v: View<'_>, mesh: bool) -> Found {
    let length = v.u8(0).map_or(0, mesh_control);
    let behind = v.skip(length);
    let found = llc::llc(d, if mesh || behind.array(0) == Some(llc::SNAP_HEADER) { behind } else { v });
    if found == Found::Other && d.carries == Carries::Unknown && !d.unproven {
        d.carries = Carries::Other;
    }
    found
}

/// Length of a mesh control field with these flags (clause 9.2.4.8.3): 0, 1 or 2 more addresses. Access points set
/// the QoS bit for other purposes, so reserved flags mean that there is none; LLC's 0xaa has some set.
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
    // Without knowing better, the last bytes may be the FCS.
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
        cut_everywhere, decode, dot11, found, frame, ipv4, noted, one, packets, record, snap, tcp,
    };
    use crate::frame::Carries;
    use crate::notes::NoteKind;
    use crate::packet::{Layer, Stop};

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
        let p = one(AIR, &dot11(0x0508, &[], &body()[..30]));
        assert_eq!((p.ip_version, p.stop, p.stop_layer), (4, Stop::Fragment, Layer::Link));
        assert!(packets(AIR, &dot11(0x0508, &[], &[0xaa, 0xaa, 3, 0, 0, 0, 8, 6])).is_empty());
        let mut later = dot11(0x0108, &[], &body());
        later[22] |= 1;
        assert!(packets(AIR, &later).is_empty());
        assert_eq!(noted(AIR, &later, NoteKind::WlanFragment), 1);
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
            let (packets, notes) = decode(&r);
            (packets.len(), notes.get(NoteKind::BadFcs).count)
        };
        assert_eq!(with(&frame, frame.len()), (1, 0));
        frame[40] ^= 1;
        assert_eq!(with(&frame, frame.len()), (0, 1));
        // A right IPv4 header checksum tells that the header is none of the damage.
        frame[40] ^= 1;
        frame[42..44].copy_from_slice(&[0x14, 0x6f]);
        let mut r = record(AIR, &frame, frame.len());
        r.fcs_bytes = Some(4);
        let p = decode(&r).0[0];
        assert_eq!((p.stop, p.stop_layer, p.src_port), (Stop::BadFcs, Layer::Link, Some(40000)));
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
        // TCP data beside an ACK in one A-MSDU.
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
        let (f, body) = &found(&r).0.frames[0];
        assert_eq!((&body[..], f.fcs_ok, f.mpdu_bytes as usize), (&b"body"[..], Some(false), data.len()));
    }
}
