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


class EarlierCopies:
    """The earlier copies of some segments.

    Attributes
    ----------
    any : bool array
        Whether each segment has an earlier copy.
    """

    def __init__(self, stream: Array, start: Array, length: Array, sent: Array, chosen: Array) -> None:
        """Find the copies.

        Parameters
        ----------
        stream, start, length : arrays
            Stream as a number from 0, first byte and number of bytes of all segments, in the order in which they passed.
        sent : array
            Indices of those that were sent.
        chosen : array
            Indices of those whose earlier copies are wanted.
        """
        self._start, self._end, self._chosen = start, start + length, chosen
        both = np.concatenate((sent, chosen))
        of = stream[both]
        first = np.full(int(of.max(initial=-1)) + 1, np.iinfo(np.int64).max // 2)
        np.minimum.at(first, of, start[both])
        longest = int(length[sent].max(initial=0))
        byte = np.minimum(start[both] - first[of], _FAR)
        # One stream after the other.
        place = of * (int(byte.max(initial=0)) + 2 * longest + 1) + byte
        place, wanted = place[: len(sent)], place[len(sent) :]
        order = ordered_by(of[: len(sent)], byte[: len(sent)])
        self._order, place = sent[order], place[order]
        self._low = np.searchsorted(place, wanted - longest)
        self._high = np.searchsorted(place, wanted + length[chosen])
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
        wanted = self._chosen[which]
        fresh = np.diff(which, prepend=-1) != 0
        # End of the covered bytes, from the first wanted byte.
        reach = _running_maximum(self._end[copy] - self._start[wanted], fresh)
        gap = self._start[copy] - self._start[wanted] > np.where(fresh, 0, np.append(0, reach)[: len(reach)])
        gaps = np.cumsum(gap)
        size = np.diff(np.append(np.flatnonzero(fresh), len(fresh)))
        whole = gaps == np.repeat((gaps - gap)[fresh], size)
        found: Array = which[whole & (reach >= self._end[wanted] - self._start[wanted])]
        return found

    def _any(self, truth: Array) -> Array:
        """Whether something is true of any copy of each segment."""
        out: Array = np.zeros(len(self._chosen), bool)
        for which, copy in self._pairs():
            out[which[truth[copy]]] = True
        return out

    def _pairs(self) -> Iterator[tuple[Array, Array]]:
        """Segments and their copies, those of one segment together and in order of bytes, some at a time."""
        total = np.concatenate(([0], np.cumsum(self._high - self._low)))
        first = 0
        while first < len(self._chosen):
            last = max(first + 1, int(np.searchsorted(total, total[first] + _PAIRS, side="right")) - 1)
            count = self._high[first:last] - self._low[first:last]
            which = np.repeat(np.arange(first, last), count)
            nth = np.arange(len(which)) + total[first] - np.repeat(total[first:last], count)
            copy = self._order[np.repeat(self._low[first:last], count) + nth]
            held = (copy < self._chosen[which]) & (self._end[copy] > self._start[self._chosen[which]])
            yield which[held], copy[held]
            first = last


def _running_maximum(values: Array, fresh: Array) -> Array:
    """Running maximum, at least 1, in groups that begin where `fresh`."""
    group = np.cumsum(fresh) * (int(values.max(initial=0)) + 1)
    reach: Array = np.maximum.accumulate(values + group) - group
    return reach
