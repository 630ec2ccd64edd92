"""Memory of two captures analysed together is that of a window, however many packets both hold: bytes counted, not timed."""

from __future__ import annotations

import gc
import importlib.util
import sys
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import wlanlens as wl
from tests.alignment.simulated import clocked
from tests.captures import ROOT
from wlanlens.alignment import align, sampling
from wlanlens.detection.runner import Judge
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.pipeline import flow_window, result_dir, spill, table_writers, time_chunks
from wlanlens.report import downsampling
from wlanlens.simulation.config import TapClock
from wlanlens.simulation.scenario import simulate

CLOCKS = {"sender": TapClock(offset_ns=1_000), "receiver": TapClock(offset_ns=5_000_000_000, drift_ppm=-60.0)}

#: What three times the packets may take more: windows differ by a batch, and the writing thread may be behind. Were all kept: 3.
GROWTH = 1.4

#: Pools that were counted: buffers that are still held name theirs when they go.
POOLS: list[pa.MemoryPool] = []


class Counted:
    """The most bytes that numpy and Python, and Arrow, held at once since the latest `begin`."""

    def begin(self) -> None:
        gc.collect()
        POOLS.append(pa.proxy_memory_pool(pa.system_memory_pool()))
        pa.set_memory_pool(POOLS[-1])
        tracemalloc.clear_traces()
        tracemalloc.reset_peak()

    def peaks(self) -> tuple[int, int]:
        return tracemalloc.get_traced_memory()[1], POOLS[-1].max_memory()


@contextmanager
def counting() -> Iterator[Counted]:
    before = pa.default_memory_pool()
    tracemalloc.start()
    try:
        yield Counted()
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)


def grown(measure: Callable[[int], tuple[int, int]]) -> list[float]:
    """How many times more memory three times as much takes."""
    # What is loaded or made once is no part of it.
    measure(1)
    return [many / few for few, many in zip(measure(8), measure(24), strict=True)]


def test_slices_of_three_times_the_packets_take_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in (
        (time_chunks, "ROWS", 4096),
        (time_chunks, "CONTEXT_ROWS", 1024),
        (flow_window, "ROWS", 4096),
        (table_writers, "GROUP_ROWS", 4096),
        (downsampling, "SEGMENT_ROWS", 4096),
        (downsampling, "OTHER_ROWS", 2048),
        (result_dir, "_BATCH", 1024),
        (spill, "ROWS", 1024),
    ):
        monkeypatch.setattr(module, name, value)
    cut = time_chunks.cut

    def measure(size: int) -> tuple[int, int]:
        run = simulate(clocked("clean_link", CLOCKS, duration_s=float(size)), tmp_path / f"{size}", seed=3)
        with counting() as counted:

            def begun(*given: Any) -> Iterator[time_chunks.Slice]:
                counted.begin()
                yield from cut(*given)

            monkeypatch.setattr(time_chunks, "cut", begun)
            paths = [run.captures[point] for point in ("sender", "receiver")]
            wl.analyze(paths, out=tmp_path / f"{size}.out", report=False)
            return counted.peaks()

    traced, arrow = grown(measure)
    assert traced < GROWTH
    assert arrow < GROWTH


def test_what_detectors_keep_of_a_window_goes_with_it(tmp_path: Path) -> None:
    run = simulate(clocked("clean_link", CLOCKS, duration_s=1.0), tmp_path, seed=3)
    gc.collect()
    gc.disable()
    try:
        trace = wl.align(list(run.captures.values())).leading()
        Judge(None).run(trace)
        facts = weakref.ref(Facts.of(trace))
        assert facts() is not None
        del trace
        # A circle would wait for the collector, and windows would pile up meanwhile.
        assert facts() is None
    finally:
        gc.enable()


def made(folder: Path, packets: int) -> list[Path]:
    """Captures of one bulk transfer's packets at both ends, as the benchmarks make them."""
    spec = importlib.util.spec_from_file_location("make_capture", ROOT / "benches" / "make_capture.py")
    assert spec is not None
    assert spec.loader is not None
    maker: Any = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = maker
    spec.loader.exec_module(maker)
    rows = maker.all_rows(packets, 4, 1)
    paths = [folder / f"{name}-{packets}.pcap" for name in ("sender", "receiver")]
    maker.write(paths[0], rows, 96)
    there, there_ns = maker.at_receiver(rows)
    maker.write(paths[1], there, 96, there_ns)
    return paths


def test_pairs_of_three_times_the_packets_take_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "CLOCK_PAIRS", 16_384)

    def measure(size: int) -> tuple[int, int]:
        captures = [wl.open(path) for path in made(tmp_path, 25_000 * size)]
        for capture in captures:
            capture.table("packets")
        with counting() as counted:
            counted.begin()
            align.join(captures, scratch=tmp_path)
            return counted.peaks()

    traced, arrow = grown(measure)
    assert traced < GROWTH
    assert arrow < GROWTH
