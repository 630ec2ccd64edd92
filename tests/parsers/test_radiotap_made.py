"""Capture headers and MAC headers made by hand, where real captures are few: HE, EHT, every control frame.

tshark reads the same file; it must be 4.0 or later. What it does not know (EHT, rates under DCM or STBC) is checked
against the tables of the standard alone.
"""

from __future__ import annotations

import shutil
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.captures import pcap
from tests.parsers.test_frames_tshark import differences, ours, tshark

RADIOTAP, BARE = 127, 105
ACK = struct.pack("<HH6s", 0x00D4, 0, b"\x02\0\0\0\0\x01")

needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")


def radiotap(present: int | Iterable[int], fields: bytes, frame: bytes = ACK) -> bytes:
    """A header of these present words; the fields' own alignment is the caller's."""
    words = [present] if isinstance(present, int) else list(present)
    length = 4 + 4 * len(words) + len(fields)
    return struct.pack(f"<BBH{len(words)}I", 0, 0, length, *words) + fields + frame


def tlv(kind: int, value: bytes) -> bytes:
    return struct.pack("<HH", kind, len(value)) + value + bytes(-len(value) % 4)


def write(tmp_path: Path, records: list[bytes], link_type: int = RADIOTAP) -> Path:
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap([(i * 1_000_000, data) for i, data in enumerate(records)], link_type))
    return path


def rows(path: Path) -> list[dict[str, Any]]:
    return list(ours(path)[0].values())


SU, ER_SU, MU, TB = range(4)


def he(ppdu: int, mcs: int, bandwidth: int, gi: int, nsts: int, *, dcm: int = 0, stbc: int = 0) -> bytes:
    """A HE field in which everything that determines the rate is known (radiotap.org/fields/HE)."""
    data1 = ppdu | 0x0020 | 0x0040 | 0x0080 | 0x0200 | 0x4000
    data3 = mcs << 8 | dcm << 12 | 1 << 13 | stbc << 15
    data5 = bandwidth | gi << 4 | 2 << 6 | 1 << 8
    return struct.pack("<6H", data1, 0x0006, data3, 0, data5, nsts)


@needs_tshark
def test_he_rates(tmp_path: Path) -> None:
    """Every MCS, guard interval and number of streams at every width and resource unit that tshark has a table for."""
    cases = [(SU, m, b, g, n) for m in range(12) for b in range(4) for g in range(3) for n in (1, 2, 3, 8)]
    cases += [(MU, m, b, g, n) for m in range(12) for b in range(4, 10) for g in range(3) for n in (1, 4)]
    path = write(tmp_path, [radiotap(1 << 23, he(*case)) for case in cases])
    for case, f, row in zip(cases, tshark(path), rows(path), strict=True):
        # tshark's table has one decimal place, and does not round a symbol's bits down to whole ones (clause 27.5).
        bits_lost_mbps = 1 / 13.6
        assert row["rate_mbps"] == pytest.approx(float(f["wlan_radio.data_rate"][0]), abs=0.051 + bits_lost_mbps), case
        assert (row["phy"], row["mcs"], row["streams"]) == ("ax", case[1], case[4])
        assert row["guard_ns"] == (800, 1600, 3200)[case[3]]
        assert row["width_mhz"] == ({0: 20, 1: 40, 2: 80, 3: 160}.get(case[2]))


@pytest.mark.parametrize(
    ("field", "rate_mbps", "width_mhz", "streams"),
    [
        # Table 27-71: 242-tone RU, one stream, 0.8 us: 58 bits a symbol under DCM, of 117.
        (he(SU, 0, 0, 0, 1, dcm=1), 4.3, 20, 1),
        (he(SU, 4, 0, 0, 1, dcm=1), 25.8, 20, 1),
        # Under STBC two space-time streams carry one.
        (he(SU, 0, 0, 0, 2, stbc=1), 8.6, 20, 1),
        # 2x996 tones, which tshark has no rate for (Table 27-103).
        (he(MU, 7, 10, 1, 2), 1361.1, 160, 2),
        # An extended range PPDU on the upper 106 tones of 20 MHz (clause 27.3.4).
        (he(ER_SU, 0, 6, 0, 1), 3.8, 20, 1),
        (he(ER_SU, 2, 0, 2, 1), 21.9, 20, 1),
        # What is not known stays so: no streams, no bandwidth.
        (he(SU, 7, 0, 0, 0), None, 20, None),
        (struct.pack("<6H", SU | 0x0020, 2, 7 << 8, 0, 0, 1), None, None, 1),
    ],
)
def test_he_beyond_tshark(
    field: bytes, rate_mbps: float | None, width_mhz: int | None, streams: int | None, tmp_path: Path
) -> None:
    [row] = rows(write(tmp_path, [radiotap(1 << 23, field)]))
    assert row["rate_mbps"] == (rate_mbps and pytest.approx(rate_mbps, abs=0.051))
    assert (row["phy"], row["width_mhz"], row["streams"]) == ("ax", width_mhz, streams)


