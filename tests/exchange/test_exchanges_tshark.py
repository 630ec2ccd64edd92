"""Exchanges of real captures compared with a plain reading of tshark's fields.

Needs the captures in ``../shared`` and tshark; without them the tests are skipped.
"""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import wlanlens as wl

SHARED = Path(__file__).resolve().parents[3] / "shared" / "captures" / "wlan"
CAPTURES = [
    "1_2_test_pcap2.pcap", "Http.cap", "active1.pcap", "active2.pcap", "mesh.pcap", "tcp-chain-test-0-0.pcap",
    "tcp-chain-test-9-0.pcap", "testing_mix1.pcap", "weather1.pcap", "wep_64_ptw.cap", "wlp2s0_ch11.pcap",
    "wpa-Induction.pcap",
]  # fmt: skip

pytestmark = pytest.mark.skipif(
    not SHARED.is_dir() or shutil.which("tshark") is None, reason="needs the shared captures and tshark"
)

FIELDS = (
    "frame.number", "frame.time_relative", "wlan.fc.type_subtype", "wlan.ta", "wlan.ra", "wlan.seq", "wlan.frag",
    "wlan.qos.tid", "wlan.fc.retry", "wlan.fcs.status", "radiotap.flags.badfcs", "wlan.ba.control.ba_type",
    "wlan.fixed.ssc.sequence", "wlan.ba.bm", "wlan.ba.basic.tidinfo", "wlan_radio.duration",
    "radiotap.ampdu.reference", "radiotap.mactime", "wlan.fc.tods", "wlan.bar.type",
    "wlan.bar.compressed.tidinfo", "wlan.qos.ack", "frame.len",
)  # fmt: skip

ACK, BLOCK_ACK = 0x1D, 0x19
NULLS = range(0x2C, 0x30)


class Frame(NamedTuple):
    """What tshark says of one frame."""

    number: int
    time_s: float
    kind: int
    ta: str
    ra: str
    seq: int | None
    fragment: int | None
    tid: int | None
    retry: bool
    good: bool
    bitmap: frozenset[int] | None
    ba_tid: int | None
    duration_us: int
    ampdu: str
    tsf_us: int | None
    no_ack: bool

    @property
    def sequenced(self) -> bool:
        """Data and management: frames with a sequence number."""
        return self.kind >> 4 in (0, 2) and self.seq is not None


