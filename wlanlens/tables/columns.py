"""Columns of Arrow tables as NumPy arrays: the only module that converts them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
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

    if not pa.types.is_integer(column.type):
        return filled(column.cast(pa.int64(), safe=False), fill)
    if column.null_count == len(column):
        return np.full(len(column), fill)
    # From the buffers into one array: a cast, a fill and a concatenation would each copy the column.
    out, at = np.empty(len(column), np.int64), 0
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else (column,):
        rows = out[at : at + len(chunk)]
        if len(chunk):
            rows[:] = _stored(chunk)
        if chunk.null_count:
            np.copyto(rows, fill, where=~_valid(chunk))
        at += len(chunk)
    return out


def integers_at(column: pa.ChunkedArray, at: Array, fill: int = 0) -> Array:
    """Some rows of a column of whole numbers as int64, null as `fill`, from the chunks that have them: Arrow's `take` copies all
    rows into one chunk first."""
    out = np.empty(len(at), np.int64)
    ends = np.cumsum([len(chunk) for chunk in column.chunks])
    chunk_of = np.searchsorted(ends, at, side="right")
    order = np.argsort(narrow(chunk_of), kind="stable")
    edges = np.searchsorted(chunk_of.take(order), np.arange(len(ends) + 1)).tolist()
    for chunk, end, low, high in zip(column.chunks, ends.tolist(), edges[:-1], edges[1:], strict=True):
        if low == high:
            continue
        where = order[low:high]
        rows = at.take(where) - (end - len(chunk))
        values = _stored(chunk).take(rows).astype(np.int64)
        if chunk.null_count:
            np.copyto(values, fill, where=~_valid(chunk).take(rows))
        out[where] = values
    return out


def _stored(column: pa.Array) -> Array:
    """The whole numbers in the buffer of an array that is not empty; those of null rows mean nothing."""
    kind = np.dtype(column.type.to_pandas_dtype())
    return np.frombuffer(column.buffers()[1], kind, len(column), column.offset * kind.itemsize)


def known(column: pa.Array | pa.ChunkedArray) -> Array:
    """Where a column is not null."""
    import pyarrow as pa

    if not column.null_count:
        return np.ones(len(column), bool)
    if isinstance(column, pa.ChunkedArray):
        return np.concatenate([known(chunk) for chunk in column.chunks])
    return _valid(column)


def _valid(column: pa.Array) -> Array:
    """Where an array with nulls is not null, from the bits of its buffer."""
    bits = column.buffers()[0]
    if bits is None:  # all of type null
        return np.asarray(column.is_valid(), bool)
    first, skipped = divmod(column.offset, 8)
    count = skipped + len(column)
    packed = np.frombuffer(bits, np.uint8)[first : first + -(-count // 8)]
    return np.unpackbits(packed, count=count, bitorder="little")[skipped:].view(bool)


def encoded(column: pa.Array | pa.ChunkedArray) -> pa.DictionaryArray:
    """A text column as one dictionary-encoded array."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return column if isinstance(column, pa.DictionaryArray) else column.dictionary_encode()


def looked_up(column: pa.DictionaryArray, entries: Sequence[Any], null: Any) -> Array:
    """Each row's entry, from one entry per value of the dictionary; `null` for null."""
    table = np.array([*entries, null])
    indices = integers(column.indices, len(entries)) if column.null_count else np.asarray(column.indices)
    return np.asarray(table.take(indices))


#: Words of a dictionary that Python looks up faster than Arrow begins to.
_FEW_WORDS = 32


