"""From the bytes of a radiotap capture to a finding: a world written to a file gives the findings of its tables."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import wlanlens as wl
from tests.detectors import worlds
from tests.detectors.made import run
from wlanlens.registry import units

WORLDS = {
    "collisions": "data_ack_collision",
    "thrashing a": "rate_thrashing",
    "Gilbert 2.4": "burst_loss",
    "stuck": "stuck_rate",
    "fades": "signal_fade",
}


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("air")
    made = {name: folder / (re.sub(r"\W", "_", name) + ".pcap") for name in WORLDS}
    for name, path in made.items():
        worlds.made(name, 3).pcap(path)
    return made


@pytest.mark.parametrize("world", WORLDS)
def test_the_capture_gives_the_findings_of_the_tables(world: str, captures: dict[str, Path]) -> None:
    code = WORLDS[world]
    read, _ = run(code, wl.align([captures[world]]))
    made, _ = run(code, worlds.made(world, 3).trace())
    assert [f.subject for f in read] == [f.subject for f in made]
    for one, other in zip(read, made, strict=True):
        assert one.cost_s == pytest.approx(other.cost_s, rel=0.25)
        assert one.t_start_ns == pytest.approx(other.t_start_ns, abs=20_000_000)
        # The world omits exchanges that were unfinished at its end.
        assert one.t_end_ns == pytest.approx(other.t_end_ns, abs=300_000_000)


@pytest.mark.parametrize("world", WORLDS)
def test_analyze_gives_the_finding(world: str, captures: dict[str, Path], tmp_path: Path) -> None:
    """The whole pipeline, with windows; detectors that need another kind of capture are not run."""
    analysis = wl.analyze([captures[world]], out=tmp_path / "out", report=False)
    assert WORLDS[world] in {f.code for f in analysis.findings}
    states = {state.code: state.state for state in analysis.findings.states}
    assert "failed" not in states.values()


def test_a_capture_without_frames_does_not_run_them() -> None:
    from tests.captures import CLEAN

    states = {s.code: s for s in wl.detect(wl.align([CLEAN])).states}
    for code in worlds.FIRES:
        assert states[code].state == "not_run"
        assert states[code].reason == "needs frames, exchanges"


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.parametrize("world", WORLDS)
def test_tshark_accepts_the_filters(world: str, captures: dict[str, Path]) -> None:
    found = [f for code in worlds.FIRES for f in run(code, wl.align([captures[world]]))[0]]
    for finding in found:
        command = [
            "tshark",
            "-n",
            "-r",
            str(captures[world]),
            "-Y",
            finding.display_filter,
            "-T",
            "fields",
            "-e",
            "frame.number",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        shown = {int(n) for n in done.stdout.split()}
        evidence = {row for name, _, rows in finding.evidence for row in rows if name == "frames"}
        assert evidence <= shown
        assert evidence


def test_every_detector_of_the_air_is_covered() -> None:
    air = {code for code, unit in units("detectors").items() if "exchanges" in unit.needs}
    assert set(WORLDS.values()) == air
