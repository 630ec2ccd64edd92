//! URBs of network adapters: usbmon's two headers, USBPcap's, and framings of IP packets in bulk transfers.

use super::{connection, halves, words, ETHERNET, T0};

/// The fields of a usbmon header.
#[derive(Clone, Copy)]
struct Urb<'a> {
    id: u64,
    event: u8,
    /// 0 isochronous, 1 interrupt, 2 control, 3 bulk.
    transfer: u8,
    endpoint: u8,
    status: i32,
    asked: u32,
    setup: Option<[u8; 8]>,
    data: &'a [u8],
}

fn usbmon(u: Urb<'_>, long: bool, big_endian: bool) -> Vec<u8> {
    let e = big_endian;
    let mut out = if e { u.id.to_be_bytes() } else { u.id.to_le_bytes() }.to_vec();
    out.extend([u.event, u.transfer, u.endpoint, 5]);
    out.extend(halves(e, &[1]));
    out.extend([u8::from(u.setup.is_none()) * b'-', if u.data.is_empty() { b'<' } else { 0 }]);
    let seconds = u64::from(T0);
    out.extend(if e { seconds.to_be_bytes() } else { seconds.to_le_bytes() });
    out.extend(words(
        e,
        &[(u.id & 0xffff) as u32, u.status as u32, u.asked.max(u.data.len() as u32), u.data.len() as u32],
    ));
    out.extend(u.setup.unwrap_or([0; 8]));
    if long {
        out.extend(words(e, &[1, 0, 0, u32::from(u.transfer == 0)]));
    }
    out.extend_from_slice(u.data);
    out
}

fn usbpcap(u: Urb<'_>) -> Vec<u8> {
    let stage: &[u8] = if u.transfer == 2 { &[0] } else { &[] };
    let mut out = halves(false, &[27 + stage.len() as u16]);
    out.extend(u.id.to_le_bytes());
    out.extend(words(false, &[u.status as u32]));
    out.extend(halves(false, &[9]));
    out.push(u8::from(u.event == b'C'));
    out.extend(halves(false, &[1, 5]));
    out.extend([u.endpoint, u.transfer]);
    out.extend(words(false, &[u.data.len() as u32]));
    out.extend(stage);
    out.extend_from_slice(u.data);
    out
}

/// One Ethernet frame in each framing.
fn framed(ip: &[u8]) -> Vec<Vec<u8>> {
    let frame = [ETHERNET, ip].concat();
    let n = frame.len() as u32;
    let half = n as u16;
    let ncm = [
        &words(false, &[0x484d_434e])[..],
        &halves(false, &[12, 7, 32 + half, 12]),
        &words(false, &[0x304d_434e]),
        &halves(false, &[16, 0, 28, half, 0, 0]),
        &frame,
    ]
    .concat();
    let rndis = [&words(false, &[1, 44 + n, 36, n, 0, 0, 0, 0, 0, 0, 0])[..], &frame].concat();
    let asix = [&halves(false, &[half, !half])[..], &frame].concat();
    let ax88179 = [&frame[..], &[0; 7], &halves(false, &[half]), &[0, 0], &halves(false, &[1, half + 8])].concat();
    let r8152 = [&words(false, &[n + 4, 0, 0, 0, 0, 0])[..], &frame, &[0; 4]].concat();
    let mut prism2 = vec![0; 60];
    prism2[46..48].copy_from_slice(&half.to_le_bytes());
    prism2.extend([0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
    prism2.extend_from_slice(ip);
    let qmap = [&[0, 1][..], &halves(true, &[ip.len() as u16]), ip].concat();
    vec![frame, ncm, rndis, asix, ax88179, r8152, prism2, qmap, ip.to_vec()]
}

/// Submissions and completions: bulk in both directions in each framing, control, interrupt, isochronous.
fn urbs() -> Vec<(Urb<'static>, Vec<u8>)> {
    let none = Urb { id: 1, event: b'S', transfer: 3, endpoint: 2, status: -115, asked: 0, setup: None, data: &[] };
    let mut out = Vec::new();
    for (i, ip) in connection().iter().enumerate() {
        for (k, data) in framed(ip).into_iter().enumerate() {
            let id = (i * 16 + k) as u64;
            let into = (0x80 | (k as u8 + 1), id);
            out.push((Urb { id, endpoint: k as u8 + 1, ..none }, data.clone()));
            out.push((Urb { id: into.1 + 1000, endpoint: into.0, asked: 2048, ..none }, Vec::new()));
            out.push((Urb { id, endpoint: k as u8 + 1, event: b'C', status: 0, ..none }, Vec::new()));
            out.push((Urb { id: into.1 + 1000, endpoint: into.0, event: b'C', status: 0, ..none }, data));
        }
    }
    let setup = Some([0x80, 6, 0, 2, 0, 0, 64, 0]);
    let ncm =
        vec![9, 2, 32, 0, 1, 1, 0, 0x80, 50, 9, 4, 0, 0, 2, 10, 0, 1, 0, 7, 5, 0x81, 2, 0, 2, 0, 7, 5, 2, 2, 0, 2, 0];
    let iso = [words(false, &[0, 0, 192, 0]), vec![7; 192]].concat();
    out.push((Urb { id: 9001, transfer: 2, endpoint: 0x80, setup, ..none }, Vec::new()));
    out.push((Urb { id: 9001, transfer: 2, endpoint: 0x80, event: b'C', status: 0, ..none }, ncm));
    out.push((Urb { id: 9002, transfer: 1, endpoint: 0x83, ..none }, Vec::new()));
    out.push((Urb { id: 9002, transfer: 1, endpoint: 0x83, event: b'C', status: -32, ..none }, vec![1, 2]));
    out.push((Urb { id: 9003, transfer: 0, endpoint: 0x84, ..none }, iso.clone()));
    out.push((Urb { id: 9003, transfer: 0, endpoint: 0x84, event: b'C', status: 0, ..none }, iso));
    out.push((Urb { id: 9004, event: b'E', status: -19, ..none }, Vec::new()));
    let storage = b"USBC\x5e\0\0\0\0\x02\0\0\x80\0\x0a\x28\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0";
    out.push((Urb { id: 9005, endpoint: 9, ..none }, storage.to_vec()));
    out
}

/// Link type and records of each kind of header, in the order of a capture.
pub fn records() -> Vec<(u16, Vec<Vec<u8>>)> {
    let urbs = urbs();
    let all = |wrap: &dyn Fn(Urb<'_>) -> Vec<u8>| -> Vec<Vec<u8>> {
        urbs.iter().map(|(u, data)| wrap(Urb { data, ..*u })).collect()
    };
    vec![
        (189, all(&|u| usbmon(u, false, false))),
        (220, all(&|u| usbmon(u, true, false))),
        (220, all(&|u| usbmon(u, true, true))),
        (249, all(&usbpcap)),
    ]
}