def coded(column: pa.Array | pa.ChunkedArray, names: Sequence[str], default: int = -1) -> Array:
    """The position of each text in `names`, int8 where positions fit, else int32; `default` for null and for other texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = np.int8 if len(names) <= np.iinfo(np.int8).max else np.int32
    if column.null_count == len(column):
        return np.full(len(column), default, kind)
    whole = encoded(column)
    if max(len(whole.dictionary), len(names)) <= _FEW_WORDS:
        place = {name: i for i, name in reversed(list(enumerate(names)))}
        of_word = np.array([*(place.get(word, default) for word in whole.dictionary.to_pylist()), default], kind)
    else:
        places = pc.index_in(whole.dictionary.cast(pa.string()), pa.array(names, pa.string())).fill_null(default)
        of_word = np.append(np.asarray(places), default).astype(kind)
    indices = integers(whole.indices, len(of_word) - 1) if whole.null_count else np.asarray(whole.indices)
    return np.asarray(of_word.take(indices))


def numbered(values: Array) -> tuple[Array, Array]:
    """The distinct values in order of first appearance, and the position of each value among them."""
    import pyarrow as pa

    codes = pa.array(values).dictionary_encode()
    return np.asarray(codes.dictionary), np.asarray(codes.indices).astype(np.int64)


def numbered_rising(values: Array) -> tuple[Array, Array]:
    """The distinct values, rising, and the position of each value among them. Where few are distinct, it takes a quarter of the time
    of `np.unique`, which sorts all of them."""
    distinct, place = numbered(values)
    order = np.argsort(distinct, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return distinct[order], rank.take(place)


def narrow(values: Array) -> Array:
    """Whole numbers from 0, in 16 bits where they fit: NumPy sorts those without comparisons."""
    return values.astype(np.uint16) if values.max(initial=0) < 1 << 16 else values


def ordered_by(group: Array, values: Array) -> Array:
    """Positions that sort rows by group, a whole number from 0, then by value; equal rows stay in their order."""
    # In one group values mostly rise: a sort that merges runs is then twice as fast as one of all rows.
    order = np.argsort(narrow(group), kind="stable")
    ahead = values.take(order)
    begins = np.diff(group.take(order), prepend=-1) != 0
    if not (np.diff(ahead, prepend=ahead[:1])[~begins] < 0).any():
        return order
    least = int(values.min(initial=0))
    span = int(values.max(initial=0)) - least + 1
    if (int(group.max(initial=0)) + 1) * span > np.iinfo(np.int64).max:
        return np.lexsort((values, narrow(group)))
    return np.asarray(order.take(np.argsort(group.take(order) * span + (ahead - least), kind="stable")))


def count_true(truths: Array) -> Array:
    """How many entries of each row of a matrix are true: faster than a sum along a short axis."""
    out: Array = np.zeros(len(truths), np.int64)
    for j in range(truths.shape[1]):
        out += truths[:, j]
    return out


def picked(matrix: Array, rows: Array) -> Array:
    """Some rows of a matrix, column by column: both have their columns in one piece."""
    out: Array = np.empty((len(rows), matrix.shape[1]), matrix.dtype, order="F")
    for j in range(matrix.shape[1]):
        out[:, j] = matrix[:, j].take(rows)
    return out


def places(row: Array, column: Array, height: int) -> Array:
    """Where entries of a matrix of so many rows lie in `ravel(order="F")`, its columns one after the other."""
    out: Array = column * height + row
    return out


def entries(matrix: Array, row: Array, column: Array) -> Array:
    """Some entries of a matrix whose columns are in one piece."""
    return np.asarray(matrix.ravel(order="F").take(places(row, column, len(matrix))))


def spread(codes: Array, names: Sequence[str], mask: Array | None = None) -> pa.DictionaryArray:
    """Codes as a dictionary-encoded column of the names."""
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int8), mask=mask), pa.array(names, pa.string()))


def batch_of(vectors: Mapping[str, Array]) -> pa.RecordBatch:
    """Arrays of one length as a record batch, which keeps them where they are; truths as bytes, 0 and 1."""
    import pyarrow as pa

    plain = [values.view(np.uint8) if values.dtype == bool else values for values in vectors.values()]
    return pa.RecordBatch.from_arrays([pa.array(values) for values in plain], names=list(vectors))


def arrays(batch: pa.RecordBatch) -> dict[str, Array]:
    """The columns of a batch of the core, which has no nulls, as arrays that must not be changed; bytes are truths."""
    found = {name: np.asarray(column) for name, column in zip(batch.schema.names, batch.columns, strict=True)}
    return {name: values.view(bool) if values.dtype == np.uint8 else values for name, values in found.items()}


def find(where: Array, wanted: Array) -> Array:
    """Index of the first of each wanted whole number in an array; -1 where it is absent."""
    if not len(where):
        return np.full(len(wanted), -1, np.int64)
    # Numbers of packets mostly rise, and of a sniffer's frames none is left out: then their place is known without a search.
    order = None if (where[1:] > where[:-1]).all() else np.argsort(where, kind="stable")
    if order is None and where.dtype.kind in "iu" and 0 <= (least := int(where[0])) == int(where[-1]) - len(where) + 1:
        return np.where((wanted >= least) & (wanted < least + len(where)), (wanted - least).astype(np.int64), -1)
    rising = where if order is None else where.take(order)
    at = np.minimum(np.searchsorted(rising, wanted), len(where) - 1)
    found: Array = np.where(rising.take(at) == wanted, at if order is None else order.take(at), -1)
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
    indices = integers(texts.indices, len(numbers) - 1) if texts.null_count else np.asarray(texts.indices)
    return np.asarray(numbers.take(indices))


def text_hashes(texts: pa.Array) -> Array:
    """A number for each of some texts, and -1 for null after them."""
    digests = [blake2b(text.encode(), digest_size=8).digest() for text in texts.to_pylist()]
    return np.append(np.frombuffer(b"".join(digests), np.int64), -1)


def rows_where(table: pa.Table, mask: Array) -> pa.Table:
    """The rows of a table where `mask` is true. The longest run of such rows is not copied: a slice of the table.

    Parameters
    ----------
    table : pa.Table
        The table; the slice keeps it in memory.
    mask : bool array
        One truth value for each row.

    Returns
    -------
    pa.Table
    """
    import pyarrow as pa

    edges = np.flatnonzero(np.diff(mask.astype(np.int8), prepend=np.int8(0), append=np.int8(0))).reshape(-1, 2)
    if len(edges) <= 1:
        low, high = edges[0].tolist() if len(edges) else (0, 0)
        return table.slice(low, high - low)
    low, high = edges[np.argmax(edges[:, 1] - edges[:, 0])].tolist()
    parts = [
        table.slice(0, low).filter(pa.array(mask[:low])),
        table.slice(low, high - low),
        table.slice(high).filter(pa.array(mask[high:])),
    ]
    return pa.concat_tables([part for part in parts if part.num_rows])


#: Null in a vector of whole numbers: no time, size or packet number of a capture is so small.
NULL = -(2**62)


#: If fewer than one row in this many is wanted, only these rows of a column are converted.
_FEW = 16


class ColumnVector:
    """A column as a vector: enums and text as codes, whole numbers as int64 with `NULL`, floats with NaN.

    Parameters
    ----------
    column : pa.ChunkedArray
        The column.
    order : array, optional
        Positions of the rows, in the order in which they are read.
    """

    def __init__(self, column: pa.ChunkedArray, order: Array | None = None) -> None:
        import pyarrow as pa

        self._column, self._order = column, order
        self._text = pa.types.is_dictionary(column.type) or pa.types.is_string(column.type)
        self._made: tuple[Array, Array] | None = None
        self._known: Array | None = None
        self._masks: dict[frozenset[str], Array] = {}

    def take(self, which: Array | None) -> Array:
        """The values at these positions; all for None."""
        if which is not None and self._made is None and len(which) * _FEW < len(self._column):
            import pyarrow as pa

            at = which if self._order is None else self._order.take(which)
            if pa.types.is_integer(self._column.type):
                return integers_at(self._column, at, NULL)
            return vector(self._column.take(pa.array(at)))
        values, words = self._all()
        chosen = values if which is None else values.take(which)
        return np.asarray(words.take(chosen)) if self._text else chosen

    def among(self, words: Iterable[str]) -> Array:
        """Where the text is one of these words; null is none of them."""
        wanted = frozenset(words)
        if wanted not in self._masks:
            codes, entries = self._all()
            matching = [code for code, entry in enumerate(entries) if entry in wanted]
            # A comparison takes a twentieth of the time of a look-up in a table.
            mask = codes == matching[0] if matching else np.zeros(len(codes), bool)
            for code in matching[1:]:
                mask |= codes == code
            self._masks[wanted] = mask
        return self._masks[wanted]

    def known(self) -> Array:
        """Where the column is not null."""
        if self._known is None:
            valid = known(self._column)
            self._known = valid if self._order is None else valid.take(self._order)
        return self._known

    def _all(self) -> tuple[Array, Array]:
        """All values in order, and the words of a text column's codes; the last word is None, for null."""
        if self._made is None:
            values, words = (
                _word_codes(self._column) if self._text else (vector(self._column), np.array([None], object))
            )
            self._made = (values if self._order is None else values.take(self._order), words)
        return self._made