def _frame(values: list[str]) -> Frame:
    v = dict(zip(FIELDS, (value.split("+")[0] for value in values), strict=True))

    def number(field: str) -> int | None:
        return int(v[field], 0) if v[field] else None

    kind = number("wlan.fc.type_subtype")
    bitmap = None
    if v["wlan.ba.bm"] and number("wlan.ba.control.ba_type") == 2:
        first, octets = number("wlan.fixed.ssc.sequence") or 0, bytes.fromhex(v["wlan.ba.bm"].replace(":", ""))
        bitmap = frozenset((first + i) % 4096 for i in range(8 * len(octets)) if octets[i // 8] >> i % 8 & 1)
    return Frame(
        number=int(v["frame.number"]),
        time_s=float(v["frame.time_relative"]),
        kind=-1 if kind is None else kind,
        ta=v["wlan.ta"],
        ra=v["wlan.ra"],
        seq=number("wlan.seq"),
        fragment=number("wlan.frag"),
        tid=number("wlan.qos.tid"),
        retry=v["wlan.fc.retry"] in ("1", "True"),
        good=v["wlan.fcs.status"] != "0" and v["radiotap.flags.badfcs"] not in ("1", "True"),
        bitmap=bitmap,
        ba_tid=number("wlan.ba.basic.tidinfo"),
        duration_us=number("wlan_radio.duration") or 0,
        ampdu=v["radiotap.ampdu.reference"],
        tsf_us=number("radiotap.mactime"),
        no_ack=v["wlan.qos.ack"] in ("1", "0x0001"),
    )


@cache
def frames(name: str) -> tuple[Frame, ...]:
    """Every frame as tshark reads it."""
    fields = [part for field in FIELDS if field in _known() for part in ("-e", field)]
    run = subprocess.run(
        ["tshark", "-n", "-o", "wlan.check_checksum:TRUE", "-r", str(SHARED / name), "-T", "fields", "-E", "aggregator=+", *fields],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    known = [field in _known() for field in FIELDS]
    out = []
    for line in run.stdout.splitlines():
        values = iter(line.split("\t"))
        out.append(_frame([next(values, "") if k else "" for k in known]))
    return tuple(out)


@cache
def _known() -> frozenset[str]:
    run = subprocess.run(["tshark", "-G", "fields"], check=True, capture_output=True, text=True)
    return frozenset(line.split("\t")[2] for line in run.stdout.splitlines() if line.startswith("F"))


@cache
def exchanges(name: str) -> list[dict[str, Any]]:
    """The rows of ``exchanges``."""
    rows: list[dict[str, Any]] = wl.open(SHARED / name).table("exchanges").to_pylist()
    return rows


def group(address: str) -> bool:
    """Whether an address names a group of stations."""
    return bool(int(address[:2], 16) & 1)


def ahead(a: int, b: int) -> int:
    """How far sequence number `a` lies ahead of `b`."""
    return (a - b + 2048) % 4096 - 2048


@pytest.mark.parametrize("name", CAPTURES)
def test_every_data_and_management_frame_is_in_exactly_one(name: str) -> None:
    packets = [p for row in exchanges(name) for p in row["packets"]]
    assert sorted(packets) == [f.number for f in frames(name) if f.sequenced and f.good]
    assert packets


@pytest.mark.parametrize("name", CAPTURES)
def test_rows_agree_with_their_frames(name: str) -> None:
    by_number = {f.number: f for f in frames(name)}
    for row in exchanges(name):
        mine = [by_number[p] for p in row["packets"]]
        assert row["attempts"] == len(mine) + row["attempts_inferred"]
        assert len(row["rates_mbps"]) == len(mine)
        assert row["packets"] == sorted(row["packets"])
        assert (row["acked"] is True) == (row["outcome"] == "delivered")
        assert row["acked"] is False or row["outcome"] != "dropped"
        if not mine:
            assert row["inferred_by"] is not None
            assert row["attempts"] >= 1
            assert row["first_packet"] is None
            continue
        assert (row["first_packet"], row["last_packet"]) == (mine[0].number, mine[-1].number)
        keys = {(f.ta, f.ra, f.seq, f.fragment, f.tid) for f in mine}
        assert keys == {(row["ta"], row["ra"], row["seq"], row["fragment"], row["tid"])}
        if row["inferred_by"] == "retry_bit" or mine[0].retry:
            assert mine[0].retry
            assert row["attempts_inferred"] > 0
        if group(row["ra"]):
            assert row["acked"] is None
            assert row["wasted_us"] in (None, 0.0)


@pytest.mark.parametrize("name", CAPTURES)
def test_retries(name: str) -> None:
    """Every frame with the Retry bit is a later attempt, or proves an earlier one that was missed."""
    repeated = [f for f in frames(name) if f.sequenced and f.good and f.retry]
    later = {p for row in exchanges(name) for p in row["packets"][1:]}
    first = {row["first_packet"] for row in exchanges(name) if row["packets"] and row["attempts_inferred"]}
    assert all(f.number in later or f.number in first for f in repeated)
    # Every later attempt has it, except from access points that omit it when they retransmit a whole A-MPDU.
    bare = later - {f.number for f in repeated}
    assert len(bare) <= 0.03 * max(len(later), 100), sorted(bare)[:20]


def answered(name: str, slowest_us: int | None = None) -> set[tuple[int, int]]:
    """(frame, its ACK): the frame right before, sent by the one whom the ACK is for, soon enough.

    `slowest_us`: take that for the length of every frame instead of what tshark reckons.
    """
    out = set()
    before: Frame | None = None
    for f in frames(name):
        if not f.good:
            if before is None or not f.ampdu or f.ampdu != before.ampdu:
                before = None
            continue
        if f.kind == ACK and before is not None and before.sequenced and before.ta == f.ra and not group(before.ra):
            host_us = (f.time_s - before.time_s) * 1e6
            tsf_us = f.tsf_us - before.tsf_us if f.tsf_us is not None and before.tsf_us is not None else None
            # SIFS and one of the two frames.
            longest = 10 + (slowest_us or max(before.duration_us, f.duration_us))
            if tsf_us is None or abs(tsf_us - host_us) > 10_000:
                near = -2000 <= host_us <= longest + 2000
            else:
                near = -250 <= tsf_us <= longest + 250
            if near:
                out.add((before.number, f.number))
        before = f
    return out


@pytest.mark.parametrize("name", CAPTURES)
def test_acks(name: str) -> None:
    """Every ACK that follows in time settles the frame before it, and no other."""
    by_packet = {p: row for row in exchanges(name) for p in row["packets"]}
    surely, at_most = answered(name), answered(name, 20_000)
    for packet, ack in surely:
        row = by_packet[packet]
        assert row["acked"], (packet, ack)
        # A frame that is retransmitted after its ACK: the first ACK decided it.
        assert row["ack_packet"] is None or row["ack_packet"] <= ack
    acks = {f.number for f in frames(name) if f.kind == ACK and f.good}
    for row in exchanges(name):
        before = [p for p in row["packets"] if p < (row["ack_packet"] or 0)]
        if row["ack_packet"] in acks and before and row["inferred_by"] != "lone_ack":
            assert (before[-1], row["ack_packet"]) in at_most
    lone = [row for row in exchanges(name) if row["ack_packet"] in acks and row["seq"] is None]
    assert not {row["ack_packet"] for row in lone} & {ack for _, ack in surely}


@pytest.mark.parametrize("name", CAPTURES)
def test_block_acks(name: str) -> None:
    """A bit says delivered, and nothing else does."""
    maps = {f.number: f for f in frames(name) if f.kind == BLOCK_ACK and f.good and f.bitmap is not None}
    by_key: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    by_bits = 0
    for row in exchanges(name):
        by_key.setdefault((row["ta"], row["ra"], row["tid"], row["seq"]), []).append(row)
        ba = maps.get(row["ack_packet"])
        if ba is not None:
            assert row["seq"] in (ba.bitmap or ())
            assert (row["ta"], row["ra"], row["tid"]) == (ba.ra, ba.ta, ba.ba_tid)
            by_bits += 1
        elif row["inferred_by"] == "block_ack" and not row["packets"]:
            raise AssertionError(row)
    for ba in maps.values():
        for seq in ba.bitmap or ():
            for row in by_key.get((ba.ra, ba.ta, ba.ba_tid, seq), ()):
                last = [p for p in row["packets"] if p < ba.number]
                if last and row["carries"] != "null" and 0 <= ba.time_s - row["t_last_ns"] / 1e9 < 0.1:
                    assert row["acked"], (ba.number, row)
    if maps and name in ("testing_mix1.pcap", "wlp2s0_ch11.pcap", "1_2_test_pcap2.pcap"):
        assert by_bits > 100


def unseen(name: str) -> dict[tuple[str, str, int], int]:
    """Numbers that Block Acks acknowledge and that were never seen, by stream: a plain walk over data and Block Acks."""
    head: dict[tuple[str, str, int], int] = {}
    known: dict[tuple[str, str, int], dict[int, int]] = {}
    out: dict[tuple[str, str, int], int] = {}
    for f in frames(name):
        if not f.good:
            continue
        if (f.kind in (0, 2, 10, 11, 12) and not f.retry) or f.kind in (1, 3):
            for key in [k for k in head if {k[0], k[1]} == {f.ta, f.ra}]:
                del head[key]
        if f.kind >> 4 == 2 and f.tid is not None and f.seq is not None and f.kind not in NULLS and not group(f.ra):
            key = (f.ta, f.ra, f.tid)
            known.setdefault(key, {})[f.seq] = f.number
            if key not in head or ahead(f.seq, head[key]) > 0 or (ahead(f.seq, head[key]) < -64 and not f.retry):
                head[key] = f.seq
        if f.kind == BLOCK_ACK and f.bitmap:
            key = (f.ra, f.ta, f.ba_tid or 0)
            if key not in head:
                head[key] = max(f.bitmap, key=lambda s: ahead(s, next(iter(f.bitmap or ()))))
                continue
            new = [s for s in f.bitmap if ahead(s, head[key]) > 0]
            out[key] = out.get(key, 0) + len(new)
            if new:
                head[key] = max(new, key=lambda s: ahead(s, head[key]))
    return out


@pytest.mark.parametrize("name", CAPTURES)
def test_numbers_known_only_from_block_acks(name: str) -> None:
    """Bits beyond the newest number: rows without a frame, unless the frame came after all."""
    told = unseen(name)
    rows: dict[tuple[str, str, int], int] = {}
    for row in exchanges(name):
        if row["seq"] is None or row["ack_packet"] is None:
            continue
        if not row["packets"] or row["packets"][0] > row["ack_packet"]:
            key = (row["ta"], row["ra"], row["tid"])
            rows[key] = rows.get(key, 0) + 1
    for key, count in told.items():
        # Numbers that a later Block Ack has are acknowledged after they were missed.
        assert rows.get(key, 0) >= count, (key, rows.get(key), count)
    assert sum(told.values()) >= 0.8 * sum(rows.get(key, 0) for key in told)
