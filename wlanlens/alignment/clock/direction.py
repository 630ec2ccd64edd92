"""Which of two capture points a packet passed first."""

from __future__ import annotations

import numpy as np

from wlanlens.tables.columns import Array, numbered_rising, ordered_by


def passed_first(t_ref_ns: Array, t_cap_ns: Array, src: Array, dst: Array, hops: Array | None = None) -> Array:
    """Which capture point each packet passed first: 1 the reference, -1 the capture, 0 not known.

    Routers decrease the time to live, which decides. Otherwise, of the two directions between two hosts, the one whose
    timestamps differ more passes the reference first: its delay is added to the offset, that of the other direction is
    subtracted. The side of a host found in this way applies to its packets to other hosts too.

    Parameters
    ----------
    src, dst : arrays
        Hosts as numbers.
    hops : array
        Time to live at the reference minus that at the capture.
    """
    out = np.zeros(len(src), np.int8)
    if hops is not None:
        out = np.sign(hops).astype(np.int8)
    d = t_cap_ns - t_ref_ns
    low, high = np.minimum(src, dst), np.maximum(src, dst)
    up = src <= dst
    # Pairs of hosts in the order of their numbers: a sort of few ranks takes a fifth of the time of one of all hosts.
    (_, lower), (highs, higher) = numbered_rising(low), numbered_rising(high)
    group = numbered_rising(lower * len(highs) + higher)[1]
    order = ordered_by(group, t_ref_ns)
    changes = np.flatnonzero(np.diff(group[order])) + 1
    sides: dict[int, int] = {}
    for rows in np.split(order, changes):
        forward = up[rows]
        if forward.all() or not forward.any():
            continue
        one, other = rows[forward], rows[~forward]
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
