//! Conversations from beacon to data, in the orders in which captures have them.

use super::keys::Keys;
use super::testing::*;
use super::*;
use crate::notes::NoteKind;

const PLAIN: &[u8] = b"\xaa\xaa\x03\0\0\0\x08\0an IP packet, for all that this room knows";

fn keyed(lines: &[&str]) -> Crypto {
    Crypto::new(Keys::parse(lines.iter().map(|l| l.as_bytes())).unwrap())
}

fn hear(c: &mut Crypto, (frame, body): Air) {
    if frame.kind() == Some(control::MANAGEMENT) {
        c.management(&frame, &body);
    } else {
        c.payload(&frame, &body);
    }
}

#[track_caller]
fn opens(c: &mut Crypto, (frame, body): &Air) {
    let mut out = Vec::new();
    let want = Opened { wire_bytes: body.len() - 16, michael: None };
    assert_eq!(c.open(frame, body, body.len(), &mut out), Ok(want));
    assert_eq!(out, PLAIN);
}

#[track_caller]
fn stays_closed(c: &mut Crypto, (frame, body): &Air, why: Unread) {
    assert_eq!(c.open(frame, body, body.len(), &mut Vec::new()), Err(why));
}

const KEY: &str = "wpa-pwd:correct horse";

#[test]
fn a_handshake_in_each_order() {
    let h = handshake(PASSPHRASE, 1, 2);
    let (data, up_data) = (h.sealed(down(STATION), 1, PLAIN), h.sealed(up(), 1, PLAIN));
    let group = sealed(&GTK, down(EVERYBODY), 0x60, 1, PLAIN);
    for (messages, has_group) in
        [(&[1, 2, 3, 4][..], true), (&[1, 2], false), (&[2, 3], true), (&[1, 2, 2, 1, 3, 3, 4], true)]
    {
        let mut c = keyed(&[KEY]);
        hear(&mut c, named());
        stays_closed(&mut c, &data, Unread::BeforeHandshake);
        messages.iter().for_each(|n| hear(&mut c, h.message(*n)));
        opens(&mut c, &data);
        opens(&mut c, &up_data);
        assert_eq!(c.pairs[&(AP, STATION)].sessions.len(), 1);
        if has_group {
            opens(&mut c, &group);
        } else {
            stays_closed(&mut c, &group, Unread::BeforeHandshake);
        }
        assert_eq!(c.notes().iter().count(), 0);
    }
}

#[test]
fn the_name_may_come_late_or_with_the_key() {
    let h = handshake(PASSPHRASE, 1, 2);
    let data = h.sealed(down(STATION), 1, PLAIN);
    let mut c = keyed(&[KEY]);
    [1, 2].iter().for_each(|n| hear(&mut c, h.message(*n)));
    stays_closed(&mut c, &data, Unread::NoName);
    hear(&mut c, named());
    opens(&mut c, &data);
    for line in ["wpa-pwd:correct horse:net", "\"wpa-pwd\",\"correct horse:net\"", "correct horse"] {
        let mut c = keyed(&["wpa-pwd:something else", "wep:0102030405", line]);
        // A hidden network, beside one with the name.
        hear(&mut c, beacon(&[0, 0]));
        let (mut other, body) = named();
        other.address_3 = Some([6; 6]);
        hear(&mut c, (other, body));
        [1, 2].iter().for_each(|n| hear(&mut c, h.message(*n)));
        opens(&mut c, &data);
    }
    let pmk = kdf::pmk_of_passphrase(PASSPHRASE.as_bytes(), SSID);
    let digits: String = pmk.iter().map(|b| format!("{b:02X}")).collect();
    let mut c = keyed(&[&format!("wpa-psk:{digits}")]);
    [1, 2].iter().for_each(|n| hear(&mut c, h.message(*n)));
    opens(&mut c, &data);
}

#[test]
fn a_station_that_comes_again_and_rekeys() {
    let (first, second) = (handshake(PASSPHRASE, 1, 2), handshake(PASSPHRASE, 3, 4));
    let mut c = keyed(&[KEY]);
    hear(&mut c, named());
    (1..=4).for_each(|n| hear(&mut c, first.message(n)));
    opens(&mut c, &first.sealed(up(), 1, PLAIN));
    (1..=4).for_each(|n| hear(&mut c, second.message(n)));
    // Frames that were in flight, and a new group key.
    opens(&mut c, &first.sealed(up(), 2, PLAIN));
    opens(&mut c, &second.sealed(up(), 1, PLAIN));
    hear(&mut c, second.message(5));
    opens(&mut c, &sealed(&GTK, down(EVERYBODY), 0x60, 1, PLAIN));
    opens(&mut c, &sealed(&[0x78; 16], down(EVERYBODY), 0x60, 1, PLAIN));
}

