"""Time on the air compared with tshark and with a second implementation of the standard's formulas.

Clauses are those of IEEE 802.11-2020; HE is IEEE 802.11ax-2021 clause 27.
"""

from __future__ import annotations

import itertools
import shutil
import struct
import subprocess
from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import wlanlens as wl

SHARED = Path(__file__).resolve().parents[3] / "shared" / "captures" / "wlan"
#: Behind OFDM at 2.4 GHz the air stays idle so long, and TXTIME counts it (clauses 18.5.3.2, 19.4.3); tshark leaves it out.
EXTENSION_US = 6


class Theirs(NamedTuple):
    """What tshark says of one frame."""

    duration_us: int
    preamble_us: int | None


def theirs(path: Path) -> dict[int, Theirs]:
    """Frame number to tshark's times, of the frames that it gives one."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    names = ("frame.number", "wlan_radio.duration", "wlan_radio.preamble")
    fields = [word for name in names for word in ("-e", name)]
    done = subprocess.run(
        ["tshark", "-n", "-r", str(path), "-T", "fields", "-E", "occurrence=f", *fields],
        capture_output=True,
        text=True,
        check=True,
    )
    found = {}
    for line in done.stdout.splitlines():
        number, duration, preamble = line.split("\t")
        if duration:
            found[int(number)] = Theirs(int(duration), int(preamble) if preamble else None)
    return found


def frames(path: Path) -> list[dict[str, Any]]:
    """Our rows."""
    reader = wl.Capture(path).reader()
    rows: list[dict[str, Any]] = []
    while batches := reader.next_batches():
        for name, batch in batches:
            if name == "frames":
                rows += batch.to_pylist()
    return rows


def stamps(path: Path) -> dict[str, Any] | None:
    """What the stamps of a capture were found to name."""
    reader = wl.Capture(path).reader()
    while reader.next_batches():
        pass
    found: dict[str, Any] | None = reader.info()["stamps"]
    return found


def shared(name: str) -> Path:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} is absent from ../shared")
    return path


def both(name: str, phys: str) -> Iterator[tuple[dict[str, Any], Theirs]]:
    """Our row and tshark's of every frame of these PHYs that both give a time."""
    path = shared(name)
    expected = theirs(path)
    for row in frames(path):
        if row["phy"] in phys.split() and row["airtime_us"] is not None and row["packet"] in expected:
            yield row, expected[row["packet"]]


def extension(row: dict[str, Any]) -> int:
    return EXTENSION_US if row["phy"] != "b" and row["channel_mhz"] < 3000 else 0


@pytest.mark.parametrize(
    "name",
    [
        "testing_mix1.pcap", "wlp2s0_ch11.pcap", "weather1.pcap", "example-ft.pcapng", "wpa-Induction.pcap",
        "1_2_test_pcap2.pcap", "capture.pcapng", "Http.cap",
    ],
)  # fmt: skip
def test_b_a_and_g(name: str) -> None:
    seen = 0
    for row, their in both(name, "b a g"):
        assert row["airtime_us"] == their.duration_us + extension(row), row["packet"]
        seen += 1
    assert seen > 20 or name == "weather1.pcap"


@pytest.mark.parametrize(
    "name", ["testing_mix1.pcap", "wlp2s0_ch11.pcap", "active1.pcap", "active2.pcap", "capture.pcapng"]
)
def test_n(name: str) -> None:
    """Long guard interval: equal. Short: the standard rounds symbols of 3.6 us up to whole 4 us (Equation 19-90).

    The delimiter before an A-MPDU's first MPDU counts (clause 9.7.1), which tshark adds from the second on: up to 32 bits,
    two symbols of MCS 0, four with STBC. The first LTF of a greenfield preamble is among its first 24 us (clause 19.3.2),
    where tshark counts it twice; its short symbols are not rounded (Equation 19-91), where tshark shows whole us.
    """
    seen = 0
    for row, their in both(name, "n"):
        if their.preamble_us is None or row["airtime_us"] < their.preamble_us - 4:
            continue  # A later MPDU; some that tshark takes for a PPDU of their own have the stamp of the one before.
        greenfield = their.preamble_us < 36
        more = row["airtime_us"] - their.duration_us - extension(row) + (4 if greenfield else 0)
        least, most = (-1, 1) if greenfield and row["guard_ns"] == 400 else (0, 0)
        most += 4 if row["guard_ns"] == 400 else 0
        # LDPC may take an extra symbol, with STBC two (clause 19.3.11.7.5); tshark reckons as for BCC.
        most += 8
        most += 16 if row["ampdu"] is not None else 0
        assert least <= more <= most, row["packet"]
        seen += 1
    assert seen > 0


