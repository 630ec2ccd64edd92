"""Simulate many random worlds and their truth: `python -m tests.simulation.many_worlds 1000`.

Each world must end with captures and a truth. What fails is printed with the world's seed and parameters; exit status 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import traceback

from wlanlens.simulation.simulate import Run, simulate
from wlanlens.validation.random_worlds import RandomWorld, random_world


def made(world: RandomWorld, *, captures: bool = True) -> Run:
    """The run of a world, after its true findings were computed."""
    with tempfile.TemporaryDirectory(prefix="wlanlens-worlds-") as folder:
        run = simulate(world, folder if captures else None, seed=world.seed, truth=captures)
        assert run.truth is not None
        return run


def main() -> int:
    """Simulate the worlds of consecutive numbers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0, help="number of the first world")
    parser.add_argument("--tame", action="store_true", help="parameters near their defaults only")
    given = parser.parse_args()
    failed = 0
    for seed in range(given.first, given.first + given.count):
        world = random_world(seed, wild=not given.tame)
        try:
            made(world)
        except Exception:  # noqa: BLE001 - counted and printed, whatever it is
            failed += 1
            print(f"{world.drawn}\n{traceback.format_exc(limit=-3)}", flush=True)
    print(f"{given.count} worlds, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
