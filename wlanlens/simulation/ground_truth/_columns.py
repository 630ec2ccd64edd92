"""The packets of a run as vectors. Each column is made once, when first used."""

from __future__ import annotations

from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.simulation.ground_truth import Truth

Array = np.ndarray[Any, np.dtype[Any]]

#: Stands for null among times and numbers, which are never negative.
NEVER = -1


class Packets:
    """Columns of `truth_packets` by name: numbers as int64, null as `NEVER`.

    Further columns: `end`, the sequence number after the segment; `delivered`, `under_way`; `lost`: neither of these;
    `probe`: a tail loss probe; `back`: from the server; `way`: twice the flow number, plus 1 for the server's direction.
    """

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._made: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> Array:
        if name in ("delivered", "under_way"):
            return among(self._table["fate"], name)
        if name == "lost":
            return np.asarray(~(self["delivered"] | self["under_way"]))
        if name == "probe":
            return among(self._table["trigger"], "tail_loss_probe")
        if name == "back":
            return among(self._table["direction"], "b2a")
        if name == "way":
            # As small as the flows allow: such keys are sorted in one pass.
            key = 2 * self["flow"] + self["back"]
            return key.astype(np.uint16) if key.max(initial=0) < 1 << 16 else key
        if name == "end":
            return np.asarray(self["rel_seq"] + np.maximum(self["len_bytes"], self["rel_seq"] == 0))
        if name == "fate":
            return words(self._table["fate"])
        return numbers(self._table[name])

    @cached_property
    def ways(self) -> dict[int, Array]:
        """Positions of each direction's packets in order of creation, by `way`."""
        order = np.argsort(self["way"], kind="stable")
        bounds = np.concatenate(([0], np.cumsum(np.bincount(self["way"])))).tolist()
        return {way: order[a:b] for way, (a, b) in enumerate(pairwise(bounds)) if a < b}


class Rows:
    """Some of the packets: the same columns, taken when first used."""

    def __init__(self, packets: Packets, at: Array) -> None:
        self._packets, self._at = packets, at
        self._taken: dict[str, Array] = {}

    def __len__(self) -> int:
        return len(self._at)

    def __getitem__(self, name: str) -> Array:
        if name not in self._taken:
            self._taken[name] = self._packets[name][self._at]
        return self._taken[name]


@lru_cache(maxsize=1)
def packets(facts: Truth) -> Packets:
    """The packets of a run."""
    return Packets(facts.packets)


@lru_cache(maxsize=1)
def events(facts: Truth) -> list[dict[str, Any]]:
    """The rows of `truth_events`."""
    rows: list[dict[str, Any]] = facts.events.to_pylist()
    return rows


def numbers(column: pa.ChunkedArray) -> Array:
    """A column of whole numbers or times as int64; null is `NEVER`."""
    values = column.cast("int64").fill_null(NEVER) if column.null_count else column
    return np.asarray(values.to_numpy().astype(np.int64, copy=False))


def among(column: pa.ChunkedArray, *wanted: str) -> Array:
    """Where a text column has one of these values; null never matches."""
    masks = []
    for chunk in column.chunks:
        codes = np.asarray(chunk.indices.fill_null(NEVER) if chunk.null_count else chunk.indices)
        mask = np.zeros(len(codes), bool)
        for code, word in enumerate(chunk.dictionary.to_pylist()):
            if word in wanted:
                mask |= codes == code
        masks.append(mask)
    return np.concatenate(masks) if masks else np.zeros(0, bool)


def words(column: pa.ChunkedArray) -> Array:
    """A text column as an array of objects; null is None."""
    chunks = [
        np.array([*chunk.dictionary.to_pylist(), None], object)[
            np.asarray(chunk.indices.fill_null(len(chunk.dictionary)), np.int64)
        ]
        for chunk in column.chunks
    ]
    return np.concatenate(chunks) if chunks else np.zeros(0, object)