def vector(column: pa.ChunkedArray) -> Array:
    """A column as a vector: whole numbers and booleans as int64 (null: `NULL`, for booleans -1), floats with NaN, text
    and enums as objects."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_integer(kind):
        return integers(column, NULL)
    if pa.types.is_floating(kind):
        return np.asarray(column.to_numpy(), np.float64)
    if pa.types.is_boolean(kind):
        return np.asarray(column.cast(pa.int8()).fill_null(-1).to_numpy(), np.int64)
    codes, words = _word_codes(column)
    return np.asarray(words[codes])


def texts(column: pa.ChunkedArray, null: str = "") -> Array:
    """A text column as objects, null as `null`."""
    codes, words = _word_codes(column)
    words[-1] = null
    return np.asarray(words[codes])


def enum_mask(column: pa.ChunkedArray, words: Iterable[str]) -> Array:
    """Where an enum column has one of these words; null is none of them. It compares codes, not strings."""
    return ColumnVector(column).among(words)


def _word_codes(column: pa.ChunkedArray) -> tuple[Array, Array]:
    """Codes of a text column and their words; the last word is None, for null."""
    whole = encoded(column)
    words = np.array([*whole.dictionary.to_pylist(), None], object)
    if whole.null_count:
        return narrow(integers(whole.indices, len(words) - 1)), words
    return np.asarray(whole.indices), words
