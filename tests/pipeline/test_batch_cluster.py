"""`batch` on Dask distributed: the same results, and a dead worker is a row."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from wlanlens_cli.cluster import warn_of_open

import wlanlens as wl
from tests.pipeline.fleets import litter, results, runs, shuffled, traces
from tests.pipeline.test_batch import children, flood, started, wait_for_records
from wlanlens.errors import WlanlensError
from wlanlens.pipeline.batch import cluster
from wlanlens.pipeline.batch.cluster import Security
from wlanlens.validation.random_validation import validate_random

pytest.importorskip("distributed", reason="Dask distributed is not installed")
# Dask leaves sockets of its heartbeat to the garbage collector, and warns of events after its end.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


def test_a_cluster_gives_the_same_bytes(tmp_path: Path) -> None:
    paths = traces(tmp_path / "in", 8, 2)
    here = wl.batch(paths, tmp_path / "here", report=False, jobs=1)
    there = wl.batch(shuffled(paths, 2), tmp_path / "there", report=False, jobs=2, scheduler="local")
    assert there.new == 10
    assert runs(there.out).equals(runs(here.out), check_metadata=True)
    assert results(there.out) == results(here.out)
    assert litter(there.out) == []
    assert wl.batch(paths, there.out, report=False, scheduler="local").new == 0


def workers() -> list[int]:
    """The workers of this process's cluster that have a fork server below them."""
    return [
        worker for worker in children(os.getpid()) if any(b"fork_server" in command(one) for one in children(worker))
    ]


def command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def test_a_worker_that_dies_twice_at_a_trace_is_a_row(tmp_path: Path) -> None:
    traces(tmp_path / "in", 3)
    flood(tmp_path / "in" / "flood.pcap", 400_000)
    stop = threading.Event()
    kills: list[int] = []

    def kill() -> None:
        while len(kills) < 2 and not stop.is_set():
            if (tmp_path / "out" / "runs" / "flood").exists():
                for worker in workers():
                    if worker not in kills:
                        kills.append(worker)
                        os.kill(worker, signal.SIGKILL)
            time.sleep(0.05)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        batch = wl.batch(tmp_path / "in", tmp_path / "out", report=False, jobs=1, scheduler="local")
    finally:
        stop.set()
        killer.join()
    rows = {row["run"]: row for row in batch.runs.to_pylist()}
    assert (rows["flood"]["status"], rows["flood"]["reason"]) == ("killed", "the worker that analysed it died")
    assert [row["status"] for run, row in rows.items() if run != "flood"] == ["done"] * 3


def test_a_worker_that_stays_serves_batch_after_batch(tmp_path: Path) -> None:
    from distributed import LocalCluster

    traces(tmp_path / "in", 2)
    with LocalCluster(
        n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0", memory_limit=0
    ) as made:
        for out in ("one", "two"):
            batch = wl.batch(tmp_path / "in", tmp_path / out, report=False, scheduler=made.scheduler_address)
            assert batch.counts == {"done": 2}
            # The worker stays, and nothing of ours.
            assert workers() == []
    assert results(tmp_path / "one") == results(tmp_path / "two")


def test_an_interrupt_of_the_terminal_is_quiet(tmp_path: Path) -> None:
    traces(tmp_path / "in", 60)
    out = tmp_path / "out"
    batch = started(tmp_path / "in", "-o", out, "--no-report", "--scheduler", "local", "-j", 2)
    wait_for_records(out, 6)
    os.killpg(batch.pid, signal.SIGINT)  # as Ctrl-C: the processes of the cluster get it too
    _, errors = batch.communicate(timeout=60)
    assert batch.returncode == 130
    assert errors.count(b"\n") == 1, errors
    assert errors.startswith(b"wlanlens: stopped: ")
    assert litter(out) == []
    finished = len(list(out.glob("runs/*/run.json")))
    assert len(list(out.glob("runs/*"))) == finished < 60
    assert wl.batch(tmp_path / "in", out, report=False).new == 60 - finished


@pytest.mark.parametrize(
    ("scheduler", "what"),
    [
        ("http://x:1", "is no scheduler"),
        ("tcp://", "is no scheduler"),
        ("tls://127.0.0.1:1", "needs certificates"),
        ("tcp://[", "is no"),
    ],
)
def test_a_bad_address_is_an_error(tmp_path: Path, scheduler: str, what: str) -> None:
    traces(tmp_path / "in", 1)
    with pytest.raises(wl.WlanlensError, match=what):
        wl.batch(tmp_path / "in", tmp_path / "out", scheduler=scheduler)


def test_nobody_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_CONNECT_S", 1)
    traces(tmp_path / "in", 1)
    with pytest.raises(wl.WlanlensError, match="cannot be reached"):
        wl.batch(tmp_path / "in", tmp_path / "out", scheduler="tcp://127.0.0.1:9")


def test_keys_do_not_cross_a_scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    traces(tmp_path / "in", 1)
    key = "wpa-pwd:correct horse:lab"
    with pytest.raises(wl.WlanlensError, match="keys do not cross"):
        wl.batch(tmp_path / "in", tmp_path / "out", scheduler="local", keys=[key])
    monkeypatch.setenv("WLANLENS_KEYS", key)
    from wlanlens.capture.decryption_keys import from_environment

    cluster.check("local", None, from_environment())


def test_only_an_open_scheduler_is_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    for address in ("local", "tcp://127.0.0.1:1", "tcp://localhost:1", "tcp://[::1]:1", "tls://head:1"):
        warn_of_open(address)
    assert capsys.readouterr().err == ""
    warn_of_open("tcp://head:8786")
    assert "use tls://" in capsys.readouterr().err


def test_certificates_that_are_not_there(tmp_path: Path) -> None:
    traces(tmp_path / "in", 1)
    security = Security(str(tmp_path / "ca"), str(tmp_path / "cert"), str(tmp_path / "key"))
    with pytest.raises(wl.WlanlensError, match="cannot be reached"):
        wl.batch(tmp_path / "in", tmp_path / "out", scheduler="tls://127.0.0.1:9", security=security)


def test_random_worlds_on_a_cluster() -> None:
    here = {world.number: world for world in validate_random(2, 21, scenarios=["clean_link"], workers=1)}
    there = {world.number: world for world in validate_random(2, 21, scenarios=["clean_link"], scheduler="local")}
    assert {n: (w.drawn, w.ledgers, w.verdicts, w.crash) for n, w in there.items()} == {
        n: (w.drawn, w.ledgers, w.verdicts, w.crash) for n, w in here.items()
    }
    assert not any(world.crash or world.refused for world in there.values())


def test_a_failing_item_of_a_cluster_is_an_error_of_ours() -> None:
    with pytest.raises(WlanlensError, match="ValueError"):
        list(cluster.spread(int, ["1", "x"], "local", 1, None))
