"""A thread that judges one window while the caller's thread reads and writes the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from wlanlens.threads import Job, Threads

T = TypeVar("T")


class JudgeThread(Generic[T]):
    """Runs one job at a time. An error of a job is raised by `wait`."""

    def __init__(self) -> None:
        self._pool = Threads(1)
        self._job: Job[T] | None = None

    def begin(self, job: Callable[[], T]) -> None:
        """Begin a job; the one before must have been waited for."""
        self._job = self._pool.submit(job)

    def wait(self) -> T | None:
        """What the job returned; None if there is no job."""
        job, self._job = self._job, None
        return None if job is None else job.result()

    def stop(self) -> None:
        """Begin no more jobs. A job that runs is not waited for: nobody wants what it finds."""
        self._pool.stop(wait=False)
