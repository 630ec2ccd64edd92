"""Score the facts of many random worlds against their truth: `python -m tests.flow.random_facts 1000`.

Prints how many of each fact are undecided and wrong, by tap and by what both ends use of timestamps and SACK, then the
wrong facts by what was said and what is true, with examples. Exit status 1 if more than one in 10 000 is wrong.
`--save FOLDER` keeps the captures and the truth of each example.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.flow.fact_scoring import Tally, Wrong, score_world, shares
from wlanlens.simulation.simulate import simulate
from wlanlens.validation.random_worlds import random_world

#: One in so many facts may be wrong.
MOST = 10_000


def scored(count: int, first: int = 0, *, wild: bool = False, together: bool = False) -> Tally:
    """Facts of the worlds of consecutive numbers."""
    tally = Tally()
    for seed in range(first, first + count):
        tally.add(score_world(random_world(seed, wild=wild), together=together))
    return tally


def main() -> int:
    """Score, print, and keep what helps to mend."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0, help="number of the first world")
    parser.add_argument("--wild", action="store_true", help="parameters anywhere in their ranges")
    parser.add_argument("--together", action="store_true", help="what all captures of a world decide together")
    parser.add_argument("--examples", type=int, default=3, help="examples of each wrong fact")
    parser.add_argument("--save", type=Path, help="folder for the captures of the examples")
    given = parser.parse_args()
    tally = scored(given.count, given.first, wild=given.wild, together=given.together)
    print(f"{'tap':9} {'offers':16} {'fact':41} {'number':>8} {'undecided':>10} {'wrong':>6}")
    for tap, offers, fact, number, undecided, wrong in shares(tally):
        print(f"{tap:9} {offers:16} {fact:41} {number:8} {undecided:10.2%} {wrong:6}")
    cases: dict[tuple[str, str, str, str], dict[int, list[Wrong]]] = {}
    for fault in tally.wrong:
        cases.setdefault((fault.tap, fault.fact, fault.said, fault.true), {}).setdefault(fault.seed, []).append(fault)
    for (tap, fact, said, true), worlds in sorted(cases.items(), key=lambda case: -len(case[1])):
        print(f"\n{tap}: {fact} said {said}, true {true}: {sum(map(len, worlds.values()))} in {len(worlds)} worlds")
        for seed, faults in sorted(worlds.items(), key=lambda world: world[1][0].packet)[: given.examples]:
            print(f"  {seed}/{faults[0].capture}.pcap packet {faults[0].packet} ({faults[0].offers}) {faults[0].world}")
            if given.save:
                simulate(random_world(seed, wild=given.wild), given.save / str(seed), seed=seed)
    total = sum(tally.counts.values())
    print(
        f"\n{given.count} worlds, {total} facts, {len(tally.wrong)} wrong: {1e4 * len(tally.wrong) / total:.2f} in 10 000"
    )
    return int(MOST * len(tally.wrong) > total)


if __name__ == "__main__":
    sys.exit(main())
