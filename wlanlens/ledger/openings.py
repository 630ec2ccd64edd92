"""When connections began, from several captures: the first packet of one passes a host's capture before it passes the other's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wlanlens.ledger.air import NEVER, NONE, numbers_of
from wlanlens.tables import CATEGORIES, POINTS
from wlanlens.tables.columns import Array

if TYPE_CHECKING:
    import pyarrow as pa

#: What a direction waits for while its connection opens: at the end that answers, from the time at which the SYN is sent.
OPENING = ("handshake", "rto_wait")


def from_first_packet(links: pa.Table, flow: Array, begins: Array, start: Array, category: Array) -> Array:
    """Starts of intervals, each direction's first one while its connection opens moved to when the first packet passed any capture.

    `begins`: which intervals are a direction's first one.
    """
    opening = np.flatnonzero(begins & np.isin(category, [CATEGORIES.index(name) for name in OPENING]))
    number = numbers_of(links, "flow")
    if not len(opening) or not len(number):
        return start
    seen = np.full(len(number), NEVER)
    for point in POINTS:
        t_ns = numbers_of(links, f"{point}_t_ns")
        np.minimum(seen, np.where(t_ns == NONE, NEVER, t_ns), out=seen)
    first = np.full(max(int(number.max()), int(flow.max())) + 1, NEVER)
    np.minimum.at(first, number[number != NONE], seen[number != NONE])
    out = start.copy()
    out[opening] = np.minimum(start[opening], first[flow[opening]])
    return out
