"""Echoes: frames that several sniffers heard. One stands for them where the air is summed up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.alignment import packet_matching
from wlanlens.alignment.sampling import Meeting, Side, is_value, times_of

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

#: Columns that are read of `frames`.
_COLUMNS = ("packet", *packet_matching.FRAME_COLUMNS)


def meet(a: Side, b: Side) -> tuple[Array, Array, Meeting]:
    """The frames that two sniffers heard: their numbers in the two captures, and what they tell of the clocks."""
    search = packet_matching.Search(table="frames")
    for number, side in enumerate((a, b)):
        for batch in side.capture.scan("frames", _COLUMNS):
            search.sample(number, packet_matching.slim(batch, "frames"))
    held: list[_Held] = [_Held(), _Held()]
    made = Meeting()
    found: tuple[list[Array], list[Array]] = ([np.zeros(0, np.int64)], [np.zeros(0, np.int64)])

    def forget(first: Sequence[int]) -> None:
        for rows, before in zip(held, first, strict=True):
            rows.forget(before)

    feeds = [side.capture.scan("frames", _COLUMNS) for side in (a, b)]
    for batch in search.run(feeds, taken=lambda side, batch: held[side].add(batch), forget=forget):
        if not batch.num_rows:
            continue
        row_a, row_b = batch.column("row_a").to_numpy(), batch.column("row_b").to_numpy()
        sure = np.asarray(batch.column("copy_safe").to_numpy(zero_copy_only=False), bool)
        same = is_value(batch.column("kind"), "same")
        x, y = held[0].at(row_a), held[1].at(row_b)
        found[0].append(x["number"])
        found[1].append(y["number"])
        made.heard(row_a, row_b, x, y, same & sure)
    return np.concatenate(found[0]), np.concatenate(found[1]), made


class _Held:
    """Rows of `frames` that pairs can still name."""

    def __init__(self) -> None:
        self._held: list[dict[str, Array]] = []
        self._first = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """The next batch."""
        stamped, time_ns = times_of(batch)
        number = batch.column("packet").to_numpy().astype(np.int64)
        self._held.append({"number": number, "time_ns": time_ns, "stamped": stamped})

    def forget(self, before: int) -> None:
        """Drop batches that end before a row."""
        while self._held and self._first + len(self._held[0]["number"]) <= before:
            self._first += len(self._held.pop(0)["number"])

    def at(self, rows: Array) -> dict[str, Array]:
        """The columns of some rows."""
        places = rows.astype(np.int64) - self._first
        return {name: np.concatenate([held[name] for held in self._held])[places] for name in self._held[0]}


def fold(table: pa.Table, name: str, again: Array) -> pa.Table:
    """A sniffer's `frames` or `exchanges` without those that another one has: `again` are its frames' numbers, sorted."""
    import pyarrow as pa

    if not len(again) or not table.num_rows:
        return table
    if name == "frames":
        return table.filter(pa.array(~np.isin(table.column("packet").to_numpy(), again)))
    lists = table.column("packets").combine_chunks()
    frames = np.isin(lists.flatten().to_numpy(), again)
    lengths = lists.value_lengths().fill_null(0).to_numpy()
    of = np.repeat(np.arange(table.num_rows), lengths)
    # What a sniffer only missed another one may have heard: an exchange without a frame tells of nothing new.
    heard = lengths > 0
    heard[of[frames]] = False
    return table.filter(pa.array(heard))
