"""Rows of a table as NumPy vectors, ordered by connection and direction."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from wlanlens.tables.columns import Array


class Rows:
    """Rows of a table as vectors; the rows of one key are adjacent.

    Attributes
    ----------
    key : array
        Capture, connection and direction of each row in one number, see `Facts.table_keys`. It rises.
    """

    def __init__(self, key: Array, columns: Mapping[str, Array]) -> None:
        self.key, self._columns = key, columns

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
            values = self._columns[columns[0]]
            if ((self.key[1:] > self.key[:-1]) | (values[1:] >= values[:-1])).all():
                return self
        return self.take(np.lexsort([self._columns[name] for name in reversed(columns)] + [self.key]))

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
        rising = self._columns[column]
        low, high = np.searchsorted(self.key, keys), np.searchsorted(self.key, keys, side="right")
        first = low.copy()
        # A binary search of all at once.
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
