"""Where packets were lost, by the last capture that saw them and the next on their way that did not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.tables import LOST

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

#: A capture heard what passed it when it has as many of the packets that arrived just before and just after: a sniffer
#: that is off its channel, or a tap that drops, misses neighbours too.
NEIGHBOURS = 3

_BEFORE = {"usb": "before_usb", "air": "before_air"}


def places(vantages: Sequence[str], times: Any, ways: Array, fate: pa.Array, acked: pa.Array) -> pa.Array:
    """The column `lost` of `links`.

    `times` is a masked array, one row a packet and one column a capture; `ways` numbers the directions of connections,
    -1 for none; `acked` says whether its MAC acknowledgment was heard, null for not known.
    """
    import pyarrow as pa

    words = np.asarray(fate.cast(pa.string()).to_numpy(zero_copy_only=False), object)
    codes = np.full(len(ways), -1, np.int8)
    gone = (words == "not_seen") & (ways >= 0)
    codes[(words == "not_seen")] = LOST.index("unknown")
    if gone.any():
        answered = np.asarray(acked.cast(pa.int8()).fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
        seen, t_ns = ~np.ma.getmaskarray(times), np.ma.filled(times, 0)
        order = np.argsort(ways, kind="stable")
        wanted = np.unique(ways[gone])
        low, high = (np.searchsorted(ways[order], wanted, side=side) for side in ("left", "right"))
        for a, b in zip(low.tolist(), high.tolist(), strict=True):
            rows = order[a:b]
            codes[rows] = _of_way(vantages, seen[rows], t_ns[rows], words[rows], answered[rows])
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), pa.array(LOST))


def _of_way(vantages: Sequence[str], seen: Array, t_ns: Array, fate: Array, answered: Array) -> Array:
    """Codes of the packets of one direction."""
    codes = np.full(len(fate), -1, np.int8)
    lost = np.flatnonzero(fate == "not_seen")
    codes[lost] = LOST.index("unknown")
    first = np.where(seen, t_ns, np.iinfo(np.int64).max).min(axis=1)
    arrived = np.flatnonzero(fate == "arrived")
    arrived = arrived[np.argsort(first[arrived], kind="stable")]
    if not len(arrived):
        return codes
    way = _order(seen[arrived], t_ns[arrived])
    heard = [np.concatenate(([0], np.cumsum(seen[arrived, j]))) for j in range(len(vantages))]
    for i in lost.tolist():
        passed = [k for k, j in enumerate(way) if seen[i, j]]
        if not passed or passed[-1] + 1 == len(way):
            continue
        last, then = way[passed[-1]], way[passed[-1] + 1]
        at = int(np.searchsorted(first[arrived], first[i]))
        a, b = max(0, at - NEIGHBOURS), min(len(arrived), at + NEIGHBOURS)
        # With none behind it, it may be under way; with none before it, the capture ran all the same (`fate`).
        if at == b or heard[then][b] - heard[then][a] < b - a:
            continue
        place = _BEFORE.get(vantages[then], "on_way")
        if vantages[last] == "air":
            # No acknowledgment heard is none sent where those of the neighbours were heard.
            told = answered[i] >= 0 or (answered[arrived[a:b]] == 1).all()
            place = ("after_air" if answered[i] == 1 else "on_air") if told else "unknown"
        codes[i] = LOST.index(place)
    return codes


def _order(seen: Array, t_ns: Array) -> list[int]:
    """The captures that saw packets of a direction, in the order in which these pass them: two by two, by what both saw."""
    have = np.flatnonzero(seen.any(axis=0)).tolist()

    def earlier(j: int) -> int:
        both = ((seen[:, i] & seen[:, j], i) for i in have if i != j)
        return sum(float(np.median(t_ns[rows, j] - t_ns[rows, i])) > 0 for rows, i in both if rows.any())

    return sorted(have, key=earlier)
