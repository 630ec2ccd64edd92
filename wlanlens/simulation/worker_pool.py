"""Many runs on all cores: results come as they are done; Ctrl-C keeps what was done and leaves no process behind."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from wlanlens.errors import WlanlensError

Job = TypeVar("Job")
Result = TypeVar("Result")

#: How long a worker may take to end when told to, s.
_PATIENCE_S = 5.0


class WorkerDied(WlanlensError):
    """A worker process ended in the midst of a job."""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def sweep(
    work: Callable[[Job], Result],
    jobs: Iterable[Job],
    *,
    workers: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[tuple[Job, Result]]:
    """(job, work(job)) for every job, in the order in which they end.

    `work` and the jobs must pickle; with one worker all happens in this process. `progress` is told how many are done.
    An exception of `work` ends the sweep and is raised here, and a worker that is killed raises WorkerDied. Then, at
    Ctrl-C and when the caller stops early, the workers are ended in the midst of what they do.
    """
    count = cores() if workers is None else max(1, workers)
    for done, pair in enumerate(_here(work, jobs) if count == 1 else _there(work, jobs, count), 1):
        yield pair
        if progress is not None:
            progress(done)


def _here(work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[tuple[Job, Result]]:
    for job in jobs:
        yield job, work(job)


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection
    job: Any = None


def _there(work: Callable[[Job], Result], jobs: Iterable[Job], count: int) -> Iterator[tuple[Job, Result]]:
    left = iter(jobs)
    workers: list[_Worker] = []
    try:
        for job in left:
            workers.append(_begin(work, job))
            if len(workers) == count:
                break
        busy = {worker.pipe: worker for worker in workers}
        while busy:
            for pipe in wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index]
                job, result = worker.job, _result(worker)
                for worker.job in left:
                    _hand(worker)
                    break
                else:
                    del busy[worker.pipe]
                yield job, result
    finally:
        _end(workers)


def _begin(work: Callable[[Job], Any], job: Job) -> _Worker:
    # Not fork: threads of Arrow and Rust do not survive one.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(work, theirs), name="wlanlens-worker", daemon=True)
    process.start()
    theirs.close()
    worker = _Worker(process, ours, job)
    _hand(worker)
    return worker


def _hand(worker: _Worker) -> None:
    try:
        worker.pipe.send(worker.job)
    except BrokenPipeError:
        raise _died(worker) from None


def _result(worker: _Worker) -> Any:
    try:
        failed, result = worker.pipe.recv()
    except (EOFError, ConnectionResetError):
        raise _died(worker) from None
    if failed:
        raise result
    return result


def _died(worker: _Worker) -> WorkerDied:
    worker.process.join(_PATIENCE_S)
    code = worker.process.exitcode
    how = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with status {code}"
    short = "; it may have been out of memory, fewer jobs at once would help" if code == -signal.SIGKILL else ""
    return WorkerDied(f"a worker process {how} at {worker.job!r:.300}{short}", next="what was done before is kept")


def _end(workers: Iterable[_Worker]) -> None:
    """An idle worker ends when its pipe closes; one in the midst of a job is ended."""
    listed = list(workers)
    for worker in listed:
        worker.pipe.close()
        worker.process.terminate()
    for worker in listed:
        worker.process.join(_PATIENCE_S)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()


def _serve(work: Callable[[Any], Any], pipe: Connection) -> None:
    """In a worker: job after job until the pipe closes."""
    # Ctrl-C reaches every process of the terminal; the first decides what becomes of the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_follow_parent, daemon=True).start()
    while True:
        try:
            job = pipe.recv()
        except (EOFError, ConnectionResetError):
            return
        try:
            answer = (False, work(job))
        except BaseException as error:  # noqa: BLE001 - raised again in the process that asked
            answer = (True, _portable(error))
        try:
            pipe.send(answer)
        except (BrokenPipeError, ConnectionResetError):
            return


def _leave(number: int, _frame: object) -> None:
    """Leave as an exception does, so that temporary folders are removed on the way."""
    raise SystemExit(128 + number)


def _follow_parent() -> None:
    """End with the process that began this one, though it be killed and this one be in the midst of a job."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _portable(error: BaseException) -> BaseException:
    """An exception that another process can read, with the place where it was raised."""
    error.add_note("in a worker process:\n" + "".join(traceback.format_tb(error.__traceback__)).rstrip())
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    except Exception:  # noqa: BLE001 - whatever a foreign exception does when it is copied
        return RuntimeError("".join(traceback.format_exception(error)))
    return error
