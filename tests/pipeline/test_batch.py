"""`batch`: what cannot be analysed is a row, order and workers do not matter, and an interrupted batch continues."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import wlanlens as wl
from tests.captures import ROOT, pcap, tcp
from tests.pipeline.fleets import litter, results, runs, shuffled, traces
from tests.warm import completed
from wlanlens.pipeline.batch.batch import BatchProgress
from wlanlens.pipeline.batch.job import finish_failed, remove_result

WLANLENS = [sys.executable, "-m", "wlanlens_cli.main"]


@pytest.fixture(scope="module")
def twenty(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return traces(tmp_path_factory.mktemp("twenty") / "in", 17, 3)


@pytest.fixture(scope="module")
def serial(twenty: list[Path], tmp_path_factory: pytest.TempPathFactory) -> wl.Batch:
    return wl.batch(twenty, tmp_path_factory.mktemp("serial") / "out", jobs=1, report=False)


def statuses(batch: wl.Batch) -> dict[str, tuple[str, str]]:
    rows = batch.runs.select(["run", "status", "reason"]).to_pylist()
    return {row["run"]: (row["status"], row["reason"]) for row in rows}


def started(*words: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*WLANLENS, "batch", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )


def records(out: Path) -> dict[str, int]:
    """The finished runs, and when their records were written."""
    return {path.parent.name: path.stat().st_mtime_ns for path in (out / "runs").glob("*/run.json")}


def wait_for_records(out: Path, number: int) -> None:
    until = time.monotonic() + 60
    while len(records(out)) < number:
        assert time.monotonic() < until
        time.sleep(0.02)


def children(process: int) -> list[int]:
    """The processes that a process has started, in any of its threads."""
    found = []
    for thread in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(word) for word in thread.read_text().split()]
    return found


def alive(processes: list[int]) -> list[int]:
    """The processes that have not ended."""
    return [process for process in processes if Path(f"/proc/{process}").exists()]


def analysing(batch: int, run: str) -> list[int]:
    """The processes of a batch that write to the folder of a run."""
    found = []
    for process in (analysis for server in children(batch) for analysis in children(server)):
        try:
            files = [os.readlink(file) for file in Path(f"/proc/{process}/fd").iterdir()]
        except OSError:
            continue
        found += [process] if any(f"/runs/{run}/" in file for file in files) else []
    return found


def test_every_trace_is_a_row_with_its_reason(serial: wl.Batch) -> None:
    assert serial.counts == {"done": 17, "unreadable": 3}
    rows = serial.runs.to_pylist()
    assert [row["run"] for row in rows] == sorted(row["run"] for row in rows)
    for row in rows:
        if row["status"] == "done":
            analysis = wl.load(serial.out / "runs" / row["run"])
            assert row["verdict"] == analysis.verdict.sentence
            assert row["lost_s"] <= row["life_s"] == pytest.approx(sum(analysis.totals.values()) / 1e9)
            assert {part["category"]: part["ns"] for part in row["ledger"]} == analysis.totals
            assert (row["findings"], row["reason"], row["attempts"]) == (len(analysis.findings), "", 1)
            assert row["seconds"] > 0
        else:
            assert row["reason"].startswith(row["captures"][0] + ": the ")
            assert row["verdict"] is row["lost_s"] is row["ledger"] is None
    assert litter(serial.out) == []


def test_order_and_workers_do_not_matter(twenty: list[Path], serial: wl.Batch, tmp_path: Path) -> None:
    two = wl.batch(shuffled(twenty, 1), tmp_path / "out", jobs=3, report=False)
    assert runs(two.out).equals(runs(serial.out), check_metadata=True)
    assert results(two.out) == results(serial.out)


def test_shards_together_are_the_whole(twenty: list[Path], serial: wl.Batch, tmp_path: Path) -> None:
    first = wl.batch(twenty, tmp_path / "out", shard="1/2", report=False)
    assert 0 < first.runs.num_rows == first.new == 20 - first.missing < 20
    second = wl.batch(twenty, tmp_path / "out", shard="2/2", report=False)
    assert (second.new, second.missing) == (first.missing, 0)
    assert runs(second.out).equals(runs(serial.out))
    assert results(second.out) == results(serial.out)


def test_again_does_nothing_and_a_change_is_analysed(tmp_path: Path) -> None:
    paths = traces(tmp_path / "in", 3, 1)
    out = tmp_path / "out"
    assert wl.batch(tmp_path / "in", out).new == 4
    before = records(out)
    seen: list[BatchProgress] = []
    assert wl.batch(tmp_path / "in", out, jobs=1, progress=seen.append).new == 0
    assert seen == [BatchProgress(4, 4, 4, 1, 1.0)]
    assert records(out) == before
    os.utime(paths[0], ns=(1, 1))
    (out / "runs" / "good0001" / "findings.json").unlink()
    assert wl.batch(tmp_path / "in", out, retry=True).new == 3
    assert {run for run, at in records(out).items() if before[run] != at} == {"good0000", "good0001", "empty0000"}
    mine = out / "runs" / "good0002" / "my notes.txt"
    mine.write_text("mine")
    assert wl.batch(tmp_path / "in", out, report=False).new == 4
    assert mine.read_text() == "mine"
    assert not (out / "runs" / "good0002" / "report.html").exists()
    assert (out / "runs" / "good0000" / "findings.json").exists()


def test_captures_of_one_trace_are_aligned(tmp_path: Path) -> None:
    samples = ROOT / "sample_traces"
    out = wl.batch([samples / "usb_ack_holding.*.pcap"], tmp_path / "out", pattern="{trace}.{point}.pcap").out
    (row,) = pq.read_table(out / "runs.parquet").to_pylist()
    assert row["points"] == ["air", "receiver", "sender", "usb"]
    analysis = wl.load(out / "runs" / "usb_ack_holding")
    assert [capture.point for capture in analysis.trace.captures] == ["air", "receiver", "sender", "usb"]
    assert f"wlanlens evidence {out / 'runs' / 'usb_ack_holding'} 1" in (analysis.report or Path()).read_text()


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    traces(tmp_path / "in", 1)
    os.mkfifo(tmp_path / "in" / "pipe.pcap")
    (tmp_path / "in" / "gone.pcap").symlink_to(tmp_path / "nowhere")
    found = statuses(wl.batch([tmp_path / "in", tmp_path / "in" / "never.pcap"], tmp_path / "out", report=False))
    assert found["pipe"] == ("refused", "pipe.pcap: not a regular file")
    assert found["gone"] == ("unreadable", "gone.pcap: No such file or directory")
    assert found["never"] == ("unreadable", "never.pcap: No such file or directory")
    assert found["good0000"] == ("done", "")


def flood(path: Path, connections: int) -> None:
    """A SYN for each of many connections: all of them are in memory at the end."""
    syns = ((n * 1000, tcp(1024 + n % 60_000, 80 + n // 60_000, n, 0, 2)) for n in range(connections))
    path.write_bytes(pcap([]) + b"".join(pcap([syn])[24:] for syn in syns))


def test_limits_of_memory_and_time_are_rows(tmp_path: Path) -> None:
    traces(tmp_path / "in", 2)
    flood(tmp_path / "in" / "flood.pcap", 150_000)
    out = tmp_path / "out"
    batch = wl.batch(tmp_path / "in", out, report=False, memory_mb=64)
    assert statuses(batch)["flood"] == ("killed", "out of memory: it needs more than 64 MB")
    assert statuses(batch)["good0000"] == ("done", "")
    assert dict(zip(statuses(batch), batch.runs.column("attempts").to_pylist(), strict=True))["flood"] == 2
    found = statuses(wl.batch(tmp_path / "in", out, report=False, timeout_s=0.3))
    assert found["flood"] == ("timeout", "not done after 0.3 s")
    assert [path.name for path in (out / "runs" / "flood").iterdir()] == ["run.json"]
    # The limits are no longer those that ended it; the others are finished.
    assert wl.batch(tmp_path / "in", out, report=False, timeout_s=0.4).new == 1
    with pytest.raises(wl.WlanlensError, match="least 64"):
        wl.batch(tmp_path / "in", out, memory_mb=1)


def test_a_killed_process_gets_a_second_attempt(tmp_path: Path) -> None:
    traces(tmp_path / "in", 4)
    flood(tmp_path / "in" / "flood.pcap", 150_000)
    batch = started(tmp_path / "in", "-o", tmp_path / "out", "--no-report", "-j", 2, "--strict")
    kills: list[int] = []
    until = time.monotonic() + 60
    while len(kills) < 2 and time.monotonic() < until and batch.poll() is None:
        for process in analysing(batch.pid, "flood"):
            if process not in kills:
                os.kill(process, signal.SIGKILL)
                kills.append(process)
        time.sleep(0.01)
    _, errors = batch.communicate(timeout=60)
    assert batch.returncode == 1, errors
    rows = {row["run"]: row for row in pq.read_table(tmp_path / "out" / "runs.parquet").to_pylist()}
    assert (rows["flood"]["status"], rows["flood"]["attempts"]) == ("killed", 2)
    assert rows["flood"]["reason"].startswith("killed by SIGKILL")
    assert sum(row["status"] == "done" for row in rows.values()) == 4
    assert litter(tmp_path / "out") == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_processes_and_keeps_what_is_finished(
    twenty: list[Path], serial: wl.Batch, tmp_path: Path, number: signal.Signals
) -> None:
    out = tmp_path / "out"
    batch = started(*twenty, "-o", out, "--no-report", "-j", 2)
    wait_for_records(out, 4)
    below = children(batch.pid)
    below += [analysis for server in below for analysis in children(server)]
    batch.send_signal(number)
    begun = time.monotonic()
    _, errors = batch.communicate(timeout=60)
    assert time.monotonic() - begun < 5
    assert batch.returncode == 128 + number
    assert b"Traceback" not in errors
    assert b"traces are finished and kept in" in errors
    assert alive(below) == []
    assert litter(out) == []
    before = records(out)
    assert pq.read_table(out / "runs.parquet").num_rows == len(before)
    again = wl.batch(twenty, out, report=False)
    assert again.new == 20 - len(before)
    assert results(out) == results(serial.out)


def test_after_kill_nothing_is_redone_or_lost(twenty: list[Path], serial: wl.Batch, tmp_path: Path) -> None:
    out = tmp_path / "out"
    batch = started(*twenty, "-o", out, "--no-report", "-j", 2)
    wait_for_records(out, 6)
    below = children(batch.pid)
    below += [analysis for server in below for analysis in children(server)]
    batch.kill()
    batch.communicate()
    until = time.monotonic() + 10
    while alive(below) and time.monotonic() < until:
        time.sleep(0.05)
    assert alive(below) == []
    before = records(out)
    assert len(before) < 20
    again = wl.batch(twenty, out, report=False)
    assert again.new == 20 - len(before)
    after = records(out)
    assert {run: after[run] for run in before} == before
    assert runs(out).equals(runs(serial.out))
    assert results(out) == results(serial.out)
    assert litter(out) == []


def test_the_death_of_the_fork_server_costs_an_attempt(twenty: list[Path], serial: wl.Batch, tmp_path: Path) -> None:
    out = tmp_path / "out"
    batch = started(*twenty, "-o", out, "--no-report", "-j", 2)
    wait_for_records(out, 4)
    os.kill(children(batch.pid)[0], signal.SIGKILL)
    _, errors = batch.communicate(timeout=60)
    assert batch.returncode == 0, errors
    assert results(out) == results(serial.out)
    columns = ["run", "status", "reason", "ledger", "verdict"]
    assert runs(out).select(columns).equals(runs(serial.out).select(columns))


def test_directories_of_others_are_not_touched(tmp_path: Path) -> None:
    traces(tmp_path / "in", 1)
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "runs.parquet").write_bytes(b"a sweep")
    with pytest.raises(wl.WlanlensError, match="did not write"):
        wl.batch(tmp_path / "in", tmp_path / "sweep")
    assert (tmp_path / "sweep" / "runs.parquet").read_bytes() == b"a sweep"
    out = wl.batch(tmp_path / "in", tmp_path / "out").out
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "run.json").write_text("{}")
    (out / "runs" / "linked").symlink_to(tmp_path / "precious")
    remove_result(out / "runs" / "linked")
    assert (tmp_path / "precious" / "run.json").exists()


def test_keys_are_in_no_file_and_other_keys_are_another_run(tmp_path: Path) -> None:
    traces(tmp_path / "in", 1)
    (tmp_path / "keys.txt").write_text("wpa-pwd:correct horse:lab\n")
    out = tmp_path / "out"
    assert wl.batch(tmp_path / "in", out, key_file=tmp_path / "keys.txt").new == 1
    assert wl.batch(tmp_path / "in", out, keys=["wpa-pwd:correct horse:lab"]).new == 0
    assert wl.batch(tmp_path / "in", out, keys=["wpa-pwd:battery staple:lab"]).new == 1
    for path in out.rglob("*"):
        assert not path.is_file() or b"correct horse" not in path.read_bytes()


@pytest.fixture
def two(tmp_path: Path) -> Path:
    traces(tmp_path / "in", 1, 1)
    return tmp_path


def test_the_command_prints_causes_worst_traces_and_reasons(two: Path) -> None:
    done = completed(two, "batch", "in", "-o", "out")
    assert done.returncode == 0
    for text in (
        "Causes by seconds",
        "Worst traces (1 of 1)",
        "Not analysed (1 of 1)",
        "the input is empty",
        "out/index.html",
    ):
        assert text in done.stdout
    told = json.loads(completed(two, "batch", "in", "-o", "out", "--json").stdout)
    assert (told["new"], told["statuses"]) == (0, {"done": 1, "unreadable": 1})
    assert told["runs"][0]["run"] == "good0000"
    assert completed(two, "batch", "in", "-o", "out", "--strict", "--quiet").returncode == 1
    assert completed(two, "batch", "in/empty*", "-o", "none", "--quiet").returncode == 3
    assert completed(two, "batch", "in", "-o", "out", "--shard", "3/2").returncode == 2
    assert completed(two, "batch", "in", "-o", "out", "--only", "nothing").returncode == 2
    assert completed(two, "batch", "in", "-o", "in/empty0000.pcap").returncode == 3


def test_a_record_that_cannot_be_written_is_said(two: Path) -> None:
    from wlanlens.pipeline.batch.job import Job

    (two / "file").write_text("")
    job = Job("a", "a", (), (), str(two / "file" / "a"))
    assert "cannot be written" in finish_failed(job, job.row("killed", "why"))["reason"]