def test_ac() -> None:
    """tshark has no VHT-SIG-B (4 us), gives 3, 5 and 7 space-time streams too few LTFs (Table 21-13) and divides bits
    by the rate where the standard counts whole symbols (clause 21.4.3)."""
    seen = 0
    for row, their in both("weather1.pcap", "ac"):
        if their.preamble_us is None or row["airtime_us"] < their.preamble_us:
            continue
        preamble = their.preamble_us + 4
        symbol = 3.6 if row["guard_ns"] == 400 else 4.0
        bits = 8 * (row["mpdu_bytes"] + 4) + 16
        symbols = bits / (row["rate_mbps"] * symbol)
        # Tail bits and whole symbols, the end on the 4 us grid; an STBC pair and an LDPC extra symbol may come on top.
        least = preamble + 4 * ceil(symbol * symbols / 4 - 1e-9)
        assert least <= row["airtime_us"] <= least + 12, row["packet"]
        assert (row["airtime_us"] - preamble) % 4 == 0
        seen += 1
    assert seen > 200


def test_preambles_that_tshark_guesses() -> None:
    """Without a word on the preamble tshark takes the short one, even at 1 Mb/s, which has none (clause 16.2.2.3)."""
    rows = [row for row in frames(shared("ping_I_E_E___inc_pn_2-fromap.pcapng")) if row["phy"] == "b"]
    assert rows
    assert all(row["airtime_us"] == 192 + 8 * row["mpdu_bytes"] for row in rows if row["rate_mbps"] == 1)
    # AVS says long; PPI does not say, and then it is not known but at 1 Mb/s.
    assert all(row["airtime_us"] >= 192 for row in frames(shared("testing.cap")) if row["phy"] == "b")
    assert all(row["airtime_us"] is None for row in frames(shared("Http.cap")) if row["phy"] == "b")


@pytest.mark.parametrize(
    ("name", "clock", "at"),
    [
        ("wlp2s0_ch11.pcap", "radio", ["ppdu_start"]),
        ("1_2_test_pcap2.pcap", "radio", ["ppdu_start"]),
        ("testing_mix1.pcap", "tsf", ["mpdu_start"]),
        # A host's clock, tens of us late: it decides nothing.
        ("wpa-Induction.pcap", "capture", []),
    ],
)
def test_what_radiotap_timestamps_mark(name: str, clock: str, at: list[str]) -> None:
    found = stamps(shared(name))
    assert found is not None
    assert (found["clock"], found["stamp_at"]) == (clock, at)


def test_responses_come_after_sifs() -> None:
    """An ACK, a CTS and a Block Ack begin SIFS (10 us) after what they answer, give or take their turnaround."""
    answers = {("rts", "cts"), ("data", "ack"), ("qos_data", "ack"), ("qos_data", "block_ack")}
    for name in ("wlp2s0_ch11.pcap", "testing_mix1.pcap"):
        rows = frames(shared(name))
        gaps = [
            now["ifs_us"]
            for before, now in itertools.pairwise(rows)
            if (before["subtype"], now["subtype"]) in answers
            and now["fcs_ok"]
            and before["fcs_ok"]
            and before["ta"] == now["ra"]
            and now["ifs_us"] is not None
        ]
        near = [gap for gap in gaps if 6 <= gap <= 16]
        assert len(gaps) > 100
        assert len(near) > 0.9 * len(gaps), name


# The formulas once more, on a grid of parameters written as radiotap.

SCHEMES = [
    (1, 1, 2), (2, 1, 2), (2, 3, 4), (4, 1, 2), (4, 3, 4), (6, 2, 3), (6, 3, 4), (6, 5, 6), (8, 3, 4), (8, 5, 6),
    (10, 3, 4), (10, 5, 6),
]  # fmt: skip
LENGTHS = (28, 76, 90, 131, 264, 519, 1000, 1538, 2304)


def captured(folder: Path, headers: Iterable[tuple[bytes, int]]) -> list[dict[str, Any]]:
    """Rows of frames with these radiotap fields (present words and all) and so many bytes of MPDU, FCS included."""
    mac = bytes.fromhex("88010000 020000000001 020000000002 020000000001 0000 0000")
    parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 127)]
    for n, (fields, mpdu_bytes) in enumerate(headers):
        head = struct.pack("<BBH", 0, 0, 4 + len(fields)) + fields
        kept = min(len(mac), mpdu_bytes - 4)
        parts.append(struct.pack("<IIII", n, 0, len(head) + kept, len(head) + mpdu_bytes - 4))
        parts.append(head + mac[:kept])
    path = folder / "grid.pcap"
    path.write_bytes(b"".join(parts))
    return frames(path)