#[test]
fn wrong_keys_say_so() {
    let h = handshake("another passphrase", 1, 2);
    let data = h.sealed(up(), 1, PLAIN);
    let mut c = keyed(&[KEY]);
    hear(&mut c, named());
    (1..=4).for_each(|n| hear(&mut c, h.message(n)));
    stays_closed(&mut c, &data, Unread::WrongKey);
    let notes = c.notes();
    assert_eq!((notes.get(NoteKind::HandshakeUnfit).count, notes.get(NoteKind::NothingDecrypted).count), (1, 1));
    let mut none = keyed(&[]);
    stays_closed(&mut none, &data, Unread::NoKey);
    assert_eq!(none.notes().iter().count(), 0);
}

#[test]
fn a_neighbour_is_no_mistake() {
    let h = handshake("another passphrase", 1, 2);
    let mut c = keyed(&["wpa-pwd:correct horse:home"]);
    hear(&mut c, named());
    (1..=4).for_each(|n| hear(&mut c, h.message(n)));
    stays_closed(&mut c, &h.sealed(up(), 1, PLAIN), Unread::OtherNetwork);
    assert_eq!(c.notes().get(NoteKind::HandshakeUnfit).count, 0);
}

#[test]
fn what_cannot_be_read_is_named() {
    for (rsn, why) in [
        ("3012 0100 000fac04 0100 000fac04 0100 000fac08", Unread::Wpa3),
        ("3012 0100 000fac04 0100 000fac08 0100 000fac02", Unread::Gcmp),
        ("3012 0100 000fac04 0100 000fac04 0100 000fac04", Unread::FastTransition),
        ("3012 0100 000fac04 0100 000fac04 0100 000fac05", Unread::Enterprise),
        ("3012 0100 000fac04 0100 000fac04 0100 000fac06", Unread::BeforeHandshake),
    ] {
        let mut c = keyed(&[KEY]);
        hear(&mut c, beacon(&hex(rsn)));
        let data = handshake(PASSPHRASE, 1, 2).sealed(up(), 1, PLAIN);
        stays_closed(&mut c, &data, why);
        // A station's own choice counts more than its network's offer.
        let mut joins = up();
        joins.control = Some(0);
        hear(&mut c, (joins, [&[0; 4][..], &hex(RSN)].concat()));
        stays_closed(&mut c, &data, Unread::BeforeHandshake);
    }
}

#[test]
fn a_cut_frame_is_read_as_far_as_it_goes() {
    let h = handshake(PASSPHRASE, 1, 2);
    let mut c = keyed(&[KEY]);
    hear(&mut c, named());
    (1..=2).for_each(|n| hear(&mut c, h.message(n)));
    let (frame, body) = h.sealed(up(), 1, PLAIN);
    let mut out = Vec::new();
    for n in 0..body.len() {
        let opened = c.open(&frame, &body[..n], body.len(), &mut out);
        if n < 8 + 6 {
            assert!(opened.is_err(), "{n}");
        } else {
            assert_eq!(opened, Ok(Opened { wire_bytes: PLAIN.len(), michael: None }));
            assert_eq!(out[..n.min(8 + PLAIN.len()) - 8], PLAIN[..n.min(8 + PLAIN.len()) - 8]);
        }
    }
    let mut bad = body;
    bad[9] ^= 1;
    assert_eq!(c.open(&frame, &bad, bad.len(), &mut out), Err(Unread::Damaged));
    bad[9] ^= 1;
    bad[9] ^= 2;
    assert_eq!(c.open(&frame, &bad[..30], bad.len(), &mut out), Err(Unread::Damaged));
}

#[test]
fn floods_stay_in_bounds() {
    let h = handshake("another passphrase", 1, 2);
    let mut c = keyed(&[KEY, "wpa-psk:0000000000000000000000000000000000000000000000000000000000000000"]);
    c.trials = 500;
    for i in 0..limits::PAIRS as u32 + 100 {
        let [b0, b1, b2, b3] = i.to_be_bytes();
        let station = [2, 1, b0, b1, b2, b3];
        let (mut down, first) = h.message(1);
        down.address_1 = Some(station);
        let (mut up, second) = h.message(2);
        up.address_2 = Some(station);
        let (mut other, body) = named();
        other.address_3 = Some(station);
        [(other, body), (down, first), (up, second)].into_iter().for_each(|air| hear(&mut c, air));
    }
    assert!(c.pairs.len() <= limits::PAIRS && c.trials == 0);
    assert_eq!(c.notes().get(NoteKind::KeysCapped).count, 1);
}
