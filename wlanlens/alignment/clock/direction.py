"""Which of two taps a packet passed first."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def passed_first(t_ref_ns: Array, t_cap_ns: Array, src: Array, dst: Array, hops: Array | None = None) -> Array:
    """Which tap each packet passed first: 1 the reference, -1 the capture, 0 not known.

    `src` and `dst` are numbers of hosts, `hops` the time to live at the reference less that at the capture. Routers count
    it down, which decides. Otherwise, of the two directions between two hosts, the one whose stamps differ more passes
    the reference first: its delay adds to the offset, that of the other is taken from it. Hosts whose side is known so
    tell it of their packets to others.
    """
    out = np.zeros(len(src), np.int8)
    if hops is not None:
        out = np.sign(hops).astype(np.int8)
    d = t_cap_ns - t_ref_ns
    low, high = np.minimum(src, dst), np.maximum(src, dst)
    up = src <= dst
    order = np.lexsort((t_ref_ns, high, low))
    changes = np.flatnonzero(np.diff(low[order]) | np.diff(high[order])) + 1
    sides: dict[int, int] = {}
    for rows in np.split(order, changes):
        ways = up[rows]
        if ways.all() or not ways.any():
            continue
        one, other = rows[ways], rows[~ways]
        near = np.clip(np.searchsorted(t_ref_ns[other], t_ref_ns[one]), 0, len(other) - 1)
        apart = d[one] - d[other[near]]
        sign = int(np.sign(np.median(apart))) or int(np.sign(np.mean(apart)))
        unknown = rows[out[rows] == 0]
        out[unknown] = np.where(up[unknown], sign, -sign)
        sides.setdefault(int(low[rows[0]]), sign)
        sides.setdefault(int(high[rows[0]]), -sign)
    if sides and (open_rows := np.flatnonzero(out == 0)).size:
        for i in open_rows:
            out[i] = sides.get(int(src[i])) or -sides.get(int(dst[i]), 0)
    return out