FLAGS, RATE, CHANNEL = 1 << 1, 1 << 2, 1 << 3


def ldpc_extra(payload: int, available: int, rate: Fraction) -> bool:
    """Clause 19.3.11.7.5."""
    if available <= 648:
        words, length = 1, 1296 if available >= payload + 912 * (1 - rate) else 648
    elif available <= 1296:
        words, length = 1, 1944 if available >= payload + 1464 * (1 - rate) else 1296
    elif available <= 1944:
        words, length = 1, 1944
    elif available <= 2592:
        words, length = 2, 1944 if available >= payload + 2916 * (1 - rate) else 1296
    else:
        words, length = ceil(Fraction(payload) / (1944 * rate)), 1944
    short = max(0, words * length * rate - payload)
    punctured = max(0, words * length - available - short)
    parity = words * length * (1 - rate)
    heavy = punctured > parity / 10 and short < Fraction(12, 10) * punctured * rate / (1 - rate)
    return bool(heavy or punctured > 3 * parity / 10)


def test_grid_legacy(tmp_path: Path) -> None:
    headers, expected = [], []
    for rate, length in itertools.product((2, 4, 11, 22, 12, 18, 24, 36, 48, 72, 96, 108), LENGTHS):
        for mhz, flags in ((2412, 0), (2412, 2), (5180, 0)):
            dsss = rate in (2, 4, 11, 22)
            if dsss and mhz > 5000:
                continue
            headers.append((struct.pack("<IBBHH", FLAGS | RATE | CHANNEL, flags, rate, mhz, 0), length))
            if dsss:
                preamble = 96 if flags and rate > 2 else 192
                expected.append(preamble + ceil(Fraction(16 * length, rate)))
            else:
                symbols = ceil(Fraction(22 + 8 * length, 2 * rate))
                expected.append(20 + 4 * symbols + (6 if mhz < 3000 else 0))
    assert [row["airtime_us"] for row in captured(tmp_path, headers)] == expected


def test_grid_ht(tmp_path: Path) -> None:
    headers, expected = [], []
    grid = itertools.product(range(32), (20, 40), (800, 400), (False, True), (False, True), (0, 1), LENGTHS[::2])
    for mcs, width, guard, greenfield, ldpc, stbc, length in grid:
        streams = mcs // 8 + 1
        if streams + stbc > 4:
            continue
        bits, num, den = SCHEMES[mcs % 8]
        rate = Fraction(num, den)
        coded = bits * streams * {20: 52, 40: 108}[width]
        data = coded * rate
        group = 2 if stbc else 1
        payload = 8 * length + 16
        if ldpc:
            symbols = group * ceil(payload / (data * group))
            symbols += group * ldpc_extra(payload, symbols * coded, rate)
        else:
            encoders = 2 if data / 4 > 300 else 1
            symbols = group * ceil((payload + 6 * encoders) / (data * group))
        training = {1: 1, 2: 2, 3: 4, 4: 4}[streams + stbc]
        short = Fraction(36, 10) * symbols
        if greenfield:
            time = 24 + 4 * (training - 1) + (short if guard == 400 else 4 * symbols)
        else:
            time = 32 + 4 * training + (4 * ceil(short / 4) if guard == 400 else 4 * symbols)
        flags = (width == 40) | (guard == 400) << 2 | greenfield << 3 | ldpc << 4 | stbc << 5
        headers.append((struct.pack("<IHHBBB", CHANNEL | 1 << 19, 5180, 0, 0x7F, flags, mcs), length))
        expected.append(float(time))
    assert [row["airtime_us"] for row in captured(tmp_path, headers)] == expected


