"""Many runs on all cores: results come as they are done; Ctrl-C keeps what was done."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")

#: Jobs handed out ahead, a worker: enough that none waits, few enough that an interrupt ends soon.
_AHEAD = 4


def sweep(
    work: Callable[[Job], Result],
    jobs: Iterable[Job],
    *,
    workers: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[tuple[Job, Result]]:
    """(job, work(job)) for every job, in the order in which they end.

    `work` and the jobs must pickle. `progress` is told how many are done. An exception of `work` ends the sweep and is
    raised here; jobs not begun are dropped then, as at Ctrl-C.
    """
    count = workers or os.cpu_count() or 1
    if count == 1:
        for done, job in enumerate(jobs, 1):
            yield job, work(job)
            if progress is not None:
                progress(done)
        return
    # Not fork: threads of Arrow and Rust do not survive one.
    pool = ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"))
    try:
        left = iter(jobs)
        under_way: dict[Future[Result], Job] = {}
        done = 0
        more = True
        while more or under_way:
            while more and len(under_way) < count * _AHEAD:
                try:
                    job = next(left)
                except StopIteration:
                    more = False
                else:
                    under_way[pool.submit(work, job)] = job
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                yield under_way.pop(future), future.result()
                done += 1
                if progress is not None:
                    progress(done)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
