"""Columns as NumPy arrays, and what is asked of them again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]


def filled(column: pa.ChunkedArray, fill: Any = 0) -> Array:
    """The values of a column of numbers or truths, null as `fill`."""
    whole = column.fill_null(fill) if column.null_count else column
    return np.asarray(whole.to_numpy())


def known(column: pa.ChunkedArray) -> Array:
    """Where a column is not null."""
    if not column.null_count:
        return np.ones(len(column), bool)
    return np.asarray(column.is_valid().to_numpy(), bool)


def coded(column: pa.ChunkedArray, names: Sequence[str]) -> Array:
    """The place of each word of a dictionary-encoded column in `names`, int8; -1 for null and for other words."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = column.unify_dictionaries().combine_chunks()
    places = pc.index_in(whole.dictionary.cast(pa.string()), pa.array(names, pa.string())).fill_null(-1)
    of_word = np.append(np.asarray(places), -1).astype(np.int8)
    codes: Array = of_word[np.asarray(whole.indices.fill_null(len(of_word) - 1))]
    return codes


def numbered(values: Array) -> tuple[Array, Array]:
    """The distinct values in the order in which they come, and the place of each value among them."""
    import pyarrow as pa

    codes = pa.array(values).dictionary_encode()
    return np.asarray(codes.dictionary), np.asarray(codes.indices).astype(np.int64)


def narrow(values: Array) -> Array:
    """Whole numbers from 0 in 16 bits where they fit: those are sorted without comparing them."""
    return values.astype(np.uint16) if values.max(initial=0) < 1 << 16 else values


def spread(codes: Array, names: Sequence[str], mask: Array | None = None) -> pa.DictionaryArray:
    """Codes as the words that they stand for."""
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int8), mask=mask), pa.array(names, pa.string()))


def find(where: Array, wanted: Array) -> Array:
    """Index of each wanted number in an array, -1 where it is not there."""
    if not len(where):
        return np.full(len(wanted), -1, np.int64)
    order = np.argsort(where, kind="stable")
    at = np.minimum(np.searchsorted(where[order], wanted), len(where) - 1)
    found: Array = np.where(where[order[at]] == wanted, order[at], -1)
    return found


def latest(lists: pa.ListArray) -> Array:
    """The last number of each list that is known, NaN where there is none."""
    values = np.asarray(lists.flatten().to_numpy(zero_copy_only=False), float)
    lengths = np.asarray(lists.value_lengths().fill_null(0))
    ends = np.cumsum(lengths)
    at = np.where(np.isnan(values), -1, np.arange(len(values)))
    last = np.append(np.maximum.accumulate(at), -1)[ends - 1] if len(values) else np.full(len(ends), -1)
    found = (lengths > 0) & (last >= ends - lengths)
    out: Array = np.where(found, np.append(values, np.nan)[last], np.nan)
    return out
