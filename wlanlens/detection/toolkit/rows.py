"""Rows of a table as NumPy vectors, ordered by connection and direction."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from wlanlens.tables.columns import Array, ColumnVector

#: Numbers below this fit in 64 bits with room for a sum.
_MOST = 1 << 62


class Rows:
    """Rows of a table as vectors; the rows of one key are adjacent.

    Parameters
    ----------
    key : array
        As the attribute.
    columns : mapping
        Vectors with a value for each row.
    unread, at : mapping, array or None
        More columns, and where these rows are in them; None: they have the same rows. A column is read when it is first wanted,
        often for a few of the rows that were selected first.

    Attributes
    ----------
    key : array
        Capture, connection and direction of each row in one number, see `Facts.table_keys`. It rises.
    """

    def __init__(
        self,
        key: Array,
        columns: Mapping[str, Array],
        unread: Mapping[str, ColumnVector] | None = None,
        at: Array | None = None,
    ) -> None:
        self.key, self._columns = key, dict(columns)
        self._unread, self._at = dict(unread or {}), at
        #: Columns that rise within each key.
        self._rising: set[str] = set()
        self._searchable: dict[str, tuple[Array, Array, int, int, Array | None]] = {}

    def __len__(self) -> int:
        return len(self.key)

    def __getitem__(self, column: str) -> Array:
        if column not in self._columns:
            self._columns[column] = self._unread.pop(column).take(self._at)
        return self._columns[column]

    def take(self, which: Array) -> Rows:
        """Select rows by mask or by position from 0."""
        at = which
        if np.asarray(which).dtype == bool:
            if which.all():
                return self
            # NumPy takes positions six times as fast as it applies a mask.
            at = np.flatnonzero(which)
        columns = {name: column.take(at) for name, column in self._columns.items()}
        if not self._unread:
            return Rows(self.key.take(at), columns)
        return Rows(self.key.take(at), columns, self._unread, at if self._at is None else self._at.take(at))

    def of_key(self, key: int) -> Rows:
        """Select the rows of one key."""
        a, b = np.searchsorted(self.key, [key, key + 1])
        return Rows(self.key[a:b], {name: self[name][a:b] for name in (*self._columns, *self._unread)})

    def sorted_by(self, *columns: str) -> Rows:
        """Sort by key, then by these columns."""
        if len(columns) == 1:
            by_key = key_order(self.key)
            rows = self if by_key is None else self.take(by_key)
            if rows._rises(columns[0]):
                return rows
        return self.take(np.lexsort([self[name] for name in reversed(columns)] + [self.key]))

    def _rises(self, column: str) -> bool:
        """Whether a column rises within each key, and the keys do."""
        if column not in self._rising:
            values, later = self[column], self.key[1:] > self.key[:-1]
            if not (later | ((values[1:] >= values[:-1]) & (self.key[1:] == self.key[:-1]))).all():
                return False
            self._rising.add(column)
        return True

    def last_until(self, column: str, keys: Array, values: Array) -> Array:
        """Find the last row of each key whose `column` is at most the given value.

        Parameters
        ----------
        column : str
            A column that rises within each key.
        keys, values : array
            One search each.

        Returns
        -------
        array
            Positions; -1 where no row qualifies.
        """
        if column not in self._searchable:
            self._searchable[column] = self._one_number(column)
        names, starts, least, span, whole = self._searchable[column]
        if whole is None or values.dtype.kind != "i":
            return self._halved(self[column], keys, values)
        if not len(names):
            return np.full(len(keys), -1)
        rank = np.minimum(np.searchsorted(names, keys), len(names) - 1)
        wanted = np.clip(values, least - 1, least + span - 2) - least
        at = np.searchsorted(whole, rank * span + wanted, side="right") - 1
        return np.where((names[rank] == keys) & (at >= starts[rank]), at, -1)

    def _one_number(self, column: str) -> tuple[Array, Array, int, int, Array | None]:
        """Key and value of each row in one rising number, rank * span + value - least; None where there is no such number."""
        starts, _ = key_groups(self.key)
        rising = self[column]
        names = self.key[starts]
        least, most = (int(rising.min()), int(rising.max())) if len(rising) and rising.dtype.kind == "i" else (0, _MOST)
        # One number below and one above all values: searches for less and for more stay within their key.
        span = most - least + 3
        if len(names) * span > _MOST or not self._rises(column):
            return names, starts, least, span, None
        rank = np.repeat(np.arange(len(names)), np.diff(np.append(starts, len(self.key))))
        return names, starts, least, span, rank * span + (rising - least)

    def _halved(self, rising: Array, keys: Array, values: Array) -> Array:
        """A binary search of all at once."""
        low, high = np.searchsorted(self.key, keys), np.searchsorted(self.key, keys, side="right")
        first = low.copy()
        while True:
            searching = low < high
            if not searching.any():
                return np.where(low > first, low - 1, -1)
            middle = np.minimum((low + high) // 2, len(rising) - 1)
            below = rising[middle] <= values
            low, high = np.where(searching & below, middle + 1, low), np.where(searching & ~below, middle, high)

    def any_between(self, column: str, keys: Array, start: Array, end: Array) -> Array:
        """Whether a row of each key has a `column`, rising within the key, from `start` to `end`, both included."""
        at = self.last_until(column, keys, end)
        values = self[column]
        return (at >= 0) & (values[at] >= start) if len(values) else np.zeros(len(keys), bool)


def key_groups(key: Array) -> tuple[Array, Array]:
    """First position and length of each run of equal keys."""
    if not len(key):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    first = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    return first, np.diff(np.append(first, len(key)))


def key_order(key: Array) -> Array | None:
    """Positions that sort the keys and keep the order of equal ones; None when they are sorted."""
    if not len(key) or not (key[1:] < key[:-1]).any():
        return None
    # NumPy sorts numbers of two bytes by counting, in one pass.
    small = key.astype(np.uint16) if key.max() <= np.iinfo(np.uint16).max else key
    return np.argsort(small, kind="stable")