def test_he_mu_tells_the_width_of_the_ppdu(tmp_path: Path) -> None:
    field = he(MU, 5, 4, 0, 1) + struct.pack("<HH8x", 0xC000, 0x0004 | 2 | 3 << 4)
    [row] = rows(write(tmp_path, [radiotap(1 << 23 | 1 << 24, field)]))
    # A 26-tone RU in 80 MHz: 24 subcarriers, 64-QAM 2/3 (Table 27-55).
    assert (row["width_mhz"], row["rate_mbps"]) == (80, pytest.approx(7.1, abs=0.051))


def u_sig(bandwidth: int, uplink: int, mode: int, *, punctured: int = 0, version: int = 0) -> bytes:
    common = 0x0007 | version << 12 | bandwidth << 15 | uplink << 18
    value = mode << 6 | punctured << 9 | 3 << 17
    return tlv(33, struct.pack("<III", common, value, 0x003FFEC0))


def eht(gi: int, users: list[int], *, tones: int | None = None) -> bytes:
    known = 0x0004 | 0x0010 | (0x0040_0000 if tones is not None else 0)
    data = [gi << 7 | 2 << 9 | 1 << 11, tones or 0] + [0] * 7
    return tlv(34, struct.pack(f"<I9I{len(users)}I", known, *data, *users))


def user(mcs: int, streams: int, *, captured: bool = True) -> int:
    return 0x0016 | (0x80 if captured else 0) | mcs << 20 | (streams - 1) << 24


@pytest.mark.parametrize(
    ("fields", "mcs", "streams", "width_mhz", "rate_mbps"),
    [
        # Clause 36.5, 0.8 us unless said: whole widths of single users.
        (u_sig(0, 0, 1) + eht(0, [user(0, 1)]), 0, 1, 20, 8.6),
        (u_sig(2, 0, 1) + eht(0, [user(11, 2)]), 11, 2, 80, 1201.0),
        (u_sig(3, 0, 1) + eht(0, [user(13, 2)]), 13, 2, 160, 2882.4),
        (u_sig(4, 0, 1) + eht(0, [user(13, 1)]), 13, 1, 320, 2882.4),
        (u_sig(5, 1, 1) + eht(2, [user(9, 1)]), 9, 1, 320, 1633.3),
        # BPSK twice over the width, and under DCM.
        (u_sig(2, 0, 1) + eht(0, [user(14, 1)]), 14, 1, 80, 8.6),
        (u_sig(0, 0, 1) + eht(0, [user(15, 1)]), 15, 1, 20, 4.3),
        # OFDMA: the user whose data it is, on 484+242 tones of 80 MHz.
        (u_sig(2, 0, 0) + eht(1, [user(3, 4, captured=False), user(11, 1)], tones=10), 11, 1, 80, 406.2),
        # Triggered, on 52+26 tones.
        (u_sig(1, 1, 0) + eht(2, [user(1, 1)], tones=8), 1, 1, 40, 4.5),
        # OFDMA without the RU, and a punctured width: no rate without a guess.
        (u_sig(2, 0, 0) + eht(0, [user(11, 1)]), 11, 1, 80, None),
        (u_sig(2, 0, 1, punctured=3) + eht(0, [user(11, 1)]), 11, 1, 80, None),
        # Two users, neither marked: whose data it is nobody says.
        (u_sig(2, 0, 2) + eht(0, [user(1, 1, captured=False)] * 2, tones=5), None, None, 80, None),
        # A list of lengths pads its end with zeros; the vendor's and tomorrow's types are passed over.
        (tlv(30, bytes(9)) + tlv(99, b"x") + u_sig(0, 0, 1) + eht(0, [user(7, 1)]), 7, 1, 20, 86.0),
    ],
)
def test_eht(
    fields: bytes, mcs: int | None, streams: int | None, width_mhz: int, rate_mbps: float | None, tmp_path: Path
) -> None:
    [row] = rows(write(tmp_path, [radiotap(1 << 28, fields)]))
    assert (row["phy"], row["mcs"], row["streams"], row["width_mhz"]) == ("be", mcs, streams, width_mhz)
    assert row["rate_mbps"] == (rate_mbps and pytest.approx(rate_mbps, abs=0.051))


def test_a_later_phy_is_not_taken_for_eht(tmp_path: Path) -> None:
    [row] = rows(write(tmp_path, [radiotap(1 << 28, u_sig(2, 0, 1, version=1))]))
    assert (row["phy"], row["width_mhz"]) == (None, None)


