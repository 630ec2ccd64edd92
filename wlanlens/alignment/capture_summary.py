"""What alignment reads of one capture: its span of time, its clock's tick, and rows at which it can be cut."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.alignment import clock, packet_matching
from wlanlens.tables.columns import Array, filled, known

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture


#: Columns of `packets` that alignment reads besides those by which packets are paired.
_MORE_COLUMNS = ("packet", "t_ns", "ip_ttl", "flow", "direction")

#: Timestamps from which the resolution of a clock is found: one second of fast traffic.
_TIMESTAMPS = 65_536

#: Every so many rows, row and time are recorded, so that the capture can be cut there.
MARK_ROWS = 1024


class CaptureSummary:
    """What alignment reads of one capture.

    Attributes
    ----------
    rows, readable : int
        Rows of `packets`; those of them with an IP packet and a time.
    first_ns, last_ns : int or None
        Least and greatest timestamp, ns since 1970.
    flows : int
        TCP connections.
    marks : list of (row, packet, time in ns since 1970)
        Every `MARK_ROWS` rows, at the first row of a record.
    link_times : list of int
        Times of every `MARK_ROWS`th row of `frames` and `urbs`, ns since 1970.
    """

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.rows = self.readable = self.flows = 0
        self.first_ns: int | None = None
        self.last_ns: int | None = None
        self.marks: list[tuple[int, int, int]] = []
        self.link_times: list[int] = []
        self._timestamps: list[Array] = []
        self._timestamp_count = 0
        self._tick = 0
        self._time = 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The columns of its `packets` that alignment reads."""
        yield from self.capture.scan("packets", (*packet_matching.COLUMNS, *_MORE_COLUMNS))

    def add(self, batch: pa.RecordBatch) -> None:
        """Read one batch of `packets`."""
        timed, time_ns = packet_times(batch)
        if timed.any():
            own = time_ns if timed.all() else time_ns[timed]
            least, most = int(own.min()), int(own.max())
            self.first_ns = least if self.first_ns is None else min(self.first_ns, least)
            self.last_ns = most if self.last_ns is None else max(self.last_ns, most)
            since = own - self.first_ns
            # Most batches do not change the tick.
            if not self._tick or (self._tick > 1 and (since % self._tick).any()):
                self._tick = int(np.gcd(self._tick, np.gcd.reduce(since)))
            if self._timestamp_count < _TIMESTAMPS:
                self._timestamps.append(own)
                self._timestamp_count += len(own)
        self.readable += int(np.count_nonzero(known(batch.column("protocol")) & timed))
        self.flows = max(self.flows, int(flow_numbers(batch).max(initial=-1)) + 1)
        self._mark(batch.column("packet").to_numpy(), np.where(timed, time_ns, np.iinfo(np.int64).min))
        self.rows += batch.num_rows

    def add_link_times(self) -> None:
        """Read times of frames and transfers, whether their packets are readable or not."""
        start_ns = self.capture.start_ns or 0
        for name in ("frames", "urbs"):
            read = 0
            for batch in self.capture.scan(name, ("t_ns",)):
                column = batch.column("t_ns")
                rows = np.arange(-read % MARK_ROWS, batch.num_rows, MARK_ROWS)
                timed = known(column)[rows]
                self.link_times += (filled(column)[rows[timed]] + start_ns).tolist()
                read += batch.num_rows

    def _mark(self, number: Array, time_ns: Array) -> None:
        """Record rows at which the capture can be cut."""
        highest = np.maximum.accumulate(np.concatenate(([self._time], time_ns)))[1:]
        fresh = np.flatnonzero(np.diff(number.astype(np.int64)) > 0) + 1
        while len(number):
            wanted = (self.marks[-1][0] + MARK_ROWS if self.marks else 0) - self.rows
            if wanted >= len(number):
                break
            later = fresh[np.searchsorted(fresh, wanted) :] if self.marks else np.zeros(1, np.int64)
            if not len(later):
                break
            at = int(later[0])
            self.marks.append((self.rows + at, int(number[at]), int(highest[at])))
        self._time = int(highest[-1]) if len(highest) else self._time

    @cached_property
    def tick_ns(self) -> int:
        """Resolution of its clock, after all batches."""
        tick = clock.tick_of(np.concatenate(self._timestamps)) if self._timestamps else 1
        # Later timestamps may be finer than the first.
        return int(np.gcd(tick, self._tick)) if self._timestamp_count >= _TIMESTAMPS else tick


def packet_times(batch: pa.RecordBatch) -> tuple[Array, Array]:
    """Whether each row has a time, and the times in ns since 1970."""
    import pyarrow as pa

    column = batch.column("time")
    return known(column), filled(column.cast(pa.int64()))


def flow_numbers(batch: pa.RecordBatch) -> Array:
    """The connection of each row; -1: none."""
    import pyarrow as pa

    return filled(batch.column("flow").cast(pa.int64()), -1)
