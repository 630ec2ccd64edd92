"""Every shared capture through the command: tables and exit 0, or one clear line and exit 3; no traceback, little memory."""

from __future__ import annotations

from pathlib import Path

import pytest

import wlanlens as wl
from tests.captures import ROOT
from tests.detection.consistency import faults
from tests.warm import warm

FOLDER = ROOT.parent / "shared" / "captures"
FILES = sorted(path for path in FOLDER.glob("*/*") if path.is_file())

#: No capture of this set needs more.
PEAK_BYTES = 500_000_000

#: What cannot be read: the message names it.
REFUSED = {
    "malformed/BT_USB_LinCooked_Eth_80211_RT.ntar.gz": "link type 201",
    "malformed/ns3tcp-loss-NewReno0-response-vectors.pcap": "link type 46522869",
    "malformed/pcap-invalid-version-1.pcap": "version 1.4",
    "malformed/pcapng-invalid-vers-1.pcapng": "version 0.1",
}

pytestmark = pytest.mark.skipif(not FILES, reason="the shared captures (../shared) are absent")


def name_of(path: Path) -> str:
    """Folder and file."""
    return f"{path.parent.name}/{path.name}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_capture(path: Path, tmp_path: Path) -> None:
    """Each in its own process, with the system's account of its memory."""
    done = warm().run(tmp_path, "analyze", path, "-o", tmp_path / "out", "--quiet")
    assert "Traceback" not in done.err
    assert "panicked" not in done.err
    assert done.peak_bytes < PEAK_BYTES
    if (why := REFUSED.get(name_of(path))) is not None:
        assert done.status == 3
        assert done.err.startswith("wlanlens: ")
        assert why in done.err
        assert len(done.err.splitlines()) == 1
        assert not (tmp_path / "out").exists()
        return
    assert (done.status, done.out, done.err) == (0, "", "")
    analysis = wl.load(tmp_path / "out")
    check_sums(analysis)
    assert faults(analysis) == []


def check_sums(analysis: wl.Analysis) -> None:
    """The tables agree with each other."""
    assert analysis.report is not None
    assert not [state for state in analysis.findings.states if state.state == "failed"]
    trace = analysis.trace
    packets = trace.table("packets").to_pandas()
    segments = trace.table("segments").to_pandas()
    flows = trace.table("flows").to_pandas()
    assert segments["packet"].is_unique or packets["packet"].duplicated().any()
    assert set(segments["packet"]) <= set(packets["packet"])
    assert flows["packets"].sum() == len(segments)
    for column, transmission in (
        ("retransmissions", "retransmission"),
        ("capture_duplicates", "capture_duplicate"),
        ("mac_copies", "mac_copy"),
    ):
        assert flows[column].sum() == (segments["transmission"] == transmission).sum(), column
    expired = flows[["rto_genuine", "rto_spurious", "rto_ack_lost", "rto_undecided"]].to_numpy().sum()
    assert expired == trace.table("timeouts").num_rows
    entered = trace.table("ledger").to_pandas()
    lengths = entered["t_end_ns"] - entered["t_start_ns"]
    assert (lengths > 0).all()
    assert int(lengths.sum()) == sum(analysis.totals.values())
    for _, rows in entered.groupby(["flow", "direction"], observed=True):
        assert rows["t_end_ns"].max() - rows["t_start_ns"].min() == (rows["t_end_ns"] - rows["t_start_ns"]).sum()
