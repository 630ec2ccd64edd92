"""The feasible region: all lines of clock offset and drift that agree with the pairs (rust/core/src/clock)."""

from __future__ import annotations

import numpy as np

from wlanlens import _core
from wlanlens.tables.columns import Array

#: Largest difference of two clocks' rates: crystals keep 100 ppm, NTP slews by at most 500 (RFC 5905, MAXFREQ).
DRIFT_PPM_MOST = 500.0

#: Largest distance of an offset from a pair, ns: no packet has a longer delay.
_FARTHEST_NS = 1e11


class FeasibleRegion:
    """All lines (offset at `origin`, slope) that agree with the pairs: a polygon."""

    def __init__(self, origin: float, middle: float) -> None:
        self.origin = origin
        self._lines = _core.Region(origin, middle, _FARTHEST_NS, DRIFT_PPM_MOST * 1e3)

    @property
    def corners(self) -> list[tuple[float, float]]:
        """The lines at its corners."""
        return self._lines.corners()

    def excess(self, x: float, limit: float, side: int) -> float:
        """Distance of the best line from a limit, on the wrong side; negative: some line agrees with the limit."""
        return self._lines.excess(x, limit, side)

    def clip(self, x: float, limit: float, side: int) -> bool:
        """Keep the lines on the right side of a limit; False, without a change, when there is none."""
        return self._lines.clip(x, limit, side)

    def clip_while(self, x: Array, limit: Array, side: Array) -> int:
        """Clip by limits in turn up to the first that contradicts the region; how many agreed."""
        return self._lines.clip_while(_floats(x), _floats(limit), _floats(side))

    def clip_all(self, x: Array, limit: Array, side: int) -> int:
        """Clip by limits of one side in turn; the number of limits that contradict the region."""
        return self._lines.clip_all(_floats(x), _floats(limit), side)

    def between(self, x: float) -> tuple[float, float]:
        """Least and greatest offset at x."""
        offsets = [a + b * (x - self.origin) for a, b in self.corners]
        return min(offsets), max(offsets)

    def slopes(self) -> tuple[float, float]:
        """Least and greatest slope."""
        found = [b for _, b in self.corners]
        return min(found), max(found)


def hull(x: Array, limit: Array, side: int) -> Array:
    """Indices of the corners of the lower (side 1) or upper (side -1) convex hull of limits, in order of time."""
    return np.array(_core.hull(_floats(x), _floats(limit), side), np.intp)


def _floats(values: Array) -> Array:
    """An array in one piece, as the core reads it."""
    return np.ascontiguousarray(values, np.float64)
