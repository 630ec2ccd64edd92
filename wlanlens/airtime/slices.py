"""Airtime over time: equal slices that widen as the capture grows, so that their number stays bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wlanlens import tables
from wlanlens.tables import PURPOSES
from wlanlens.tables.columns import Array

if TYPE_CHECKING:
    import pyarrow as pa

#: Slices kept: a figure has no room for more.
SLICES = 1024
#: The narrowest slice, 17 ms: the longest frames last 5 to 12 ms.
SLICE_NS = 1 << 24


class Slices:
    """Airtime of each purpose in each slice."""

    def __init__(self) -> None:
        self.width_ns = SLICE_NS
        self._ns: Array = np.zeros((SLICES, len(PURPOSES)), np.int64)
        self._frames: Array = np.zeros((SLICES, len(PURPOSES)), np.int64)

    def add(self, t_ns: Array, purpose: Array, airtime_ns: Array) -> None:
        """Add frames; those without a time or of unknown length are left out."""
        known = (t_ns >= 0) & (airtime_ns >= 0)
        if not known.any():
            return
        # Times of 146 years come from damage; clipped, so that sums do not overflow.
        t_ns, purpose, airtime_ns = np.minimum(t_ns[known], 1 << 62), purpose[known].astype(np.int64), airtime_ns[known]
        while int((t_ns + airtime_ns).max()) // self.width_ns >= SLICES:
            self._widen()
        at, size = t_ns // self.width_ns, self._ns.size
        self._frames += np.bincount(at * len(PURPOSES) + purpose, minlength=size).reshape(self._ns.shape)
        # A frame fills the rest of its slice, then the next one, so that no slice holds more than its own length.
        while len(at):
            part = np.minimum(airtime_ns, (at + 1) * self.width_ns - t_ns)
            cell = at * len(PURPOSES) + purpose
            self._ns += np.bincount(cell, part, size).astype(np.int64).reshape(self._ns.shape)
            more = airtime_ns > part
            at, purpose, airtime_ns = at[more] + 1, purpose[more], (airtime_ns - part)[more]
            t_ns = at * self.width_ns

    def _widen(self) -> None:
        self.width_ns *= 2
        for sums in (self._ns, self._frames):
            halved = sums[0::2] + sums[1::2]
            sums[: len(halved)], sums[len(halved) :] = halved, 0

    def table(self, capture: str) -> pa.Table:
        """The table `airtime`: a row per slice and purpose with airtime or with frames that start in it."""
        import pyarrow as pa

        at, purpose = np.nonzero((self._frames > 0) | (self._ns > 0))
        names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(at), np.int32)), pa.array([capture]))
        columns = [
            names,
            pa.array(at * self.width_ns),
            pa.array((at + 1) * self.width_ns),
            pa.DictionaryArray.from_arrays(pa.array(purpose.astype(np.int8)), pa.array(PURPOSES)),
            pa.array(self._frames[at, purpose].astype(np.uint64)),
            pa.array(self._ns[at, purpose]),
        ]
        return pa.Table.from_arrays(columns, schema=tables.schema("airtime"))
