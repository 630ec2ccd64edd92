"""Many jobs on all cores. Results come in order of completion; Ctrl-C keeps finished results and ends all processes."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

from wlanlens import operating_system
from wlanlens.errors import WlanlensError
from wlanlens.simulation.temporary_folder import remove_abandoned

Job = TypeVar("Job")
Result = TypeVar("Result")

#: Time that a worker may take to end on request, s.
_PATIENCE_S = 5.0


class WorkerDied(WlanlensError):
    """A worker process ended during a job."""


def sweep(
    work: Callable[[Job], Result],
    jobs: Iterable[Job],
    *,
    workers: int | None = None,
    progress: Callable[[int], None] | None = None,
    within: Path | None = None,
) -> Generator[tuple[Job, Result], None, None]:
    """Yield (job, work(job)) for every job, in order of completion.

    `work` and the jobs must be picklable; with one worker everything runs in this process. `progress` is called with the number
    of finished jobs. An exception in `work` ends the sweep and is raised here; a killed worker raises WorkerDied. In these cases, on
    Ctrl-C, and when the caller stops early, running workers are terminated. `within` is a folder of `temporary_folder` with the
    jobs' files: the workers remove it if this process is killed.
    """
    count = operating_system.cores() if workers is None else max(1, workers)
    for done, pair in enumerate(_here(work, jobs) if count == 1 else _there(work, jobs, count, within), 1):
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


def _there(
    work: Callable[[Job], Result], jobs: Iterable[Job], count: int, within: Path | None
) -> Iterator[tuple[Job, Result]]:
    left = iter(jobs)
    workers: list[_Worker] = []
    try:
        for job in left:
            workers.append(_begin(work, job, within))
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


def _begin(work: Callable[[Job], Any], job: Job, within: Path | None) -> _Worker:
    # Not fork: threads of Arrow and Rust do not survive it.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(work, theirs, within), name="wlanlens-worker", daemon=True)
    # Until the process has its own handlers, signals of the terminal wait: its interpreter would print a traceback.
    resource_tracker.ensure_running()  # it would unblock them
    with operating_system.held_back(operating_system.STOPS):
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
    short = (
        "; it may have been out of memory, fewer jobs at once would help" if code == -operating_system.KILLED else ""
    )
    return WorkerDied(f"a worker process {how} at {worker.job!r:.300}{short}", next="what was done before is kept")


def _end(workers: Iterable[_Worker]) -> None:
    """An idle worker ends when its pipe closes; a busy one is terminated."""
    listed = list(workers)
    for worker in listed:
        worker.pipe.close()
        worker.process.terminate()
    for worker in listed:
        worker.process.join(_PATIENCE_S)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()


def _serve(work: Callable[[Any], Any], pipe: Connection, within: Path | None) -> None:
    """In a worker: job after job until the pipe closes. `within` is removed if the main process is dead by then."""
    try:
        _work(work, pipe, within)
    finally:
        if within is not None:
            remove_abandoned(within)


def _work(work: Callable[[Any], Any], pipe: Connection, within: Path | None) -> None:
    # Ctrl-C reaches every process of the terminal; the main process decides about the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    sys.unraisablehook = _leave_later
    operating_system.let_through(operating_system.STOPS)
    threading.Thread(target=_follow_parent, args=(within,), daemon=True).start()
    while True:
        try:
            job = pipe.recv()
        except (EOFError, ConnectionResetError):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # nothing is left to remove
            return
        try:
            answer = (False, work(job))
        except BaseException as error:  # noqa: BLE001 - raised again in the main process
            answer = (True, _portable(error))
        try:
            pipe.send(answer)
        except (BrokenPipeError, ConnectionResetError):
            return


def _leave(_number: int, _frame: object) -> None:
    """Exit by an exception, so that temporary folders are removed."""
    raise SystemExit(128 + signal.SIGTERM)


def _leave_later(lost: sys.UnraisableHookArgs) -> None:
    """Raise SystemExit again if the signal came in a callback from which no exception gets out, such as a weak reference's."""
    if isinstance(lost.exc_value, SystemExit):
        operating_system.call_soon(_leave)
    else:
        sys.__unraisablehook__(lost)


def _follow_parent(within: Path | None) -> None:
    """End when the parent process ends, even if it is killed and a job is running; the job's files are removed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_PATIENCE_S)
        if within is not None:
            remove_abandoned(within)
        os._exit(1)


def _portable(error: BaseException) -> BaseException:
    """A picklable exception, with the place where it was raised."""
    error.add_note("in a worker process:\n" + "".join(traceback.format_tb(error.__traceback__)).rstrip())
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - bytes from this program
    except Exception:  # noqa: BLE001 - a foreign exception may fail in any way when copied
        return RuntimeError("".join(traceback.format_exception(error)))
    return error
