"""Every shared capture through the command: tables and exit 0, or one clear line and exit 3; never a traceback, never much memory."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

import wlanlens as wl
from tests.captures import ROOT

FOLDER = ROOT.parent / "shared" / "captures"
FILES = sorted(path for path in FOLDER.glob("*/*") if path.is_file())

#: No capture of this set needs more.
PEAK_BYTES = 500_000_000

#: Runs a command from a small process: a child's account begins with the size of the process that it was forked from,
#: and this one is large by then.
MEASURE = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[2:]).returncode
with open(sys.argv[1], "w") as out:
    out.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(status)
"""

#: What a later unit will read; until then the refusal must say what it is and what to do.
REFUSED = {
    "malformed/BT_USB_LinCooked_Eth_80211_RT.ntar.gz": "link type 201",
    "malformed/ns3tcp-loss-NewReno0-response-vectors.pcap": "link type 46522869",
    "malformed/pcap-invalid-version-1.pcap": "version 1.4",
    "malformed/pcapng-invalid-vers-1.pcapng": "version 0.1",
}

pytestmark = pytest.mark.skipif(not FILES, reason="the shared captures are not beside the repository")


def name_of(path: Path) -> str:
    """Folder and file."""
    return f"{path.parent.name}/{path.name}"


@dataclass(frozen=True)
class Done:
    """A finished command."""

    status: int
    out: str
    err: str
    peak_bytes: int
    folder: Path


def run(path: Path, folder: Path) -> Done:
    """`wlanlens analyze` in a process of its own, with the system's account of its memory."""
    folder.mkdir()
    command = [sys.executable, "-m", "wlanlens_cli.main", "analyze", str(path), "-o", str(folder / "out"), "--quiet"]
    command = [sys.executable, "-I", "-c", MEASURE, str(folder / "peak"), *command]
    create = os.O_WRONLY | os.O_CREAT
    said = [(os.POSIX_SPAWN_OPEN, fd, str(folder / name), create, 0o600) for fd, name in ((1, "stdout"), (2, "stderr"))]
    child = os.posix_spawn(command[0], command, {**os.environ, "NO_COLOR": "1"}, file_actions=said)
    _, status = os.waitpid(child, 0)
    peak_kib = int((folder / "peak").read_text(encoding="ascii"))
    out, err = ((folder / name).read_text(encoding="utf-8") for name in ("stdout", "stderr"))
    return Done(os.waitstatus_to_exitcode(status), out, err, peak_kib * 1024, folder / "out")


@pytest.fixture(scope="module")
def runs() -> Iterator[dict[str, Future[Done]]]:
    """All files, two at a time."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        yield {name_of(path): pool.submit(run, path, Path(folder) / str(i)) for i, path in enumerate(FILES)}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_capture(path: Path, runs: dict[str, Future[Done]]) -> None:
    done = runs[name_of(path)].result()
    assert "Traceback" not in done.err
    assert "panicked" not in done.err
    assert done.peak_bytes < PEAK_BYTES
    if (why := REFUSED.get(name_of(path))) is not None:
        assert done.status == 3
        assert done.err.startswith("wlanlens: ")
        assert why in done.err
        assert len(done.err.splitlines()) == 1
        assert not done.folder.exists()
        return
    assert (done.status, done.out, done.err) == (0, "", "")
    check_sums(wl.load(done.folder))


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
