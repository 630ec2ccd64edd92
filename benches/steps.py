"""One step of wlanlens in this process, measured without its imports: prints the rows read, CPU and elapsed seconds.

python benches/steps.py STEP CAPTURE...

`packets` and `segments` are `wl.open(f).table(name)` in a new process: whatever they import counts. The other steps run
twice, and the second run counts. `detectors` and `align` are measured on captures that are decoded before.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence

import wlanlens as wl

Step = Callable[[], object]
#: Does what is not measured, and returns the step.
Preparation = Callable[[], Step]

#: Steps that are measured in a new process.
COLD = ("packets", "segments")
WARM = ("decode", "facts", "detectors", "align")


def _drain(path: str, *, track: bool) -> Step:
    def run() -> None:
        reader = wl.Capture(path).reader(track=track)
        while reader.next_batches():
            pass

    return run


def _judge(path: str) -> Step:
    trace = wl.align([path])
    trace.table("segments")

    def run() -> None:
        wl.detect(trace)
        trace.table("ledger")

    return run


def _align(paths: Sequence[str]) -> tuple[int, Step]:
    from wlanlens.alignment.align import align_captures
    from wlanlens.pipeline.allocator import settle

    settle()
    captures = [wl.open(path) for path in paths]
    packets = sum(capture.table("packets").num_rows for capture in captures)
    return packets, lambda: align_captures(captures)


def step(name: str, paths: Sequence[str]) -> tuple[int, Preparation]:
    """The rows that a step reads where they are known before it, else 0; and its preparation."""
    path = paths[0]
    if name in COLD:
        return 0, lambda: lambda: wl.open(path).table(name)
    if name == "align":
        packets, run = _align(paths)
        return packets, lambda: run
    if name == "detectors":
        return 0, lambda: _judge(path)
    return 0, lambda: _drain(path, track=name == "facts")


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=COLD + WARM)
    parser.add_argument("captures", nargs="+")
    given = parser.parse_args(words)
    rows, prepare = step(given.step, given.captures)
    if given.step in WARM:
        prepare()()
    run = prepare()
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    run()
    print(json.dumps([rows, time.process_time() - cpu_s, time.perf_counter() - wall_s]))


if __name__ == "__main__":
    main()