def test_s1g_is_noted(tmp_path: Path) -> None:
    path = write(tmp_path, [radiotap(1 << 28, tlv(32, struct.pack("<3H", 0x3F, 2 << 8 | 5 << 12 | 1 << 6, 0)))])
    (row,), notes = list(ours(path)[0].values()), ours(path)[1]
    assert (row["phy"], row["rate_mbps"], row["width_mhz"], row["mcs"], row["streams"]) == (None, None, 4, 5, 2)
    assert "s1g" in notes


def mcs(index: int, flags: int, known: int = 0xFF) -> bytes:
    return struct.pack("<BBB", known, flags, index)


def vht(users: list[tuple[int, int]], bandwidth: int, flags: int = 0) -> bytes:
    fields = [m << 4 | n for m, n in users] + [0] * (4 - len(users))
    return struct.pack("<HBB4BBBH", 0x01FF, flags, bandwidth, *fields, 1, 0, 0)


@needs_tshark
def test_ht_and_vht(tmp_path: Path) -> None:
    records = [
        radiotap(1 << 19, mcs(index, flags)) for index in range(76) if index != 32 for flags in (0, 1, 4, 5, 0x62)
    ]
    records += [
        radiotap(1 << 21, vht([(m, n)], bandwidth, flags))
        for m in range(9)
        for n in (1, 2, 4, 8)
        for bandwidth in (0, 1, 4, 11)
        for flags in (0, 4)
    ]
    assert not differences(write(tmp_path, records))


@pytest.mark.parametrize(
    ("present", "field", "expected"),
    [
        # MCS 32 is the HT duplicate, 6 Mbit/s (Table 19-38); tshark scales its 24 bits as if they were at 20 MHz.
        (1 << 19, mcs(32, 1), {"rate_mbps": 6.0, "streams": 1, "width_mhz": 40}),
        (1 << 19, mcs(7, 0, known=0x02), {"rate_mbps": None, "mcs": 7, "width_mhz": None, "guard_ns": None}),
        # The last MCS (Table 19-41), which tshark leaves out; none behind it.
        (1 << 19, mcs(76, 5), {"rate_mbps": pytest.approx(495.0), "streams": 4, "guard_ns": 400}),
        (1 << 19, mcs(77, 0), {"rate_mbps": None, "mcs": None, "streams": None}),
        # Of two users the one whose MCS is known (radiotap.org/fields/VHT); 9 of 2 streams at 80 MHz.
        (1 << 21, vht([(15, 1), (9, 2)], 4), {"rate_mbps": pytest.approx(780.0), "mcs": 9, "streams": 2}),
        (1 << 21, vht([(15, 1)], 4), {"rate_mbps": None, "mcs": None, "streams": 1}),
        # The lower half of 40 MHz is 20 MHz wide.
        (1 << 21, vht([(0, 1)], 2), {"rate_mbps": 6.5, "width_mhz": 20}),
    ],
)
def test_ht_and_vht_beyond_tshark(present: int, field: bytes, expected: dict[str, object], tmp_path: Path) -> None:
    [row] = rows(write(tmp_path, [radiotap(present, field)]))
    assert {name: row[name] for name in expected} == expected


@needs_tshark
def test_fields_around_each_other(tmp_path: Path) -> None:
    """Alignment, vendors' namespaces, one namespace an antenna, padding in front of the body."""
    flags_rate_channel = bytes([0x00, 0x0C]) + struct.pack("<HH", 2412, 0x00C0)
    vendor = struct.pack("<3sBH", b"\x00\x11\x22", 0, 5) + b"vends"
    data = struct.pack("<HH6s6s6sHH", 0x0188, 44, *([b"\x02\0\0\0\0\x01"] * 3), 0x10, 5)
    body = bytes.fromhex("aaaa03000000080600010800060400010200000000010a0000010000000000000a000002")
    records = [
        radiotap(0x0E, flags_rate_channel),
        radiotap((1 << 31 | 1 << 29 | 0x2F, 1 << 31 | 1 << 29 | 0x820, 0x820),
                 struct.pack("<Q", 77) + flags_rate_channel + bytes([200, 199, 0, 198, 1])),
        radiotap((1 << 31 | 1 << 30 | 0x0E, 1 << 31 | 1 << 29 | 0xFFFF, 0x20), flags_rate_channel
                 + vendor + bytes([200])),
        radiotap(0x02, b"\x20", data + bytes(2) + body),
        radiotap(1 << 22, struct.pack("<QHBB", 123456, 0, 1 | 2 << 4, 0)),
    ]  # fmt: skip
    path = write(tmp_path, records)
    assert not differences(path)
    got = rows(path)
    assert [r["signal_dbm"] for r in got] == [None, -56, -56, None, None]
    assert (got[1]["tsf_us"], got[1]["antenna"], got[4]["tsf_us"]) == (77, 0, 123456)
    assert (got[3]["carries"], got[3]["mpdu_bytes"]) == ("other", len(data + body) + 4)


