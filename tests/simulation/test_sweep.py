"""Sweeps: every combination once, on both cores or one; Ctrl-C and killed workers keep what was done."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow.parquet as pq
import pytest

import wlanlens as wl
from wlanlens.errors import WlanlensError
from wlanlens.simulation import parameter_sweep, sweep_dataset
from wlanlens.simulation.worker_pool import WorkerDied, sweep


def square(n: int) -> int:
    return n * n


def die_at_seven(n: int) -> int:
    if n == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return n


def raise_at_seven(n: int) -> int:
    if n == 7:
        raise WlanlensError("seven", next="try eight")
    return n


def sleep(n: int) -> int:
    time.sleep(60)
    return n


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_job_is_done_once(workers: int) -> None:
    told: list[int] = []
    done = dict(sweep(square, range(20), workers=workers, progress=told.append))
    assert done == {n: n * n for n in range(20)}
    assert told == list(range(1, 21))


def test_no_job_is_no_error() -> None:
    assert list(sweep(square, [], workers=2)) == []


def test_a_killed_worker_is_an_error_and_what_was_done_is_kept() -> None:
    done: list[int] = []
    with pytest.raises(WorkerDied, match="killed by signal 9 at 7"):
        done.extend(result for _, result in sweep(die_at_seven, range(50), workers=2))
    # All before it but the one that the other worker had in hand.
    assert len({*done} & {*range(7)}) >= 6
    assert 7 not in done


def test_an_error_comes_through_whole() -> None:
    with pytest.raises(WlanlensError, match="seven; try eight"):
        list(sweep(raise_at_seven, range(50), workers=2))


def children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in found.read_text().split()] if found.exists() else []


def alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes()]


def wait_until_gone(pids: list[int], seconds: float = 10.0) -> list[int]:
    end = time.monotonic() + seconds
    while alive(pids) and time.monotonic() < end:
        time.sleep(0.05)
    return alive(pids)


def test_stopping_early_ends_the_workers() -> None:
    begun = time.monotonic()
    results = sweep(square_or_sleep, [1, 100], workers=2)
    assert next(results) == (1, 1)
    mine = children(os.getpid())
    results.close()  # type: ignore[attr-defined]
    assert time.monotonic() - begun < 30
    assert not [pid for pid in alive(mine) if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def square_or_sleep(n: int) -> int:
    return sleep(n) if n == 100 else square(n)


def test_workers_do_not_outlive_a_killed_parent() -> None:
    code = "from wlanlens.simulation.worker_pool import sweep; from tests.simulation.test_sweep import sleep; list(sweep(sleep, range(4), workers=2))"
    with subprocess.Popen([sys.executable, "-c", code]) as parent:
        try:
            end = time.monotonic() + 30
            while len(workers := children(parent.pid)) < 3 and time.monotonic() < end:
                time.sleep(0.05)
            assert len(workers) == 3  # two and Python's resource tracker
            time.sleep(1.0)
        finally:
            parent.kill()
    assert wait_until_gone(workers) == []


def test_values_of_a_sweep() -> None:
    assert parameter_sweep.values("1,2,5.5") == ["1", "2", "5.5"]
    assert parameter_sweep.values("10..50:10") == ["10", "20", "30", "40", "50"]
    assert parameter_sweep.values("0..1:0.25,7") == ["0", "0.25", "0.5", "0.75", "1", "7"]
    assert parameter_sweep.values("0..0.3:0.1") == ["0", "0.1", "0.2", "0.3"]
    assert parameter_sweep.seeds("1..3,9") == [1, 2, 3, 9]
    for bad in ("", "5..1", "1..2:0", "a..b", "0..1e30", "1..nan", "0..inf:1", "1..2:-1"):
        with pytest.raises(WlanlensError, match=r"for example"):
            parameter_sweep.values(bad)
    with pytest.raises(WlanlensError, match="no list of seeds"):
        parameter_sweep.seeds("x")


def command(folder: Path, *more: str) -> list[str]:
    return [
        sys.executable, "-m", "wlanlens_cli.main", "simulate", "--scenario", "clean_link", "--set", "duration_s=0.2",
        "-o", str(folder), *more,
    ]  # fmt: skip


def test_a_table_of_runs(tmp_path: Path) -> None:
    more = ["--sweep", "rate_mbps=1,11", "--seeds", "1..2", "--tap", "none", "--jobs", "1"]
    subprocess.run(command(tmp_path, *more), check=True, capture_output=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["runs.csv", "runs.parquet", "truth", "truth_ledger"]
    rows = pq.read_table(tmp_path / "runs.parquet").to_pylist()
    assert [(r["rate_mbps"], r["seed"]) for r in rows] == [(1.0, 1), (1.0, 2), (11.0, 1), (11.0, 2)]
    assert 5 * rows[0]["goodput_bps"] < rows[2]["goodput_bps"] < 6e6
    assert {r["retransmissions"] for r in rows} == {0}
    again = subprocess.run(command(tmp_path, *more), check=True, capture_output=True, text=True)
    assert "4 runs, 0 of them new" in again.stdout


def test_a_folder_a_run_and_the_same_bytes_as_alone(tmp_path: Path) -> None:
    more = ["--sweep", "rate_mbps=1,11", "--seed", "3", "--tap", "sender"]
    subprocess.run(command(tmp_path / "swept", *more), check=True, capture_output=True)
    alone = command(tmp_path / "alone", "--set", "rate_mbps=11", "--seed", "3", "--tap", "sender")
    subprocess.run(alone, check=True, capture_output=True)
    swept = tmp_path / "swept" / "rate_mbps=11.0,seed=3"
    for path in (tmp_path / "alone").iterdir():
        assert (swept / path.name).read_bytes() == path.read_bytes(), path.name


def test_everything_is_checked_before_anything_runs(tmp_path: Path) -> None:
    bad = subprocess.run(
        command(tmp_path / "x", "--sweep", "rate_mbps=11,0", "--seeds", "1..3"),
        check=False,
        capture_output=True,
        text=True,
    )
    assert bad.returncode == 2
    assert "rate_mbps must be" in bad.stderr
    assert not (tmp_path / "x").exists()
    other = subprocess.run(
        command(tmp_path / "x", "--seeds", "1..2000000"), check=False, capture_output=True, text=True
    )
    assert other.returncode == 2
    assert "2000000 values" in other.stderr


def test_a_folder_of_another_scenario_is_refused(tmp_path: Path) -> None:
    subprocess.run(command(tmp_path, "--seeds", "1", "--tap", "none"), check=True, capture_output=True)
    words = ["simulate", "-s", "ack_holding", "--seeds", "1", "--tap", "none", "-o", str(tmp_path)]
    other = subprocess.run(
        [sys.executable, "-m", "wlanlens_cli.main", *words], check=False, capture_output=True, text=True
    )
    assert other.returncode == 3
    assert "holds runs of clean_link" in other.stderr


def test_ctrl_c_keeps_what_was_done(tmp_path: Path) -> None:
    # Long enough that parts are written while most runs are still to come.
    more = ["--set", "duration_s=20", "--seeds", "1..60", "--tap", "sender", "--jobs", "2"]
    with subprocess.Popen(command(tmp_path, *more), stderr=subprocess.PIPE, text=True) as child:
        try:
            journal, end = tmp_path / parameter_sweep.JOURNAL, time.monotonic() + 60
            while time.monotonic() < end and not (journal.exists() and journal.read_text().count("\n") >= 5):
                time.sleep(0.02)
            workers = children(child.pid)
            child.send_signal(signal.SIGINT)
            said = child.communicate(timeout=30)[1]
        finally:
            child.kill()
    assert child.returncode == 130
    assert "of 60 runs are finished and kept" in said
    assert "Traceback" not in said
    assert wait_until_gone(workers) == []
    kept = pq.read_table(tmp_path / "runs.parquet").num_rows
    assert 5 <= kept < 60
    assert not journal.exists()
    assert not list(tmp_path.glob("*.partial"))
    assert len([p for p in tmp_path.iterdir() if p.is_dir()]) >= kept
    done = subprocess.run(command(tmp_path, *more), check=False, capture_output=True, text=True)
    assert done.returncode == 0
    assert f"60 runs, {60 - kept} of them new" in done.stdout
    assert pq.read_table(tmp_path / "runs.parquet").num_rows == 60
    # The ledger of every run is in the dataset once: its categories sum up to the time of the transfer.
    ledger = pq.read_table(tmp_path / "truth_ledger").to_pandas()
    lasted_ns = (ledger.t_end_ns - ledger.t_start_ns).groupby(ledger.run.astype(str)).sum()
    assert len(lasted_ns) == 60
    assert lasted_ns.between(0.9 * lasted_ns.median(), 1.1 * lasted_ns.median()).all()


def test_parts_that_no_finished_run_names_are_removed(tmp_path: Path) -> None:
    jobs = parameter_sweep.plan("ack_holding", tmp_path, {}, [1, 2, 3], {"duration_s": 3.0}, ())
    parameter_sweep.run_all(jobs[:1], workers=1)
    # Killed after the part was written and before the journal named it.
    shutil.copy(tmp_path / "truth" / "part-00000.parquet", tmp_path / "truth" / "part-00001.parquet")
    (tmp_path / "truth_ledger" / "part-00001.partial").write_bytes(b"PAR1")
    assert parameter_sweep.run_all(jobs[:2], workers=1) == 1
    names = {name: [path.name for path in paths] for name, paths in sweep_dataset.parts(tmp_path).items()}
    assert names == {name: ["part-00000.parquet", "part-00001.parquet"] for name in sweep_dataset.TABLES}
    assert not list(tmp_path.rglob("*.partial"))
    # A part that was lost: its runs are simulated again.
    (tmp_path / "truth" / "part-00001.parquet").unlink()
    assert parameter_sweep.run_all(jobs, workers=1) == 2
    alone = [(f"seed={seed}", *row) for seed in (1, 2, 3) for row in _true(seed)]
    both = [pq.read_table(tmp_path / name).to_pylist() for name in sweep_dataset.TABLES]
    rows = [(row["run"], row.get("code") or row["category"], row["t_start_ns"]) for rows in both for row in rows]
    assert sorted(rows) == sorted(alone)


def test_an_interrupt_at_any_line_keeps_each_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def planned(folder: Path) -> list[parameter_sweep.Job]:
        return parameter_sweep.plan("ack_holding", folder, {}, [1, 2, 3], {"duration_s": 3.0}, ())

    results = {job.seed: parameter_sweep._run(job) for job in planned(tmp_path)}
    files = (parameter_sweep.__file__, sweep_dataset.__file__)
    running, left = False, 0

    def known(_run: Any, jobs: list[parameter_sweep.Job], **_options: Any) -> Iterator[Any]:
        nonlocal running
        running = True
        yield from ((job, results[job.seed]) for job in jobs)
        running = False

    def trace(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal left, running
        if frame.f_code.co_filename not in files:
            return None
        if event == "line" and running:
            left -= 1
            if left == 0:
                running = False
                raise KeyboardInterrupt
        return trace

    monkeypatch.setattr(parameter_sweep, "sweep", known)
    monkeypatch.setattr(sweep_dataset.Dataset, "due", True)
    parameter_sweep.run_all(planned(tmp_path / "whole"))
    whole = ledger_of(tmp_path / "whole")
    assert {run for run, *_ in whole} == {"seed=1", "seed=2", "seed=3"}
    for line in range(1, 1000):
        folder, left = tmp_path / str(line), line
        before = sys.gettrace()
        try:
            sys.settrace(trace)
            parameter_sweep.run_all(planned(folder))
            break
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        table = folder / parameter_sweep.TABLE
        kept = pq.read_table(table).num_rows if table.exists() else 0
        left = 0
        assert (line, parameter_sweep.run_all(planned(folder))) == (line, 3 - kept)
        assert (line, ledger_of(folder)) == (line, whole)
    assert line > 20


def ledger_of(folder: Path) -> list[tuple[str, str, int]]:
    """The rows of the ledgers of a sweep."""
    rows = pq.read_table(folder / "truth_ledger").to_pylist()
    return sorted((row["run"], row["category"], row["t_start_ns"]) for row in rows)


def _true(seed: int) -> list[tuple[str, int]]:
    run = wl.simulate("ack_holding", seed=seed, duration_s=3.0)
    ledger = run.facts.ledger.select(["category", "t_start_ns"]).to_pylist()
    return [(f.code, f.t_start_ns) for f in run.truth] + [(row["category"], row["t_start_ns"]) for row in ledger]


def test_sql_on_a_sweep(tmp_path: Path) -> None:
    more = ["--seeds", "1..3", "--tap", "none", "--jobs", "1"]
    subprocess.run(command(tmp_path, *more), check=True, capture_output=True)
    sql = "SELECT r.seed, sum(t_end_ns - t_start_ns) AS ns FROM truth_ledger JOIN runs r USING (run) GROUP BY 1 ORDER BY 1"
    words = [sys.executable, "-m", "wlanlens_cli.main", "query", str(tmp_path), sql, "--format", "json"]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert [json.loads(line)["seed"] for line in said.splitlines()] == [1, 2, 3]


def test_a_cut_journal_is_read_to_its_last_whole_line(tmp_path: Path) -> None:
    jobs = parameter_sweep.plan("clean_link", tmp_path, {}, [1, 2], {"duration_s": 0.05}, ())
    assert parameter_sweep.run_all(jobs[:1], workers=1) == 1
    rows = parameter_sweep._done(tmp_path, "clean_link")
    (tmp_path / parameter_sweep.TABLE).unlink()
    lines = [json.dumps({"key": key, "row": row}) for key, row in rows.items()]
    (tmp_path / parameter_sweep.JOURNAL).write_text(lines[0] + "\n" + lines[0][:50])
    assert parameter_sweep.run_all(jobs, workers=1) == 1
    assert pq.read_table(tmp_path / parameter_sweep.TABLE).num_rows == 2
