"""The packets that two captures have in common, and a sample of them to fit clocks to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wlanlens.alignment.capture_summary import CaptureSummary
from wlanlens.alignment.packet_matching import Pairs
from wlanlens.tables.columns import Array, coded, filled, numbered

if TYPE_CHECKING:
    import pyarrow as pa


#: Pairs that a clock is fitted to. Of more, the extreme ones among neighbours are kept, and some others: the envelopes of
#: the delays consist of extremes, and the fit looks at 8000 of a million pairs.
CLOCK_PAIRS = 1 << 18

#: Neighbours among which the least and the greatest difference are kept.
_NEIGHBOURS = 16


class CommonPackets:
    """What two captures have in common.

    Attributes
    ----------
    pairs : Pairs
        All pairs of rows.
    total, exact : int
        Pairs of the same packet with a time in both captures, and those of them that can bound a clock.
    inferred : bool
        The pairs were inferred from length, direction and order; `pairs` has none.
    same_frames : bool
        The sample consists of frames that two sniffers heard at once; `pairs` consists of packets all the same.
    """

    def __init__(self) -> None:
        self.pairs: Pairs
        self.inferred = self.same_frames = False
        self.total = self.exact = self._same = 0
        self._times_differ = False
        self._sample: list[dict[str, Array]] = []
        self._sampled = 0
        self._links: tuple[Array, Array, Array] = (np.zeros(0, np.int64),) * 3

    @classmethod
    def of_inferred(cls, sample: dict[str, Array]) -> CommonPackets:
        """Pairs that were inferred, because one capture has no readable packets."""
        made = cls()
        made.inferred, made._sample = True, [sample]
        made.total, made.exact = len(sample["exact"]), int(sample["exact"].sum())
        return made

    def add_frames(self, row_a: Array, row_b: Array, a: dict[str, Array], b: dict[str, Array], exact: Array) -> None:
        """Add frames that two sniffers heard at once."""
        usable = a["timed"] & b["timed"]
        none = np.zeros(len(row_a), np.int64)
        columns = {"row_a": row_a, "row_b": row_b, "exact": exact, "payload": none}
        for name in ("ttl", "src", "dst"):
            columns[f"{name}_a"] = columns[f"{name}_b"] = none - 1
        for name in ("time_ns", "number"):
            columns[f"{name}_a"], columns[f"{name}_b"] = a[name], b[name]
        self.total += int(usable.sum())
        self.exact += int((usable & exact).sum())
        self._keep(columns, usable)

    def _keep(self, columns: dict[str, Array], usable: Array) -> None:
        self._sample.append(columns if usable.all() else _picked(columns, usable))
        self._sampled += int(usable.sum())
        if self._sampled > 2 * CLOCK_PAIRS:
            self._thin()

    def add(self, found: pa.RecordBatch, x: dict[str, Array], y: dict[str, Array]) -> None:
        """Add the pairs of a window, of which there are some, and the columns of their rows in both captures."""
        same = coded(found.column("kind"), ["same"]) == 0
        row_a, row_b = found.column("row_a").to_numpy(), found.column("row_b").to_numpy()
        self._times_differ |= bool((x["time_ns"] != y["time_ns"]).any())
        self._same += int(same.sum())
        self._connect(x, y, same)
        usable = same & x["timed"] & y["timed"]
        exact = usable & filled(found.column("copy_safe")) & ~x["retry"] & ~y["retry"]
        self.total += int(usable.sum())
        self.exact += int(exact.sum())
        columns = {"row_a": row_a, "row_b": row_b, "exact": exact, "payload": x["payload"]}
        for name in ("time_ns", "number", "ttl", "src", "dst"):
            columns[f"{name}_a"], columns[f"{name}_b"] = x[name], y[name]
        self._keep(columns, usable)

    def _connect(self, x: dict[str, Array], y: dict[str, Array], same: Array) -> None:
        """Count the pairs of each two connections, and those in opposite directions."""
        both = same & (x["flow"] >= 0) & (y["flow"] >= 0)
        key = x["flow"][both] << 32 | y["flow"][both]
        found, of = numbered(key)
        weight = np.bincount(of, minlength=len(found))
        opposite = np.bincount(of[x["b2a"][both] ^ y["b2a"][both]], minlength=len(found))
        keys, *sums = self._links
        links, at = np.unique(np.concatenate((keys, found)), return_inverse=True)
        weights, opposites = (
            np.bincount(at, np.concatenate((was, more)), len(links)).astype(np.int64)
            for was, more in zip(sums, (weight, opposite), strict=True)
        )
        self._links = (links, weights, opposites)

    def _thin(self) -> None:
        """Keep the pairs whose timestamps differ least and most among their neighbours of one path, and some of the others."""
        a_ns, b_ns, src, dst = (
            np.concatenate([part[name] for part in self._sample])
            for name in ("time_ns_a", "time_ns_b", "src_a", "dst_a")
        )
        apart = b_ns - a_ns
        count = len(apart)
        # Neighbours of one path: in one block, with the same hash of addresses. Paths with the same hash only keep fewer pairs.
        path = np.zeros(-(-count // _NEIGHBOURS) * _NEIGHBOURS, np.int32)
        path[:count] = (src * 3 ^ dst) >> 7 & 0xFFFF
        # Sort each block by path, then by place; the rows missing in the last block come last.
        path[count:] = 1 << 16
        places = np.arange(_NEIGHBOURS, dtype=np.int32)
        ranked: Array = np.sort((path * _NEIGHBOURS).reshape(-1, _NEIGHBOURS) + places, axis=1)
        blocks: Array = np.arange(len(ranked))[:, None]
        order = (blocks * _NEIGHBOURS + ranked % _NEIGHBOURS).ravel()[:count]
        group = (blocks << 17 | ranked // _NEIGHBOURS).ravel()[:count]
        begins = np.flatnonzero(np.diff(group, prepend=-1))
        sizes = np.diff(begins, append=count)
        ordered = apart[order]
        edge = np.zeros(count, bool)
        for least in (np.minimum, np.maximum):
            edge |= ordered == np.repeat(least.reduceat(ordered, begins), sizes)
        kept = np.zeros(count, bool)
        kept[order[edge]] = True
        kept[::_NEIGHBOURS] = True
        if kept.sum() > CLOCK_PAIRS:
            # No two neighbours are of one path.
            kept = np.zeros(count, bool)
            kept[:: -(-count // CLOCK_PAIRS)] = True
        ends = np.cumsum([len(part["row_a"]) for part in self._sample])
        self._sample = [_picked(part, mine) for part, mine in zip(self._sample, np.split(kept, ends[:-1]), strict=True)]
        self._sampled = int(kept.sum())

    @property
    def sample(self) -> dict[str, Array]:
        """Pairs of the same packet with a time in both captures: all, or as many as a clock fit needs."""
        if len(self._sample) != 1:
            names = self._sample[0] if self._sample else _NO_PAIRS
            self._sample = [{n: np.concatenate([_NO_PAIRS[n], *(s[n] for s in self._sample)]) for n in names}]
        return self._sample[0]

    @property
    def links(self) -> tuple[Array, Array, Array, Array]:
        """Connection of a, of b, number of their pairs, number of those in opposite directions."""
        keys, weight, against = self._links
        return keys >> 32, keys & 0xFFFF_FFFF, weight, against

    def has_equal_times(self, a: CaptureSummary, b: CaptureSummary) -> bool:
        """Whether the packets of the smaller capture are in the other at the same time."""
        smaller = min(a.rows, b.rows)
        if smaller == 0 or self._times_differ or self._same < max(2, 0.9 * smaller):
            return False
        # Clocks with millisecond ticks often agree.
        return max(a.tick_ns, b.tick_ns) <= 1000


def _picked(columns: dict[str, Array], kept: Array) -> dict[str, Array]:
    """Some rows of all columns."""
    rows = np.flatnonzero(kept)
    return {name: values[rows] for name, values in columns.items()}


_NO_PAIRS: dict[str, Array] = {
    "row_a": np.zeros(0, np.uint64),
    "row_b": np.zeros(0, np.uint64),
    "exact": np.zeros(0, bool),
    "payload": np.zeros(0, np.uint32),
    **{f"{name}_{side}": np.zeros(0, np.int64) for name in ("time_ns", "number", "ttl", "src", "dst") for side in "ab"},
}