def test_a_ppdu_without_a_frame(tmp_path: Path) -> None:
    path = write(tmp_path, [radiotap(1 << 23 | 1 << 26, he(SU, 0, 2, 0, 2) + b"\0", b"")])
    found, notes = ours(path)
    assert (found[1]["type"], found[1]["phy"], found[1]["width_mhz"], found[1]["mpdu_bytes"]) == (None, "ax", 80, 0)
    assert found[1]["stop"] is None
    assert "no_frame" in notes


A, B, C, D = (bytes([2, 0, 0, 0, 0, i]) for i in range(1, 5))


def mac(kind: int, subtype: int, rest: bytes, *, flags: int = 0, duration: int = 44) -> bytes:
    return struct.pack("<BBH", kind << 2 | subtype << 4, flags, duration) + rest


@needs_tshark
def test_every_mac_header(tmp_path: Path) -> None:
    seq = struct.pack("<H", 0x1235)
    ht_control = bytes([0, 0, 0, 0])
    records = [mac(0, s, A + B + C + seq + bytes(40)) for s in (0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12)]
    records += [mac(0, 13, A + B + C + seq + ht_control + b"\x03\x00\x01", flags=0x80)]
    for flags, last in ((0, b""), (1, b""), (2, b""), (3, D)):
        for subtype in (0, 4, 8, 12):
            qos = b"\x05\x00" if subtype & 8 else b""
            records += [mac(2, subtype, A + B + C + seq + last + qos, flags=flags | 0x08)]
        records += [mac(2, 8, A + B + C + seq + last + b"\x07\x00" + ht_control + bytes(30), flags=flags | 0x80)]
    records += [
        mac(1, 8, A + B + struct.pack("<HH", 0x5004, 0x1230)),
        mac(1, 9, A + B + struct.pack("<HHQ", 0x5004, 0x1230, 3)),
        mac(1, 10, A + B, duration=0xC001),
        mac(1, 11, A + B),
        mac(1, 12, A),
        mac(1, 13, A),
        mac(1, 14, A + B),
        mac(1, 5, A + B + b"\x04\x01\x00"),
        mac(1, 2, A + B + struct.pack("<QB", 3, 0)),
        mac(1, 4, A + B + b"\0"),
    ]
    assert not differences(write(tmp_path, records, BARE))


def test_headers_that_tshark_does_not_read(tmp_path: Path) -> None:
    """9.3.1.8 (control wrapper), 9.3.1.9 (control frame extension), 9.3.4 (extension frames), 9.3.1.6."""
    records = [
        # A wrapped RTS and a wrapped ACK; a DMG CTS; a DMG DTS, which has no TA; beacons; the bandwidth signalled.
        mac(1, 7, A + struct.pack("<H", 0x00B4) + bytes(4) + B),
        mac(1, 7, A + struct.pack("<H", 0x00D4) + bytes(4)),
        mac(1, 6, A + B, flags=0x05),
        mac(1, 6, A + B + C, flags=0x06),
        mac(3, 0, A + bytes(20)),
        mac(3, 1, A + bytes(20)),
        mac(1, 11, A + bytes([B[0] | 1]) + B[1:]),
        mac(1, 14, A + B),
    ]
    got = rows(write(tmp_path, records, BARE))
    text = [":".join(f"{byte:02x}" for byte in address) for address in (A, B)]
    assert [r["ra"] for r in got] == [text[0]] * 4 + [None, None] + [text[0]] * 2
    assert [r["ta"] for r in got] == [text[1], None, text[1], None, None, text[0], text[1], text[1]]
    assert [r["bssid"] for r in got] == [None] * 4 + [text[0], None, None, text[1]]
    assert [r["retry"] for r in got] == [False, False, None, None, False, None, False, False]


def test_an_fcs_that_nobody_announces(tmp_path: Path) -> None:
    """Found by the first sound frame, checked from there on; in a capture without, nothing is made of the last bytes."""
    beacon = mac(0, 8, A + B + C + bytes(2) + bytes(range(30)))
    with_fcs = beacon + struct.pack("<I", zlib.crc32(beacon))
    damaged = with_fcs[:30] + b"\xff" + with_fcs[31:]
    found, notes = ours(write(tmp_path, [damaged, with_fcs, damaged, with_fcs], BARE))
    assert [r["fcs_ok"] for r in found.values()] == [None, True, False, True]
    assert [r["mpdu_bytes"] for r in found.values()] == [len(with_fcs) + 4] + [len(with_fcs)] * 3
    assert "fcs_found" in notes
    found, notes = ours(write(tmp_path, [beacon] * 70 + [with_fcs], BARE))
    assert {r["fcs_ok"] for r in found.values()} == {None}
    assert "fcs_found" not in notes
