"""RTS frames without data behind them: attempts to send the next data frame of their transmitter (IEEE 802.11-2020 clause 10.3.2.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wlanlens.ledger.air import NEVER, numbers_of
from wlanlens.tables.columns import Array, coded, numbers_of_texts

if TYPE_CHECKING:
    import pyarrow as pa


def first_attempts(frames: pa.Table) -> Array:
    """The row of the first RTS that the transmitter of each data frame sent to its receiver since its data frame before; -1 for none.

    Frames of no transmitter, as ACKs and CTS are, count for nothing. Rows are in order of time.
    """
    out = np.full(frames.num_rows, -1, np.int64)
    kind = coded(frames.column("type"), ("data",)) == 0
    rts = coded(frames.column("subtype"), ("rts",)) == 0
    rows = np.flatnonzero(kind | rts)
    if not len(rows) or not rts.any():
        return out
    ta, ra = (numbers_of_texts(frames.column(name))[rows] for name in ("ta", "ra"))
    order = np.lexsort((numbers_of(frames, "t_ns")[rows], ta))
    rows, ta, ra = rows[order], ta[order], ra[order]
    data = kind[rows]
    place = np.arange(len(rows))
    # The first RTS at or after each place, and the data frame before it.
    ahead = np.minimum.accumulate(np.where(data, NEVER, place)[::-1])[::-1]
    before = np.append(-1, np.maximum.accumulate(np.where(data, place, -1))[:-1])
    first_of = np.maximum.accumulate(np.where(np.append(True, ta[1:] != ta[:-1]), place, 0))
    start = np.maximum(before + 1, first_of)
    first = np.minimum(ahead[start], len(rows) - 1)
    found = data & (ahead[start] < place) & (ra[first] == ra)
    out[rows[found]] = rows[first[found]]
    return out
