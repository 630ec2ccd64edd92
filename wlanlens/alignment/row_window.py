"""Rows of one capture held in memory while pairs can still refer to them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.alignment.capture_summary import flow_numbers, packet_times
from wlanlens.tables.columns import Array, coded, filled, numbers_of_texts, text_hashes

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture


class RowWindow:
    """Consecutive rows of a table, as columns; rows are counted from the start of the table."""

    def __init__(self) -> None:
        self._batches: list[dict[str, Array]] = []
        self._first = 0
        self._whole: _Whole | None = None

    def append(self, columns: dict[str, Array]) -> None:
        """Add the next rows."""
        self._batches.append(columns)
        self._whole = None

    def forget(self, before: int) -> None:
        """Drop batches that end before a row."""
        while self._batches and self._first + len(self._batches[0]["number"]) <= before:
            self._first += len(self._batches.pop(0)["number"])
            self._whole = None

    def reader(self, rows: Array) -> Callable[[], dict[str, Array]]:
        """A function that returns the columns of some rows that are here now, in any thread and after they were dropped."""
        if self._whole is None:
            self._whole = _Whole(self._batches)
        whole, first = self._whole, self._first
        return lambda: whole.at(rows.astype(np.int64) - first)

    def at(self, rows: Array) -> dict[str, Array]:
        """The columns of some rows."""
        return self.reader(rows)()


class _Whole:
    """Batches of a window as one, put together when they are first read."""

    def __init__(self, batches: Sequence[dict[str, Array]]) -> None:
        self._batches, self._columns = list(batches), dict[str, Array]()

    def at(self, places: Array) -> dict[str, Array]:
        """The columns of some rows, by their places."""
        if not self._columns:
            names = self._batches[0]
            self._columns = {name: np.concatenate([batch[name] for batch in self._batches]) for name in names}
        return {name: values.take(places) for name, values in self._columns.items()}


class PacketWindow(RowWindow):
    """Rows of `packets`."""

    def __init__(self, capture: Capture) -> None:
        super().__init__()
        self._retries = _RetryBits(capture)
        self._hashes: dict[str, tuple[pa.Array, Array]] = {}
        #: The columns of batches that were read and are not in the window yet.
        self._read: deque[dict[str, Array]] = deque()

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Batches in their order, in a thread of their own; `add` puts each in the window."""
        for batch in batches:
            self._read.append(self._columns(batch))
            yield batch

    def add(self) -> None:
        """Add the next of the batches that were read."""
        self.append(self._read.popleft())

    def _columns(self, batch: pa.RecordBatch) -> dict[str, Array]:
        import pyarrow as pa

        timed, time_ns = packet_times(batch)
        number = batch.column("packet").to_numpy()
        return {
            "number": number,
            "time_ns": time_ns,
            "timed": timed,
            "ttl": filled(batch.column("ip_ttl").cast(pa.int16()), -1),
            "src": self._address(batch, "ip_src"),
            "dst": self._address(batch, "ip_dst"),
            "flow": flow_numbers(batch),
            "b2a": coded(batch.column("direction"), ["b2a"]) == 0,
            "payload": filled(batch.column("payload_bytes")),
            # An earlier transmission may have been received and not heard here.
            "retry": self._retries.of(number),
        }

    def _address(self, batch: pa.RecordBatch, name: str) -> Array:
        """A number for each address; consecutive batches mostly share one dictionary."""
        column = batch.column(name)
        if not hasattr(column, "dictionary"):
            return numbers_of_texts(column)
        before = self._hashes.get(name)
        if before is None or not before[0].equals(column.dictionary):
            before = self._hashes[name] = column.dictionary, text_hashes(column.dictionary)
        return numbers_of_texts(column, before[1])


class FrameWindow(RowWindow):
    """Rows of `frames`."""

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the next batch."""
        timed, time_ns = packet_times(batch)
        number = batch.column("packet").to_numpy().astype(np.int64)
        self.append({"number": number, "time_ns": time_ns, "timed": timed})


class _RetryBits:
    """Which packets came in a frame with the Retry bit, asked in the order of the capture."""

    def __init__(self, capture: Capture) -> None:
        self._feed = capture.scan("frames", ("packet", "retry")) if capture.rows("frames") else iter(())
        self._numbers: Array = np.zeros(0, np.uint64)
        self._last = -1

    def of(self, numbers: Array) -> Array:
        """One truth value for each packet number; numbers rise from call to call."""
        if not len(numbers):
            return np.zeros(0, bool)
        found = [self._numbers]
        while self._last < int(numbers[-1]):
            batch = next(self._feed, None)
            if batch is None:
                self._last = np.iinfo(np.int64).max
                break
            packets = batch.column("packet").to_numpy()
            found.append(packets[filled(batch.column("retry"), False)])
            self._last = int(packets[-1]) if len(packets) else self._last
        retried = np.concatenate(found)
        if not len(retried):
            return np.zeros(len(numbers), bool)
        self._numbers = retried[retried >= numbers[-1]]
        return np.isin(numbers, retried)
