"""The memory for two captures does not grow with their packets. The test counts bytes, not time."""

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
from wlanlens import operating_system
from wlanlens.alignment import align, common_packets
from wlanlens.detection.runner import DetectorRunner
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.pipeline import aligned_captures, allocator, flow_window, table_writers, time_chunks
from wlanlens.report import downsampling
from wlanlens.simulation.config import TapClock
from wlanlens.simulation.simulate import simulate
from wlanlens.tables import stored_tables

CLOCKS = {"sender": TapClock(offset_ns=1_000), "receiver": TapClock(offset_ns=5_000_000_000, drift_ppm=-60.0)}

#: By how much the memory may grow for three times the packets: windows differ by a batch, and the writer thread may lag.
#: If everything were kept, the factor would be 3.
GROWTH = 1.4

#: Memory pools in use so far: a buffer that is freed later refers to its pool.
POOLS: list[pa.MemoryPool] = []


class Counted:
    """The peak of the bytes that NumPy and Python, and Arrow, hold since the latest `begin`."""

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


def grown(measure: Callable[[int], tuple[int, int]], size: int) -> list[float]:
    """By how much the peaks grow when the size is three times as large."""
    # The first run also loads modules and fills caches: it is not counted.
    measure(1)
    return [many / few for few, many in zip(measure(size), measure(3 * size), strict=True)]


def test_three_times_the_packets_need_no_more_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in (
        (time_chunks, "ROWS", 4096),
        (time_chunks, "CONTEXT_ROWS", 1024),
        (flow_window, "ROWS", 4096),
        (table_writers, "GROUP_ROWS", 4096),
        (downsampling, "SEGMENT_ROWS", 4096),
        (downsampling, "OTHER_ROWS", 2048),
        (stored_tables, "BATCH_ROWS", 1024),
        (table_writers, "BATCH_ROWS", 1024),
    ):
        monkeypatch.setattr(module, name, value)
    cut = time_chunks.cut

    def measure(size: int) -> tuple[int, int]:
        run = simulate(clocked("clean_link", CLOCKS, duration_s=float(size)), tmp_path / f"{size}", seed=3)
        with counting() as counted:

            def begun(*given: Any) -> Iterator[time_chunks.Chunk]:
                counted.begin()
                yield from cut(*given)

            monkeypatch.setattr(time_chunks, "cut", begun)
            paths = [run.captures[point] for point in ("sender", "receiver")]
            wl.analyze(paths, out=tmp_path / f"{size}.out", report=False)
            return counted.peaks()

    # A shorter capture has too few chunks for as many of them to be in memory at once in every run.
    traced, arrow = grown(measure, 16)
    assert traced < GROWTH
    assert arrow < GROWTH


@pytest.mark.parametrize("scenario", ["clean_link", "genuine_timeout"])
def test_what_judges_a_window_is_freed_with_it(tmp_path: Path, scenario: str) -> None:
    run = simulate(scenario, tmp_path, seed=3)
    gc.collect()
    gc.disable()
    try:
        trace = wl.align(list(run.captures.values())).leading()
        DetectorRunner(None).run(trace)
        facts = weakref.ref(Facts.of(trace))
        assert facts() is not None
        del trace
        # A reference cycle would keep windows in memory until the garbage collector runs.
        assert facts() is None
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        assert {type(o).__name__ for o in gc.garbage if type(o).__module__.startswith("wlanlens.detect")} == set()
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def made(folder: Path, packets: int) -> list[Path]:
    """Captures of bulk transfers at both ends, made by the benchmarks' generator."""
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


def test_pairs_of_three_times_the_packets_need_no_more_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common_packets, "CLOCK_PAIRS", 16_384)

    def measure(size: int) -> tuple[int, int]:
        captures = [wl.open(path) for path in made(tmp_path, 25_000 * size)]
        for capture in captures:
            capture.table("packets")
        with counting() as counted:
            counted.begin()
            align.align_captures(captures, scratch=tmp_path)
            return counted.peaks()

    # Of fewer packets not all windows are in memory that the threads hold at once.
    traced, arrow = grown(measure, 16)
    assert traced < GROWTH
    assert arrow < GROWTH


def test_free_pages_are_returned_only_where_much_memory_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    class Library:
        """glibc."""

        @staticmethod
        def malloc_trim(pad: int) -> None:
            asked.append(pad)

    monkeypatch.setattr(allocator.ctypes, "CDLL", lambda _: Library)
    for held, times in ((1 << 28, 0), (1 << 30, 1)):
        monkeypatch.setattr(allocator, "resident_bytes", lambda held=held: held)
        allocator.give_back()
        assert len(asked) == times
    monkeypatch.undo()
    assert operating_system.resident_bytes() > 10 << 20


def test_captures_are_decoded_one_after_the_other_where_memory_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode, order = aligned_captures.AlignedCaptures._decode, []

    def watched(self: Any, number: int, feed: Any) -> Iterator[Any]:
        for group in decode(self, number, feed):
            order.append(number)
            yield group

    monkeypatch.setattr(aligned_captures.AlignedCaptures, "_decode", watched)
    paths = made(tmp_path, 150_000)
    tables = []
    for short in (False, True):
        monkeypatch.setattr(aligned_captures, "is_short", lambda short=short: short)
        order.clear()
        trace = wl.analyze(paths, out=tmp_path / f"{short}.out", report=False).trace
        tables.append(trace.table("links"))
        assert (order == sorted(order)) == short
    assert tables[0].equals(tables[1])
