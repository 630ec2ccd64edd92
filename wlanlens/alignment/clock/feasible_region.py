"""The feasible region: all lines of clock offset and drift that agree with the pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

#: Largest difference of two clocks' rates: crystals keep 100 ppm, NTP slews by at most 500 (RFC 5905, MAXFREQ).
DRIFT_PPM_MOST = 500.0

#: Largest distance of an offset from a pair, ns: no packet has a longer delay.
_FARTHEST_NS = 1e11


class FeasibleRegion:
    """All lines (offset at `origin`, slope) that agree with the pairs: a polygon."""

    def __init__(self, origin: float, middle: float) -> None:
        self.origin = origin
        wide, steep = _FARTHEST_NS, DRIFT_PPM_MOST * 1e3
        self.corners = [
            (middle - wide, -steep),
            (middle + wide, -steep),
            (middle + wide, steep),
            (middle - wide, steep),
        ]

    def excess(self, x: float, limit: float, side: int) -> float:
        """Distance of the best line from a limit, on the wrong side; negative: some line agrees with the limit."""
        at = x - self.origin
        return min(side * (a + b * at - limit) for a, b in self.corners)

    def clip(self, x: float, limit: float, side: int) -> bool:
        """Keep the lines on the right side of a limit; False, without a change, when there is none."""
        at = x - self.origin
        over = [side * (a + b * at - limit) for a, b in self.corners]
        if max(over) <= 0:
            return True
        if min(over) > 0:
            return False
        kept: list[tuple[float, float]] = []
        for i, (corner, value) in enumerate(zip(self.corners, over, strict=True)):
            before, was = self.corners[i - 1], over[i - 1]
            if (value > 0) != (was > 0):
                share = was / (was - value)
                kept.append((before[0] + share * (corner[0] - before[0]), before[1] + share * (corner[1] - before[1])))
            if value <= 0:
                kept.append(corner)
        # A corner on the limit itself occurs twice.
        self.corners = [corner for i, corner in enumerate(kept) if corner != kept[i - 1]] or kept[:1]
        return True

    def without_effect(self, x: Array, limit: Array, side: Array | int) -> int:
        """How many of the first limits cut nothing off. Most do not, and one array operation finds them quickly."""
        offset, slope = np.array(self.corners).T[:, :, None]
        cut = (side * (offset + slope * (x - self.origin) - limit) > 0).any(axis=0)
        return int(cut.argmax()) if cut.any() else len(cut)

    def clip_all(self, x: Array, limit: Array, side: int) -> int:
        """Clip by limits of one side in turn; the number of limits that contradict the region."""
        contradictions = k = 0
        while k < len(x):
            before = self.corners
            contradictions += not self.clip(float(x[k]), float(limit[k]), side)
            k += 1
            if self.corners is before:
                k += self.without_effect(x[k:], limit[k:], side)
        return contradictions

    def between(self, x: float) -> tuple[float, float]:
        """Least and greatest offset at x."""
        offsets = [a + b * (x - self.origin) for a, b in self.corners]
        return min(offsets), max(offsets)

    def slopes(self) -> tuple[float, float]:
        """Least and greatest slope."""
        found = [b for _, b in self.corners]
        return min(found), max(found)
