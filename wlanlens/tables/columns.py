"""Columns of Arrow tables as NumPy arrays: the only module that converts them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]


def filled(column: pa.Array | pa.ChunkedArray, fill: Any = 0) -> Array:
    """The values of a column of numbers or booleans, null as `fill`."""
    return np.asarray(column.fill_null(fill) if column.null_count else column)


def integers(column: pa.Array | pa.ChunkedArray, fill: int = 0) -> Array:
    """A column of whole numbers or booleans as int64, null as `fill`, which may be negative for unsigned columns too."""
    import pyarrow as pa

    return filled(column.cast(pa.int64(), safe=False), fill)


def known(column: pa.Array | pa.ChunkedArray) -> Array:
    """Where a column is not null."""
    if not column.null_count:
        return np.ones(len(column), bool)
    return np.asarray(column.is_valid(), bool)


def encoded(column: pa.Array | pa.ChunkedArray) -> pa.DictionaryArray:
    """A text column as one dictionary-encoded array."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    return column if isinstance(column, pa.DictionaryArray) else column.dictionary_encode()


def looked_up(column: pa.DictionaryArray, entries: Sequence[Any], null: Any) -> Array:
    """Each row's entry, from one entry per value of the dictionary; `null` for null."""
    table = np.array([*entries, null])
    return np.asarray(
        table[integers(column.indices, len(entries)) if column.null_count else np.asarray(column.indices)]
    )


def coded(column: pa.Array | pa.ChunkedArray, names: Sequence[str], default: int = -1) -> Array:
    """The position of each text in `names`, int8; `default` for null and for other texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = encoded(column)
    places = pc.index_in(whole.dictionary.cast(pa.string()), pa.array(names, pa.string())).fill_null(default)
    of_word = np.append(np.asarray(places), default).astype(np.int8)
    codes: Array = of_word[integers(whole.indices, len(of_word) - 1) if whole.null_count else np.asarray(whole.indices)]
    return codes


def numbered(values: Array) -> tuple[Array, Array]:
    """The distinct values in order of first appearance, and the position of each value among them."""
    import pyarrow as pa

    codes = pa.array(values).dictionary_encode()
    return np.asarray(codes.dictionary), np.asarray(codes.indices).astype(np.int64)


def narrow(values: Array) -> Array:
    """Whole numbers from 0, in 16 bits where they fit: NumPy sorts those without comparisons."""
    return values.astype(np.uint16) if values.max(initial=0) < 1 << 16 else values


def spread(codes: Array, names: Sequence[str], mask: Array | None = None) -> pa.DictionaryArray:
    """Codes as a dictionary-encoded column of the names."""
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int8), mask=mask), pa.array(names, pa.string()))


def find(where: Array, wanted: Array) -> Array:
    """Index of each wanted number in an array; -1 where it is absent."""
    if not len(where):
        return np.full(len(wanted), -1, np.int64)
    order = np.argsort(where, kind="stable")
    at = np.minimum(np.searchsorted(where[order], wanted), len(where) - 1)
    found: Array = np.where(where[order[at]] == wanted, order[at], -1)
    return found


def latest(lists: pa.ListArray) -> Array:
    """The last number of each list that is not null; NaN where there is none."""
    values = np.asarray(lists.flatten().to_numpy(zero_copy_only=False), float)
    lengths = np.asarray(lists.value_lengths().fill_null(0))
    ends = np.cumsum(lengths)
    at = np.where(np.isnan(values), -1, np.arange(len(values)))
    last = np.append(np.maximum.accumulate(at), -1)[ends - 1] if len(values) else np.full(len(ends), -1)
    found = (lengths > 0) & (last >= ends - lengths)
    out: Array = np.where(found, np.append(values, np.nan)[last], np.nan)
    return out


def numbers_of_texts(column: pa.Array | pa.ChunkedArray, hashes: Array | None = None) -> Array:
    """A number for each text, the same in every batch; -1 for null. `hashes` are those of the column's dictionary."""
    texts = encoded(column)
    numbers = text_hashes(texts.dictionary) if hashes is None else hashes
    out: Array = numbers[integers(texts.indices, len(numbers) - 1)]
    return out


def text_hashes(texts: pa.Array) -> Array:
    """A number for each of some texts, and -1 for null after them."""
    import pandas as pd

    names = np.array(texts.to_pylist(), object)
    hashed = pd.util.hash_array(names, categorize=False).astype(np.int64) if len(names) else np.zeros(0, np.int64)
    return np.append(hashed, -1)
