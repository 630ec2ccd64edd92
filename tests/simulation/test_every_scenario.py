"""Every scenario on the shelf: captures that tshark finds nothing wrong in and `analyze` reads, the same bytes again."""

from __future__ import annotations

import hashlib
import random
import shutil
import subprocess
from pathlib import Path

import pytest

import wlanlens as wl
from wlanlens.registry import units
from wlanlens.simulation.simulate import Run

NAMES = sorted(units("scenarios"))

#: Simulated time of each: the connection is up, holds and fades have begun.
SECONDS = 3.0


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    folder = tmp_path_factory.mktemp("scenarios")
    return {name: wl.simulate(name, folder / name, duration_s=SECONDS) for name in NAMES}


def digests(run: Run) -> dict[str, str]:
    folder = next(iter(run.captures.values())).parent
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}


def test_another_order_gives_the_same_bytes(runs: dict[str, Run], tmp_path: Path) -> None:
    names = random.Random(4).sample(NAMES, len(NAMES))  # noqa: S311 - an order, no secret
    for name in names:
        again = wl.simulate(name, tmp_path / name, duration_s=SECONDS)
        assert digests(again) == digests(runs[name]), name
        shutil.rmtree(tmp_path / name)


@pytest.mark.parametrize("point", ["sender", "usb", "air", "receiver"])
def test_tshark_finds_nothing_wrong(point: str, runs: dict[str, Run], tmp_path: Path) -> None:
    if shutil.which("tshark") is None or shutil.which("mergecap") is None:
        pytest.skip("tshark and mergecap are not installed")
    paths = {name: run.captures[point] for name, run in runs.items() if point in run.captures}
    assert paths
    whole = tmp_path / "all.pcapng"
    # One after the other in one file: tshark takes most of its time to start.
    subprocess.run(["mergecap", "-a", "-w", str(whole), *map(str, paths.values())], check=True)
    checks = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o", "wlan.check_checksum:TRUE"]
    bad = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0"
    # A frame that collided or was damaged has a wrong FCS, and says so.
    wrong = f"(wlan.fcs.status == 0 && radiotap.flags.badfcs == 0) || ((wlan.fcs.status == 1 || !wlan) && ({bad}))"
    seen = subprocess.run(
        ["tshark", "-n", "-r", str(whole), *checks, "-Y", wrong, "-T", "fields", "-e", "frame.number", "-e", "_ws.expert"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert seen.stdout == "", f"{_whose(int(seen.stdout.split()[0]), paths)}: {seen.stdout[:300]}"


def _whose(frame: int, paths: dict[str, Path]) -> str:
    """The scenario of a frame of the merged file."""
    for name, path in paths.items():
        records = _records(path)
        if frame <= records:
            return name
        frame -= records
    return "?"


def _records(path: Path) -> int:
    data, at, count = path.read_bytes(), 24, 0
    while at < len(data):
        at += 16 + int.from_bytes(data[at + 8 : at + 12], "little")
        count += 1
    return count


@pytest.mark.parametrize("name", NAMES)
def test_analyze_reads_every_capture(name: str, runs: dict[str, Run], tmp_path: Path) -> None:
    for point, path in runs[name].captures.items():
        analysis = wl.analyze(path, out=tmp_path / point, report=False)
        assert not [n for c in analysis.trace.captures for n in c.notes if n.severity == "error"], point
        assert not [s for s in analysis.findings.states if s.state == "failed"], point
        assert analysis.description["captures"][0]["records"] == _records(path), point
