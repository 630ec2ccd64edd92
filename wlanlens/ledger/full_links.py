"""Time in which a link was full of a connection: windows limit nothing then, and do at other times."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from wlanlens.ledger.air import NEVER
from wlanlens.ledger.spans import Spans
from wlanlens.tables import CATEGORIES
from wlanlens.tables.columns import Array


class FullTimes(NamedTuple):
    """When a link was full of a connection, and when it may have been."""

    sure: Spans
    possible: Spans


class Full(Protocol):
    """Tells when a link was full of a connection."""

    def full(self, flow: int, back: int) -> FullTimes | None:
        """Of one direction of a connection; None if its packets show nothing."""
        ...


def answered_within(spans: Spans, begin: Array, arrival: Array, made: Array, back: Array) -> tuple[Array, Array]:
    """Whether an answer to the first data of each span was back within it, and when that data arrived; `NEVER` for none.

    Data is in a span since `begin` and arrives at `arrival`; ACKs are `made` and then `back` at its sender.
    """
    first = np.full(len(spans.start), NEVER)
    np.minimum.at(first, np.searchsorted(spans.start, begin, side="right") - 1, arrival)
    order = np.argsort(made, kind="stable")
    # Of the answers made after that, the first that was back.
    earliest = np.append(np.minimum.accumulate(back[order][::-1])[::-1], NEVER)
    return earliest[np.searchsorted(made[order], first)] <= spans.end, first


def cut_where_full(
    link: Full,
    flow: Array,
    back: Array,
    start: Array,
    end: Array,
    category: Array,
    limited: Array,
    limits: Array | None = None,
) -> tuple[Array, Array, Array, Array]:
    """The rows, cut where a link was full: row, start, end and category of each part.

    There those that a window or a delayed ACK limits, `limited`, are `path`. Where it cannot have been, those in which only a full path hid what
    limits the sender, `limits` (an index into `CATEGORIES`, -1 for nothing), are that.
    """
    limits = np.full(len(flow), -1) if limits is None else limits
    some = limited | (limits >= 0)
    parts = [(np.flatnonzero(~some), start[~some], end[~some], category[~some])]
    for one in np.unique(np.stack((flow[some], back[some])).astype(np.int64), axis=1).T:
        mine = np.flatnonzero(some & (flow == one[0]) & (back == one[1]))
        full = link.full(int(one[0]), int(one[1]))
        if full is None:
            parts.append((mine, start[mine], end[mine], category[mine]))
            continue
        edges = [times for spans in full for times in (spans.start, spans.end)]
        bounds = np.unique(np.concatenate((start[mine], end[mine], *edges)))
        low, high = bounds[:-1], bounds[1:]
        at = np.searchsorted(start[mine], low, side="right") - 1
        inside = (at >= 0) & (low < end[mine][at])
        low, high, row = low[inside], high[inside], mine[at[inside]]
        code = np.where((limits[row] >= 0) & ~full.possible.holds(low), limits[row], category[row])
        code = np.where(limited[row] & full.sure.holds(low), CATEGORIES.index("path"), code)
        parts.append((row, low, high, code.astype(category.dtype)))
    row, a, b, code = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((b, a, row))
    return row[order], a[order], b[order], code[order]
