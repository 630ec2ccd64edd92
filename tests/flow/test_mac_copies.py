"""MAC retries that a sniffer captures are not TCP retransmissions (../shared/captures/wlan)."""

from __future__ import annotations

import csv
import shutil
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import wlanlens as wl
from tests.captures import ROOT

FOLDER = ROOT.parent / "shared" / "captures" / "wlan"

#: What tshark calls retransmissions and duplicate ACKs, and what they are by transmitter, sequence control and IP id. A damaged
#: frame changes no connection: it has no row in `segments`, and the copy after it is the first that counts. In active2 a
#: header with bit errors (538) makes tshark begin another connection, where 539 seems to repeat.
RETRANSMISSIONS = {
    "active1": {"mac_copy": 16, "first": 8, "damaged": 3},
    "active2": {"mac_copy": 64, "first": 16, "damaged": 3},
    "testing_mix1": {"mac_copy": 20, "first": 12, "damaged": 2},
}
DUPLICATE_ACKS = {"active1": {"mac_copy": 17}, "active2": {"mac_copy": 39}, "testing_mix1": {"mac_copy": 11}}

pytestmark = [
    pytest.mark.skipif(not FOLDER.exists(), reason="the shared captures (../shared) are absent"),
    pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed"),
]


@cache
def said(name: str, field: str) -> dict[str, int]:
    """Our words for the packets of which tshark sets a field."""
    path = FOLDER / f"{name}.pcap"
    command = ["tshark", "-r", str(path), "-Y", field, "-T", "fields", "-e", "frame.number"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    packets = [int(row[0]) for row in csv.reader(done.stdout.splitlines())]
    rows = segments(path)
    return dict(Counter(word for packet in packets for word in rows.get(packet, ["damaged"])))


@cache
def segments(path: Path) -> dict[int, list[str]]:
    """`transmission` of each packet; an A-MSDU holds several."""
    table = wl.open(path).table("segments").select(["packet", "transmission"]).to_pylist()
    out: dict[int, list[str]] = {}
    for row in table:
        out.setdefault(row["packet"], []).append(row["transmission"])
    return out


@pytest.mark.parametrize("name", RETRANSMISSIONS)
def test_tsharks_retransmissions(name: str) -> None:
    assert said(name, "tcp.analysis.retransmission") == RETRANSMISSIONS[name]


@pytest.mark.parametrize("name", DUPLICATE_ACKS)
def test_tsharks_duplicate_acks(name: str) -> None:
    assert said(name, "tcp.analysis.duplicate_ack") == DUPLICATE_ACKS[name]


@pytest.mark.parametrize("name", RETRANSMISSIONS)
def test_mac_retries_are_not_charged_to_tcp(name: str, tmp_path: Path) -> None:
    analysis = wl.analyze(FOLDER / f"{name}.pcap", out=tmp_path / "out", report=False)
    copies = {p for p, words in segments(FOLDER / f"{name}.pcap").items() if "mac_copy" in words}
    for finding in analysis.findings:
        blamed = {row for table, _, rows in finding.evidence if table == "segments" for row in rows}
        assert not blamed & copies, finding
    assert "retransmi" not in analysis.verdict.sentence
    recovery = ("rto_wait", "rto_backoff", "spurious_recovery", "loss_recovery", "fast_recovery")
    lost_ns = sum(analysis.verdict.categories_ns.get(category, 0) for category in recovery)
    assert lost_ns < 0.02 * sum(analysis.verdict.categories_ns.values())
