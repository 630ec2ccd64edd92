"""The rows of a ledger while it is made: intervals, and what they are parts of."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wlanlens.tables import CATEGORIES
from wlanlens.tables.columns import Array


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Columns of one length, in order of capture, connection, direction and time.

    Attributes
    ----------
    capture, flow : array of int
    back : array of int
        0 for a to b, 1 for b to a.
    start, end : array of int
        Nanoseconds.
    category : array of int
        An index into `CATEGORIES`.
    limited : array of bool
        A window or a delayed ACK kept the sender's data back.
    limits : array of int
        What would limit the sender if the path were not full, as a category; -1 for nothing.
    origin : array of int
        The interval that each row is a part of.
    """

    capture: Array
    flow: Array
    back: Array
    start: Array
    end: Array
    category: Array
    limited: Array
    limits: Array
    origin: Array

    @property
    def times(self) -> tuple[Array, Array, Array, Array, Array]:
        """Connection, direction, start, end and category."""
        return self.flow, self.back, self.start, self.end, self.category

    def take(self, row: Array) -> Rows:
        """Some of them, in this order."""
        return Rows(**{name: column[row] for name, column in vars(self).items()})

    def cut(self, parts: tuple[Array, Array, Array, Array]) -> Rows:
        """Parts of them: of each the row it comes from, start, end and category."""
        row, start, end, category = parts
        return replace(self.take(row), start=start, end=end, category=category)

    def unknown_where(self, which: Array) -> Rows:
        """The same, but of some nothing is known."""
        category = np.where(which, CATEGORIES.index("unknown"), self.category)
        return replace(self, category=category, limited=self.limited & ~which, limits=np.where(which, -1, self.limits))

    def follows(self) -> Array:
        """Of each row but the first, whether it is of the capture, connection and direction of the one before."""
        columns = (self.capture, self.flow, self.back)
        return np.asarray(np.logical_and.reduce([column[1:] == column[:-1] for column in columns]))
