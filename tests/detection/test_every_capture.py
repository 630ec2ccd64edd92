"""What holds of every analysis (consistency.py) on every capture at hand; tests/test_captures.py has those of ../shared/captures."""

from __future__ import annotations

import contextlib
import re
import shutil
from pathlib import Path

import pytest

import wlanlens as wl
from tests.detection.consistency import faults
from tests.simulation.dissection import records
from wlanlens.errors import WlanlensError
from wlanlens.registry import units
from wlanlens.simulation.simulate import simulate

SHARED = Path(__file__).parents[3] / "shared"


@pytest.mark.parametrize("folder", ["answers", "kernel", "wlan-modern"])
def test_every_shared_capture(folder: str, tmp_path: Path) -> None:
    files = sorted(
        p for p in (SHARED / folder).rglob("*") if re.search(r"cap|trace|\.dmp|\.enc", p.name) and p.is_file()
    )
    if not files:
        pytest.skip("the shared captures are not here")
    found = []
    for path in files:
        # A file that cannot be read is refused; tests of bad input check how.
        with contextlib.suppress(WlanlensError):
            made = wl.analyze([path], out=tmp_path / "out", report=False)
            found += [f"{path.name}: {fault}" for fault in faults(made)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("part", range(4))
def test_every_scenario_at_every_tap(part: int, tmp_path: Path) -> None:
    found = []
    for name in sorted(units("scenarios"))[part::4]:
        run = simulate(name, tmp_path / name, seed=5, duration_s=2.5)
        taps = list(run.captures.values())
        for some in [*([tap] for tap in taps), taps]:
            made = wl.analyze(some, out=tmp_path / "out", report=False)
            wrong = faults(made)
            wrong += [n.sentence for c in made.trace.captures for n in c.notes if n.severity == "error"]
            if [c["records"] for c in made.description["captures"]] != [records(path) for path in some]:
                wrong.append("not all records were read")
            found += [f"{name} at {len(some)} of {len(taps)}: {fault}" for fault in wrong]
        shutil.rmtree(tmp_path / name)
    assert not found, "\n".join(found)
