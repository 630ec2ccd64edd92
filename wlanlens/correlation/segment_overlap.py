"""Earlier copies of segments: segments sent before with some of the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wlanlens.tables.columns import ordered_by

Array = np.ndarray[Any, Any]

#: Segments and their earlier copies that are examined together.
_PAIRS = 1 << 18

#: Largest position in a stream: more than a connection transfers within one chunk of time.
_FAR = 1 << 40

#: Bits of a block of bytes, a few segments, and the number of marks by which blocks are recognised: they fit in a cache.
_BLOCK_BITS, _MARKS = 14, 1 << 16


class EarlierCopies:
    """The earlier copies of some segments.

    Attributes
    ----------
    any : bool array
        Whether each segment has an earlier copy.
    """

    def __init__(
        self, stream: Array, start: Array, length: Array, sent: Array, chosen: Array, size: Array | None = None
    ) -> None:
        """Find the copies.

        Parameters
        ----------
        stream, start, length : arrays
            Stream as a number from 0, first byte and number of bytes of all segments, in the order in which they passed.
        sent : array
            Indices of those that were sent.
        chosen : array
            Indices of those whose earlier copies are wanted.
        size : array, optional
            Number of bytes from the first byte of each chosen one whose copies are wanted; by default its own.
        """
        size = length[chosen] if size is None else size
        self._start, self._end, self._chosen = start, start + length, chosen
        self._from: Array = start[chosen]
        self._to: Array = self._from + size
        both = np.concatenate((sent, chosen))
        of = stream.take(both)
        begin = start.take(both)
        first = np.full(int(of.max(initial=-1)) + 1, np.iinfo(np.int64).max // 2)
        np.minimum.at(first, of, begin)
        longest = int(length[sent].max(initial=0))
        byte = np.minimum(begin - first.take(of), _FAR)
        most = max(int(byte.max(initial=0)), int((byte[len(sent) :] + size).max(initial=0)))
        # One stream after the other.
        place = of * (most + longest + 1) + byte
        place, wanted = place[: len(sent)], place[len(sent) :]
        low, high = wanted - longest, wanted + size
        near = _near(place, low, high)
        order = near.take(ordered_by(of.take(near), byte.take(near)))
        self._order, place = sent[order], place[order]
        self._low = np.searchsorted(place, low)
        self._high = np.searchsorted(place, high)
        #: All segments and their copies, if they are few.
        self._few: tuple[Array, Array] | None = None
        self.any: Array = self._any(np.ones(len(stream), bool))

    def all_are(self, truth: Array) -> Array:
        """Whether something is true of all copies of each segment."""
        return ~self._any(~truth)

    def rows(self) -> Array:
        """Indices of the earlier copies of all segments."""
        found = [copy for _, copy in self._pairs()]
        return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)

    def cover(self, truth: Array) -> Array:
        """Whether the copies of which something is true have all bytes of each segment."""
        out: Array = np.zeros(len(self._chosen), bool)
        for which, copy in self._pairs():
            kept = truth[copy]
            out[self._covered(which[kept], copy[kept])] = True
        return out

    def _covered(self, which: Array, copy: Array) -> Array:
        """Which segments are covered by their copies; copies are in order of bytes."""
        begin = self._from[which]
        fresh = np.diff(which, prepend=-1) != 0
        # End of the covered bytes, from the first wanted byte.
        reach = _running_maximum(self._end[copy] - begin, fresh)
        gap = self._start[copy] - begin > np.where(fresh, 0, np.append(0, reach)[: len(reach)])
        gaps = np.cumsum(gap)
        size = np.diff(np.append(np.flatnonzero(fresh), len(fresh)))
        whole = gaps == np.repeat((gaps - gap)[fresh], size)
        found: Array = which[whole & (reach >= self._to[which] - begin)]
        return found

    def _any(self, truth: Array) -> Array:
        """Whether something is true of any copy of each segment."""
        out: Array = np.zeros(len(self._chosen), bool)
        for which, copy in self._pairs():
            out[which[truth[copy]]] = True
        return out

    def _pairs(self) -> Iterator[tuple[Array, Array]]:
        """Segments and their copies, those of one segment together and in order of bytes, some at a time."""
        if self._few is not None:
            yield self._few
            return
        total = np.concatenate(([0], np.cumsum(self._high - self._low)))
        first = 0
        while first < len(self._chosen):
            last = max(first + 1, int(np.searchsorted(total, total[first] + _PAIRS, side="right")) - 1)
            count = self._high[first:last] - self._low[first:last]
            which = np.repeat(np.arange(first, last), count)
            nth = np.arange(len(which)) + total[first] - np.repeat(total[first:last], count)
            copy = self._order[np.repeat(self._low[first:last], count) + nth]
            held = (copy < self._chosen[which]) & (self._end[copy] > self._from[which])
            pairs = which[held], copy[held]
            if (first, last) == (0, len(self._chosen)):
                self._few = pairs
            yield pairs
            first = last


def _near(places: Array, low: Array, high: Array) -> Array:
    """Indices of places, in their order, among which are all that lie in some spans: a rough choice, because few do."""
    first, last = low >> _BLOCK_BITS, high >> _BLOCK_BITS
    count = last - first + 1
    total = np.cumsum(count)
    if not len(total) or total[-1] > len(places):
        return np.arange(len(places))
    marked = np.zeros(_MARKS, bool)
    marked[(np.arange(total[-1]) + np.repeat(first - (total - count), count)) % _MARKS] = True
    return np.flatnonzero(marked.take((places >> _BLOCK_BITS) % _MARKS))


def _running_maximum(values: Array, fresh: Array) -> Array:
    """Running maximum, at least 1, in groups that begin where `fresh`."""
    group = np.cumsum(fresh) * (int(values.max(initial=0)) + 1)
    reach: Array = np.maximum.accumulate(values + group) - group
    return reach
