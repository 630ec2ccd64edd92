"""Where packets were lost: the column `loss_location` of `links`, from what became of them at the capture points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.correlation.observation import LOST_BEFORE, neighbours
from wlanlens.tables import LOSS_LOCATIONS
from wlanlens.tables.columns import coded, filled, known, spread

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.alignment.path_order import PathOrder
    from wlanlens.correlation.packet_index import PacketIndex

Array = np.ndarray[Any, Any]

_FAR = np.iinfo(np.int64).max


def loss_locations(
    points: Sequence[str], index: PacketIndex, paths: PathOrder, codes: Array, arrival: pa.Array, acked: pa.Array
) -> pa.DictionaryArray:
    """The column `loss_location`: between the last capture that has a packet and the next on its path.

    Parameters
    ----------
    points : sequence of str
        The point of each capture.
    codes : array
        [packet, capture]: what became of the packet there.
    arrival : array
        The column of `links`: a location is given for packets `not_seen`.
    acked : array
        Whether the MAC acknowledgment was heard; null: not known.
    """
    out = np.full(len(codes), -1, np.int8)
    words = coded(arrival, ("not_seen", "arrived"))
    rows, arrived = (np.flatnonzero(words == k) for k in (0, 1))
    out[rows] = LOSS_LOCATIONS.index("unknown")
    rank, path = paths.rank(), paths.path[rows]
    along = np.where(index.rows[rows] >= 0, rank[path], -1)
    last = along.argmax(axis=1)
    downstream = np.where(paths.upstream[path, last], rank[path], _FAR)
    then = downstream.argmin(axis=1)
    at = np.arange(len(rows))
    lost = np.flatnonzero((downstream[at, then] < _FAR) & (codes[rows, then] == LOST_BEFORE))
    rows, last, then = rows[lost], last[lost], then[lost]
    before = [f"before_{point}" for point in points]
    known_places = [place if place in LOSS_LOCATIONS else "on_path" for place in before]
    place = np.array([LOSS_LOCATIONS.index(name) for name in known_places], np.int8)[then]
    heard = np.array([point == "air" for point in points])[last]
    answered = np.where(known(acked), filled(acked, False), -1)
    on_air = np.where(answered[rows] == 1, LOSS_LOCATIONS.index("after_air"), LOSS_LOCATIONS.index("on_air"))
    on_air[~_acks_audible(paths, rows, arrived, answered)] = LOSS_LOCATIONS.index("unknown")
    out[rows] = np.where(heard, on_air, place)
    return spread(out, LOSS_LOCATIONS, out < 0)


def _acks_audible(paths: PathOrder, rows: Array, arrived: Array, answered: Array) -> Array:
    """Whether it is known if a packet was acknowledged on the air.

    No acknowledgment heard means none sent, where those of the neighbours that arrived were heard.
    """
    near, there = neighbours(paths.path, arrived, rows)
    unheard = (there & (answered[near] != 1)).any(axis=1)
    out: Array = (answered[rows] >= 0) | (there.any(axis=1) & ~unheard)
    return out
