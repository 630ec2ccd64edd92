"""Rows of a table as NumPy vectors, ordered by connection and direction."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from wlanlens.tables.columns import Array

#: Numbers below this fit in 64 bits with room for a sum.
_MOST = 1 << 62


class Rows:
    """Rows of a table as vectors; the rows of one key are adjacent.

    Attributes
    ----------
    key : array
        Capture, connection and direction of each row in one number, see `Facts.table_keys`. It rises.
    """

    def __init__(self, key: Array, columns: Mapping[str, Array]) -> None:
        self.key, self._columns = key, columns
        self._searchable: dict[str, tuple[Array, Array, int, int, Array | None]] = {}

    def __len__(self) -> int:
        return len(self.key)

    def __getitem__(self, column: str) -> Array:
        return self._columns[column]

    def take(self, which: Array) -> Rows:
        """Select rows by mask or by position."""
        return Rows(self.key[which], {name: column[which] for name, column in self._columns.items()})

    def of_key(self, key: int) -> Rows:
        """Select the rows of one key."""
        a, b = np.searchsorted(self.key, [key, key + 1])
        return Rows(self.key[a:b], {name: column[a:b] for name, column in self._columns.items()})

    def sorted_by(self, *columns: str) -> Rows:
        """Sort by key, then by these columns."""
        if len(columns) == 1:
            by_key = key_order(self.key)
            rows = self if by_key is None else self.take(by_key)
            if rows._rises(rows[columns[0]]):
                return rows
        return self.take(np.lexsort([self._columns[name] for name in reversed(columns)] + [self.key]))

    def _rises(self, values: Array) -> bool:
        """Whether values rise within each key, and the keys do."""
        later = self.key[1:] > self.key[:-1]
        return bool((later | ((values[1:] >= values[:-1]) & (self.key[1:] == self.key[:-1]))).all())

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
            self._searchable[column] = self._one_number(self._columns[column])
        names, starts, least, span, whole = self._searchable[column]
        if whole is None or values.dtype.kind != "i":
            return self._halved(self._columns[column], keys, values)
        if not len(names):
            return np.full(len(keys), -1)
        rank = np.minimum(np.searchsorted(names, keys), len(names) - 1)
        wanted = np.clip(values, least - 1, least + span - 2) - least
        at = np.searchsorted(whole, rank * span + wanted, side="right") - 1
        return np.where((names[rank] == keys) & (at >= starts[rank]), at, -1)

    def _one_number(self, rising: Array) -> tuple[Array, Array, int, int, Array | None]:
        """Key and value of each row in one rising number, rank * span + value - least; None where there is no such number."""
        starts, _ = key_groups(self.key)
        names = self.key[starts]
        least, most = (int(rising.min()), int(rising.max())) if len(rising) and rising.dtype.kind == "i" else (0, _MOST)
        # One number below and one above all values: searches for less and for more stay within their key.
        span = most - least + 3
        if len(names) * span > _MOST or not self._rises(rising):
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
        values = self._columns[column]
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
