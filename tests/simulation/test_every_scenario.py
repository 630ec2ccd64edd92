"""Every scenario on the shelf: captures that tshark finds nothing wrong in, the same bytes again."""

from __future__ import annotations

import hashlib
import random
import shutil
from pathlib import Path

import pytest

import wlanlens as wl
from tests.simulation.dissection import first_fault, installed
from wlanlens.registry import units
from wlanlens.simulation.simulate import Run

NAMES = sorted(units("scenarios"))

#: Simulated time of each: the connection is up, holds (from 2 s on) and fades have begun.
SECONDS = 2.5


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
    if not installed():
        pytest.skip("tshark and mergecap are not installed")
    paths = [run.captures[point] for run in runs.values() if point in run.captures]
    assert paths
    assert first_fault(paths, tmp_path) == ""
