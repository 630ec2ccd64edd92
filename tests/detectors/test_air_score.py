"""The detectors of the air in worlds of known truth. WLANLENS_SEEDS sets the number of seeds."""

from __future__ import annotations

import os
from functools import cache

import pytest

from tests.detectors import worlds
from tests.detectors.made import run

#: Seeds of each world; 40 take seven minutes.
SEEDS = int(os.environ.get("WLANLENS_SEEDS", "1"))
#: Share of the seeds in which a detector must be right.
RIGHT = 0.95


@cache
def found(world: str) -> dict[str, int]:
    """The number of seeds of a world in which each code was found."""
    made = [worlds.made(world, seed).trace() for seed in range(SEEDS)]
    return {code: sum(bool(run(code, trace)[0]) for trace in made) for code in worlds.FIRES}


@pytest.mark.parametrize("code", worlds.FIRES)
def test_fires_in_its_worlds(code: str) -> None:
    wrong = {world: found(world)[code] for world in worlds.FIRES[code] if found(world)[code] < RIGHT * SEEDS}
    assert not wrong, f"number of seeds, of {SEEDS}, in which it was found"


@pytest.mark.parametrize("code", worlds.FIRES)
def test_silent_on_look_alikes(code: str) -> None:
    others = [w for w in worlds.WORLDS if w not in worlds.FIRES[code] and not worlds.MAY[code](w)]
    wrong = {world: found(world)[code] for world in others if found(world)[code] > (1 - RIGHT) * SEEDS}
    assert not wrong, f"number of seeds, of {SEEDS}, in which it was found"
