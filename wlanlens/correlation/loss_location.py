"""Where packets were lost: the column `lost` of `links`, from their fates at the captures (fates.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.correlation.observation import LOST_BEFORE, neighbours
from wlanlens.tables import LOST
from wlanlens.tables.columns import coded, filled, known, spread

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.alignment.path_order import Ways
    from wlanlens.correlation.packet_index import Journeys

Array = np.ndarray[Any, Any]

_BEFORE = {"usb": "before_usb", "air": "before_air"}

_FAR = np.iinfo(np.int64).max


def places(
    points: Sequence[str], journeys: Journeys, ways: Ways, codes: Array, fate: pa.Array, acked: pa.Array
) -> pa.Array:
    """The column `lost`: of a packet that the last capture on its way has not, though it was capturing, the place between the
    last that has it and the next on its way, if it was lost before that.

    `codes` are its fates at each capture; `fate` is the column of `links`, `acked` says whether its MAC acknowledgment was
    heard, null for not known.
    """
    import pyarrow as pa

    out = np.full(len(codes), -1, np.int8)
    words = coded(pa.chunked_array([fate]), ("not_seen", "arrived"))
    rows, arrived = (np.flatnonzero(words == k) for k in (0, 1))
    out[rows] = LOST.index("unknown")
    rank, way = ways.rank(), ways.of[rows]
    along = np.where(journeys.rows[rows] >= 0, rank[way], -1)
    last = along.argmax(axis=1)
    behind = np.where(ways.before[way, last], rank[way], _FAR)
    then = behind.argmin(axis=1)
    at = np.arange(len(rows))
    lost = np.flatnonzero((behind[at, then] < _FAR) & (codes[rows, then] == LOST_BEFORE))
    rows, last, then = rows[lost], last[lost], then[lost]
    place = np.array([LOST.index(_BEFORE.get(point, "on_way")) for point in points], np.int8)[then]
    heard = np.array([point == "air" for point in points])[last]
    answered = np.where(known(pa.chunked_array([acked])), filled(pa.chunked_array([acked]), False), -1)
    told = np.where(answered[rows] == 1, LOST.index("after_air"), LOST.index("on_air"))
    told[~_answers_heard(ways, rows, arrived, answered)] = LOST.index("unknown")
    out[rows] = np.where(heard, told, place)
    return spread(out, LOST, out < 0)


def _answers_heard(ways: Ways, rows: Array, arrived: Array, answered: Array) -> Array:
    """Whether it is known that a packet was acknowledged on the air, or not: no acknowledgment heard is none sent where those
    of its neighbours that arrived were heard."""
    near, there = neighbours(ways.of, arrived, rows)
    unheard = (there & (answered[near] != 1)).any(axis=1)
    out: Array = (answered[rows] >= 0) | (there.any(axis=1) & ~unheard)
    return out
