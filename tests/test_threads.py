"""Threads whose death is noticed: a wait for one that cannot start or ends without a word is an error, not for ever."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.captures import ROOT, SAMPLES
from wlanlens.threads import Threads, ahead

#: For each number N from 1 on a process analyses captures whose thread N ends before its first line of Python, as without memory for a
#: frame: until so many threads are not started. Forked, so that one import serves all.
WITHOUT_MEMORY = """
import _thread, os, signal, sys
import wlanlens as wl
from tests.warm import warm_up
warm_up()
begin, begun = _thread.start_new_thread, []

def start_new_thread(function, arguments):
    begun.append(0)
    # A function without the parameters that it is called with ends as early as C code can end.
    return begin((lambda: None) if len(begun) == number else function, arguments)

def analyze():
    _thread.start_new_thread = start_new_thread
    sys.unraisablehook = lambda _: None
    signal.alarm(60)
    try:
        wl.analyze(sys.argv[2:], out=f"{sys.argv[1]}/{number}")
    except (MemoryError, RuntimeError) as error:
        print("error", error, flush=True)
        return 1
    print("done", len(begun), flush=True)
    return int(len(begun) >= number)

for number in range(1, 30):
    child = os.fork()
    if not child:
        os._exit(analyze())
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if ended != 1:
        sys.exit(ended)
"""


@pytest.mark.parametrize("taps", [("sender",), ("sender", "receiver")])
def test_an_analysis_ends_whichever_thread_does_not_start(taps: tuple[str, ...], tmp_path: Path) -> None:
    paths = [str(SAMPLES / f"usb_ack_holding.{tap}.pcap") for tap in taps]
    command = [sys.executable, "-c", WITHOUT_MEMORY, str(tmp_path), *paths]
    said = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout.splitlines()
    findings = set()
    for number, line in enumerate(said, 1):
        if line.startswith("done"):
            out = tmp_path / str(number)
            assert sorted(path.name for path in out.iterdir()) == [
                "analysis.json",
                "findings.json",
                "report.html",
                "tables",
            ]
            findings.add((out / "findings.json").read_text())
    assert said[-1].startswith("done")
    # Without a thread that only saves time, or that shares its work with another, the analysis is whole.
    assert len(findings) == 1
    ended = [line for line in said if line.startswith("error")]
    assert all(line.startswith(("error", "done")) for line in said)
    assert len(ended) > len(said) / 2 > 2


def test_jobs_are_done_in_order_and_their_errors_are_raised() -> None:
    with Threads(1) as one:
        done: list[int] = []
        jobs = [one.submit(done.append, number) for number in range(10)]
        jobs[-1].result()
        assert done == list(range(10))
        with pytest.raises(ZeroDivisionError):
            one.submit(lambda: 1 // 0).result()
    with Threads(2) as two:
        assert list(two.map(lambda value: 2 * value, range(5))) == [0, 2, 4, 6, 8]


def test_jobs_run_beside_each_other() -> None:
    met = threading.Barrier(2, timeout=10)
    with Threads(2) as two:
        assert len(list(two.map(lambda _: met.wait(), range(2)))) == 2


def test_a_map_begins_before_its_results_are_asked_for() -> None:
    begun = threading.Event()
    with Threads(1) as one:
        results = one.map(lambda _: begun.set(), range(1))
        assert begun.wait(10)
        assert list(results) == [None]


def test_what_has_not_begun_is_dropped() -> None:
    begun, go, done = threading.Event(), threading.Event(), []

    def wait() -> bool:
        begun.set()
        return go.wait(10)

    one = Threads(1)
    first = one.submit(wait)
    one.submit(done.append, 1)
    assert begun.wait(10)
    one.stop(wait=False)
    go.set()
    assert first.result()
    one.stop()
    assert not done


def test_values_made_ahead_keep_their_order() -> None:
    made: list[int] = []

    def values() -> Iterator[int]:
        for n in range(20):
            made.append(n)
            yield n

    taken = []
    for n in ahead(values(), depth=3):
        taken.append(n)
        # Those that were taken and up to three more.
        assert len(made) <= n + 5
    assert taken == made == list(range(20))
    assert list(ahead([])) == []


def test_an_error_of_a_value_made_ahead_comes_in_its_turn() -> None:
    def values() -> Iterator[int]:
        yield 1
        raise ValueError("no more")

    made = ahead(values())
    assert next(made) == 1
    with pytest.raises(ValueError, match="no more"):
        next(made)


#: Analyses captures, reads the tables for the report, then prints how many threads live that Python did not start.
FOREIGN_THREADS = """
import _thread, pathlib, sys
import wlanlens as wl
wl.analyze(sys.argv[2:], out=sys.argv[1])
wl.rewrite_report(sys.argv[1])
names = [file.read_text() for file in pathlib.Path("/proc/self/task").glob("*/comm")]
print(sum(not name.startswith("jemalloc") for name in names) - 1 - _thread._count())
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
def test_arrow_starts_no_threads(tmp_path: Path) -> None:
    # Where one of them cannot start for want of memory, Arrow frees what those before it still read, and the process crashes.
    captures = [str(SAMPLES / f"usb_ack_holding.{point}.pcap") for point in ("sender", "receiver")]
    code = [sys.executable, "-c", FOREIGN_THREADS, str(tmp_path / "out"), *captures]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(code, capture_output=True, text=True, check=True, env=environment)
    assert run.stdout == "0\n", run.stderr
