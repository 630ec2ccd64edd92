"""Captures of ns-3 and of real access points (../shared/wlan-modern) against tshark and the figures of their manifest."""

from __future__ import annotations

import csv
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import wlanlens as wl
from tests.captures import ROOT

FOLDER = ROOT.parent / "shared" / "wlan-modern"
CAPTURES = sorted(FOLDER.glob("ns3/*.pcap.gz")) + sorted(FOLDER.glob("real/*.pcap"))

#: Received payload by the manifest, Mb/s, from and to (s of the simulation).
RATES = {
    "ac_tcp_up": (268.95, 1.0, 1.4),
    "n_tcp_down": (53.26, 1.0, 2.0),
    "g_tcp_down": (24.49, 1.0, 2.0),
}

#: The same of each station, from 1.2 s to 2.7 s.
UDP_RATES = {"a_hidden24_udp_norts": [5.07, 5.47], "a_hidden24_udp_rts": [8.20, 6.54]}

pytestmark = [
    pytest.mark.skipif(not CAPTURES, reason="the shared captures (../shared/wlan-modern) are absent"),
    pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed"),
]


def name_of(path: Path) -> str:
    return path.name.split(".")[0]


FIELDS = (
    "frame.number", "frame.protocols", "wlan.fcs.status", "radiotap.flags.badfcs", "tcp.seq_raw", "tcp.ack_raw", "tcp.len",
)  # fmt: skip


def tshark(path: Path) -> list[dict[str, str]]:
    """The fields of every frame."""
    command = ["tshark", "-r", str(path), "-o", "wlan.check_checksum:TRUE", "-T", "fields", "-E", "occurrence=l"]
    command += [word for field in FIELDS for word in ("-e", field)]
    # Three real captures end inside a record: tshark reads them and reports that.
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return list(csv.DictReader(done.stdout.splitlines(), FIELDS, delimiter="\t"))


@pytest.mark.parametrize("path", CAPTURES, ids=name_of)
def test_frames_and_tcp_rows(path: Path) -> None:
    """Every frame is read, and every TCP segment of an intact frame has its row."""
    trace = wl.align([path])
    frames = trace.table("frames").to_pandas()
    seen = tshark(path)
    assert len(frames) == len(seen)
    damaged = {
        int(row["frame.number"]) for row in seen if row["wlan.fcs.status"] == "0" or row["radiotap.flags.badfcs"] == "1"
    }
    found = set(frames[frames.fcs_ok.eq(False)].packet)
    # Where no FCS is computed, nothing is damaged.
    assert found == (set() if path.parent.name == "ns3" else damaged)
    if path.parent.name == "ns3":
        assert frames.fcs_ok.isna().all()
        assert {note.name for note in trace.captures[0].notes} >= {"fcs_unverified"}
    segments = trace.table("segments").to_pandas()
    intact = [
        (int(row["frame.number"]), row["tcp.seq_raw"], row["tcp.ack_raw"], row["tcp.len"])
        for row in seen
        if row["tcp.seq_raw"] and ":icmp" not in row["frame.protocols"] and int(row["frame.number"]) not in found
    ]
    assert sorted(segments.packet) == [number for number, *_ in intact]
    packets = trace.table("packets").to_pandas().set_index("packet")
    for number, seq, ack, length in intact:
        row = packets.loc[number]
        assert (row.tcp_seq, row.payload_bytes) == (int(seq), int(length))
        assert row.tcp_ack == int(ack) or not row.tcp_flags & 0x10


@pytest.mark.parametrize("path", [p for p in CAPTURES if p.parent.name == "real"], ids=name_of)
def test_nothing_is_retransmitted_in_real_captures(path: Path) -> None:
    """No segment of the real captures repeats one that arrived damaged or by a MAC retry alone."""
    segments = wl.align([path]).table("segments").to_pandas()
    assert not (segments.transmission == "retransmission").any()


@pytest.mark.parametrize("name", RATES)
def test_the_rate_of_a_connection(name: str) -> None:
    """Bytes of first transmissions in the manifest's interval, at the rate of the manifest."""
    wanted_mbps, start_s, end_s = RATES[name]
    trace = wl.align([FOLDER / "ns3" / f"{name}.ap.pcap.gz"])
    segments = trace.table("segments").to_pandas()
    # The capture's clock is that of the simulation.
    t_s = (segments.t_ns.to_numpy() + trace.captures[0].start_ns) / 1e9
    inside = (t_s >= start_s) & (t_s < end_s) & (segments.transmission == "first").to_numpy()
    mbps = segments.len.to_numpy()[inside].sum() * 8 / (end_s - start_s) / 1e6
    assert mbps == pytest.approx(wanted_mbps, rel=0.02)
    assert np.diff(segments.t_ns).min() >= 0


@pytest.mark.parametrize(("name", "wanted_mbps"), UDP_RATES.items())
def test_the_rate_of_each_station(name: str, wanted_mbps: list[float]) -> None:
    """UDP payload that the access point received: a retry does not count again."""
    trace = wl.align([FOLDER / "ns3" / f"{name}.ap.pcap.gz"])
    packets = trace.table("packets").to_pandas()
    t_s = (packets.t_ns + trace.captures[0].start_ns) / 1e9
    packets = packets[(packets.protocol == 17) & (t_s >= 1.2) & (t_s < 2.7)].drop_duplicates(["ip_src", "ip_id"])
    mbps = packets.groupby("ip_src").payload_bytes.sum() * 8 / 1.5e6
    assert sorted(mbps) == pytest.approx(sorted(wanted_mbps), rel=0.03)


@pytest.mark.parametrize("path", [p for p in CAPTURES if p.parent.name == "ns3"], ids=name_of)
def test_the_verdict_sees_the_traffic(path: Path, tmp_path: Path) -> None:
    verdict = wl.analyze(path, out=tmp_path / "out", report=False).verdict.sentence
    assert "No data frame" not in verdict
    assert ("took" in verdict) == ("tcp" in path.name)