def test_grid_vht(tmp_path: Path) -> None:
    # N_ES of the tables of clause 21.5 where it is not one each 600 Mb/s of the short guard interval.
    more = {
        (80, 7, 2): 3, (80, 7, 7): 6, (80, 7, 8): 6, (80, 8, 7): 6, (160, 4, 7): 6, (160, 5, 8): 8, (160, 6, 7): 8,
        (160, 7, 3): 4, (160, 7, 4): 6, (160, 7, 5): 7, (160, 7, 7): 9, (160, 7, 8): 12, (160, 7, 9): 12,
    }  # fmt: skip
    missing = {(80, 3, 6), (80, 7, 6), (80, 6, 9), (160, 3, 9)} | {(20, n, 9) for n in (1, 2, 4, 5, 7, 8)}
    headers: list[tuple[bytes, int]] = []
    expected: list[float | None] = []
    grid = itertools.product(range(10), range(1, 9), (20, 40, 80, 160), (800, 400), (False, True), (0, 1), LENGTHS[::3])
    for mcs, streams, width, guard, ldpc, stbc, length in grid:
        if streams * (1 + stbc) > 8:
            continue
        bandwidth = {20: 0, 40: 1, 80: 4, 160: 11}[width]
        known = 0x0001 | 0x0004 | 0x0040
        fields = struct.pack(
            "<HBB4BBBH", known, stbc | (guard == 400) << 2, bandwidth, mcs << 4 | streams, 0, 0, 0, ldpc, 0, 0
        )
        headers.append((struct.pack("<IHH", CHANNEL | 1 << 21, 5180, 0) + fields, length))
        if (width, streams, mcs) in missing:
            expected.append(None)
            continue
        bits, num, den = SCHEMES[mcs]
        rate = Fraction(num, den)
        coded = bits * streams * {20: 52, 40: 108, 80: 234, 160: 468}[width]
        data = coded * rate
        group = 1 + stbc
        payload = 8 * (length + 4) + 16
        if ldpc:
            symbols = group * ceil(payload / (data * group))
            symbols += group * ldpc_extra(int(symbols * data), symbols * coded, rate)
        else:
            encoders = more.get((width, streams, mcs), ceil(data / Fraction(36, 10) / 600))
            symbols = group * ceil((payload + 6 * encoders) / (data * group))
        training = {1: 1, 2: 2, 3: 4, 4: 4, 5: 6, 6: 6, 7: 8, 8: 8}[streams * (1 + stbc)]
        symbol = Fraction(36, 10) if guard == 400 else Fraction(4)
        expected.append(float(36 + 4 * training + 4 * ceil(symbol * symbols / 4)))
    assert [row["airtime_us"] for row in captured(tmp_path, headers)] == expected


def test_grid_he(tmp_path: Path) -> None:
    """Single user and extended range, without a packet extension: radiotap has no field for it."""
    headers, expected = [], []
    units = {20: (234, 60), 40: (468, 120), 80: (980, 240), 160: (1960, 492)}
    guards = ((800, 2), (800, 4), (1600, 2), (3200, 4))
    grid = itertools.product(range(12), (1, 2, 3, 4, 8), units, guards, (False, True), (False, True), LENGTHS[::2])
    for mcs, streams, width, (guard, ltf), ldpc, extended, length in grid:
        if extended and (width > 20 or streams > 1 or mcs > 2):
            continue
        if not ldpc and (width > 20 or streams > 4 or mcs > 9):
            continue
        bits, num, den = SCHEMES[mcs]
        rate = Fraction(num, den)
        subcarriers, quarter = units[width]
        coded, coded_quarter = subcarriers * bits * streams, quarter * bits * streams
        data, data_quarter = int(coded * rate), int(coded_quarter * rate)
        payload = 8 * (length + 4) + 16
        if ldpc:
            symbols = ceil(Fraction(payload, data))
            left = payload - (symbols - 1) * data
            quarters = 4 if left == data else min(4, ceil(Fraction(left, data_quarter)))
            if quarters == 4:
                symbols += ldpc_extra(symbols * data, symbols * coded, rate)
        else:
            symbols = ceil(Fraction(payload + 6, data))
        training = {1: 1, 2: 2, 3: 4, 4: 4, 8: 8}[streams]
        preamble = 20 + 4 + (16 if extended else 8) + 4 + training * (Fraction(32 * ltf, 10) + Fraction(guard, 1000))
        expected.append(float(preamble + symbols * (Fraction(128, 10) + Fraction(guard, 1000))))
        data1 = extended | 0x0020 | 0x0040 | 0x0080 | 0x0200 | 0x4000 | 0x8000
        data3 = mcs << 8 | ldpc << 13
        data5 = {20: 0, 40: 1, 80: 2, 160: 3}[width] | {800: 0, 1600: 1, 3200: 2}[guard] << 4 | {2: 2, 4: 3}[ltf] << 6
        fields = struct.pack("<6H", data1, 0x0002, data3, 0, data5, streams)
        headers.append((struct.pack("<IHH", CHANNEL | 1 << 23, 5180, 0) + fields, length))
    assert [row["airtime_us"] for row in captured(tmp_path, headers)] == expected
