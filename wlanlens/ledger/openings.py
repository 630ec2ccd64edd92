"""When connections began, from several captures: the first packet of one passes a host's capture before it passes the other's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wlanlens.ledger.air import NEVER, NONE, numbers_of
from wlanlens.tables import CATEGORIES, POINTS
from wlanlens.tables.columns import Array

if TYPE_CHECKING:
    import pyarrow as pa

HANDSHAKE, RTO_WAIT, RTO_BACKOFF = (CATEGORIES.index(name) for name in ("handshake", "rto_wait", "rto_backoff"))

#: A timer of each end may have expired, and the rest be the handshake.
_STEPS = 3


def from_first_packet(
    links: pa.Table, flow: Array, back: Array, start: Array, end: Array, category: Array
) -> tuple[Array, Array, Array, Array]:
    """Intervals with the time since the first packet of their connection passed any capture; of each the row it comes from, start, end, category.

    An end that no packet has reached waits for what the other waits for. A timer of its own that runs out later is not the first one.
    Rows are in order of direction and time, and so are the results.
    """
    rows = np.arange(len(flow))
    begins = np.concatenate(([True], (flow[1:] != flow[:-1]) | (back[1:] != back[:-1])))
    late = np.flatnonzero(begins & np.isin(category, (HANDSHAKE, RTO_WAIT)))
    if not len(late):
        return rows, start, end, category
    first = _first_seen(links, flow[late])
    late, first = late[first < start[late]], first[first < start[late]]
    if not len(late):
        return rows, start, end, category
    key = 2 * flow.astype(np.int64) + back
    order = np.lexsort((start, key))
    at = np.searchsorted(key[order], key[late] ^ 1)
    since, parts = first, []
    expired = np.zeros(len(late), bool)
    for step in range(_STEPS):
        other = order[np.minimum(at + step, len(order) - 1)]
        same = key[other] == (key[late] ^ 1)
        until = start[late] if step == _STEPS - 1 else np.where(same, np.clip(end[other], since, start[late]), since)
        code = np.where(same & np.isin(category[other], (RTO_WAIT, RTO_BACKOFF)), category[other], HANDSHAKE)
        some = since < until
        expired |= some & (code == RTO_WAIT) & (until < start[late])
        parts.append((late[some], since[some], until[some], code[some].astype(category.dtype)))
        since = until
    again = late[expired]
    category = category.copy()
    category[again[category[again] == RTO_WAIT]] = RTO_BACKOFF
    parts.append((rows, start, end, category))
    row, a, b, code = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((a, row))
    return row[order], a[order], b[order], code[order]


def _first_seen(links: pa.Table, flow: Array) -> Array:
    """When the first packet of each connection passed any capture, ns; `NEVER` for none."""
    number = numbers_of(links, "flow")
    first = np.full(max(int(number.max(initial=0)), int(flow.max(initial=0))) + 1, NEVER)
    for point in POINTS:
        t_ns = numbers_of(links, f"{point}_t_ns")
        seen = (number != NONE) & (t_ns != NONE)
        np.minimum.at(first, number[seen], t_ns[seen])
    return first[flow]
