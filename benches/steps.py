"""One step of wlanlens in this process, measured without its imports: prints the rows read and the CPU seconds of each run.

python benches/steps.py STEP CAPTURE... [--runs 3]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence

import wlanlens as wl
from wlanlens.alignment.align import align_captures
from wlanlens.pipeline.allocator import settle

Step = Callable[[], object]


def _drain(path: str, *, track: bool) -> Step:
    def run() -> None:
        reader = wl.Capture(path).reader(track=track)
        while reader.next_batches():
            pass

    return run


def _judge(path: str) -> Step:
    def run() -> None:
        trace = wl.align([path])
        wl.detect(trace)
        trace.table("ledger")

    return run


def step(name: str, paths: Sequence[str]) -> tuple[int, Step]:
    """The rows that a step reads where they are known before it, else 0; and the step."""
    if name == "decode":
        return 0, _drain(paths[0], track=False)
    if name == "facts":
        return 0, _drain(paths[0], track=True)
    if name == "detectors":
        return 0, _judge(paths[0])
    settle()
    captures = [wl.open(path) for path in paths]
    packets = sum(capture.table("packets").num_rows for capture in captures)
    return packets, lambda: align_captures(captures)


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("decode", "facts", "detectors", "align"))
    parser.add_argument("captures", nargs="+")
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args(words)
    packets, run = step(given.step, given.captures)
    spent = []
    for _ in range(given.runs + 1):
        begun = time.process_time()
        run()
        spent.append(time.process_time() - begun)
    print(json.dumps([packets, spent[1:]]))  # the first run warms caches


if __name__ == "__main__":
    main()
