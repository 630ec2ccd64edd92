"""Threads whose death is noticed.

Where memory is short a thread may end before its first line of Python. `threading.Thread.start` then waits for ever, and so
does whoever waits for a result. Here a thread holds an object for as long as it lives, and a wait looks at that object.
"""

from __future__ import annotations

import _thread
import atexit
import contextlib
import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")
S = TypeVar("S")

#: Between two looks at whether a thread that is waited for still lives, s.
LOOK_S = 0.5
#: The same while threads end.
_END_S = 0.002


class _Life:
    """A thread holds one: it is gone, or says so, when the thread has ended."""

    ended = False


Alive = Callable[[], bool]


def start(function: Callable[[], object]) -> Alive:
    """Run a function in a thread that does not keep the process alive; what is returned says whether that thread lives."""
    life = _Life()
    held = weakref.ref(life)
    _thread.start_new_thread(_hold, (function, life))
    return lambda: (now := held()) is not None and not now.ended


def _hold(function: Callable[[], object], life: _Life) -> None:
    try:
        function()
    finally:
        # The frames of an error that somebody keeps hold it longer.
        life.ended = True


def out_of_memory() -> MemoryError:
    """The error of a thread that ended without a word."""
    return MemoryError("a thread ended for want of memory")


class Job(Generic[T]):
    """What a thread was asked to do."""

    def __init__(self, function: Callable[[], T], running: Callable[[], bool]) -> None:
        self._function: Callable[[], T] | None = function
        self._running = running
        self._done = threading.Event()
        self._value: list[T] = []
        self._error: BaseException | None = None

    def run(self) -> None:
        """Do it; in a thread."""
        function, self._function = self._function, None
        try:
            if function is not None:
                self._value.append(function())
        except BaseException as error:  # noqa: BLE001 - raised by whoever waits
            self._error = error
        del function
        self._done.set()

    def result(self) -> T:
        """Wait for what the function returns or raises."""
        while not self._done.wait(LOOK_S):
            if not self._running() and not self._done.is_set():
                raise out_of_memory()
        if self._error is not None:
            raise self._error
        return self._value[0]


class Threads:
    """Threads that do jobs in the order in which they were given; a thread starts when a job finds none free.

    Parameters
    ----------
    count : int
        The most threads.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._jobs: queue.SimpleQueue[Job[Any] | None] = queue.SimpleQueue()
        self._free = threading.Semaphore(0)
        self._alive: list[Alive] = []
        self._stopped = False

    def submit(self, function: Callable[..., T], *args: Any) -> Job[T]:
        """Have a function called in a thread."""
        if not self._free.acquire(blocking=False) and len(self._alive) < self._count:
            self._alive.append(start(self._work))
        job = Job(lambda: function(*args), self._running)
        self._jobs.put(job)
        _unfinished.add(self)
        return job

    def map(self, function: Callable[[S], T], values: Iterable[S]) -> Iterator[T]:
        """The results for some values, in their order; all are begun at once."""
        return _results(deque([self.submit(function, value) for value in values]))

    def stop(self, *, wait: bool = True) -> None:
        """End the threads; jobs that have not begun are dropped. `wait`: until those that have begun are done."""
        self._stopped = True
        with contextlib.suppress(queue.Empty):
            while True:
                self._jobs.get_nowait()
        for _ in self._alive:
            self._jobs.put(None)
        while wait and self._running():
            time.sleep(_END_S)

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _running(self) -> bool:
        return any(alive() for alive in self._alive)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.run()
            del job
            if self._stopped:
                return
            self._free.release()


def _results(jobs: deque[Job[T]]) -> Iterator[T]:
    while jobs:
        yield jobs.popleft().result()


#: The end of what `ahead` reads.
_DONE = object()


def ahead(values: Iterable[T], depth: int = 2) -> Iterator[T]:
    """Some values in their order, while a thread makes up to `depth` of the next ones."""
    feed = iter(values)
    with Threads(1) as pool:
        jobs = deque([pool.submit(next, feed, _DONE) for _ in range(depth)])
        while (value := jobs.popleft().result()) is not _DONE:
            jobs.append(pool.submit(next, feed, _DONE))
            yield value


#: Those that may have begun something: the interpreter must not be taken down under C code that still works.
_unfinished: weakref.WeakSet[Threads] = weakref.WeakSet()


@atexit.register
def _finish() -> None:
    for threads in list(_unfinished):
        threads.stop()
