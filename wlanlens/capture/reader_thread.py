"""Feed: a thread that reads a capture and passes its batches on through a short queue.

The reading thread may block forever on a pipe. The caller's thread waits on the queue instead, so that Ctrl-C and SIGTERM
reach it at once. The reading thread is a daemon and ends with the process.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from wlanlens import threads

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens import _core

T = TypeVar("T")

Batches = list[tuple[str, "pa.RecordBatch"]]

#: Captures that are read at a time: Arrow and the core work beside Python.
READERS = 2
#: Items in the queue, about 20 MB each.
_DEPTH = 2
#: The same until the first is taken: the reader works on while Python imports pyarrow and the detectors.
_FIRST_DEPTH = 8


def call(function: Callable[[], Any]) -> Any:
    """Call `function()` in a daemon thread, so that the caller can be interrupted while it blocks."""
    answer: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

    def work() -> None:
        try:
            answer.put((function(), None))
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
            answer.put((None, error))

    alive = threads.start(work)
    value, error = _next(answer, alive)
    if error is not None:
        raise error
    return value


def _next(answers: queue.Queue[T] | queue.SimpleQueue[T], alive: threads.Alive) -> T:
    """The next item that a thread puts in a queue."""
    while True:
        try:
            return answers.get(timeout=threads.LOOK_S)
        except queue.Empty:
            if not alive() and answers.empty():
                raise threads.out_of_memory() from None


class Feed:
    """Iterates over the batches of a capture while the next ones are read.

    Parameters
    ----------
    reader : _core.Reader
        The reader, at the start of the file.
    least_rows : int
        Rows of an item. Whoever wants all rows in memory takes many: they are decoded while Python is still importing pyarrow.

    Attributes
    ----------
    info : dict
        What the reader knows about the file after the latest item.
    notes : list
        The reader's notes, complete at the end.
    """

    def __init__(self, reader: _core.Reader, least_rows: int = 1) -> None:
        self._reader, self._least_rows = reader, least_rows
        self._queue: queue.Queue[tuple[Batches, dict[str, Any], BaseException | None]] = queue.Queue(_FIRST_DEPTH)
        self._stop = threading.Event()
        self.info: dict[str, Any] = {}
        self.notes: list[tuple[str, str, int, int, int, str]] = []
        self._begun = False
        self._alive: threads.Alive = lambda: False

    def begin(self) -> None:
        """Begin to read; the iterator does it too."""
        if not self._begun:
            self._begun = True
            self._alive = threads.start(self._work)

    def stop(self) -> None:
        """Read no further."""
        self._stop.set()

    def __iter__(self) -> Iterator[Batches]:
        self.begin()
        try:
            while True:
                batches, self.info, error = _next(self._queue, self._alive)
                self._queue.maxsize = _DEPTH
                if error is not None:
                    raise error
                if not batches:
                    return
                yield batches
        finally:
            self.stop()

    def _work(self) -> None:
        try:
            # Batches for Python need pyarrow, which may still be imported: its import would be waited for. Many rows are decoded before.
            while self._least_rows == 1 and "pyarrow.lib" not in sys.modules and not self._stop.is_set():
                if not self._reader.read_ahead(_FIRST_DEPTH):
                    break
            while not self._stop.is_set():
                batches = self._reader.next_batches(self._least_rows)
                if not batches:
                    self.notes = self._reader.notes()
                self._put((batches, dict(self._reader.info()), None))
                if not batches:
                    return
                del batches
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
            self._put(([], self.info, error))

    def _put(self, item: tuple[Batches, dict[str, Any], BaseException | None]) -> None:
        while not self._stop.is_set():
            try:
                self._queue.put(item, timeout=0.5)
            except queue.Full:
                continue
            return
