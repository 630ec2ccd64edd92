"""The ways that packets take, and in which order captures lie on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.tables.columns import numbered

if TYPE_CHECKING:
    from wlanlens.capture.capture import Capture
    from wlanlens.correlation.packet_index import Journeys

Array = np.ndarray[Any, Any]

#: In which order data can pass the points: from a station, and to one.
_ORDERS = (("sender", "usb", "air", "ap", "receiver"), ("sender", "ap", "air", "usb", "receiver"))


class Ways:
    """The ways that packets take, by source and destination, and in which order the captures lie on each.

    Attributes
    ----------
    of : int64 array
        The way of each journey.
    before : bool array
        [way, i, j]: packets pass capture i before capture j. Two sniffers hear the same frame: neither is before.
    """

    def __init__(self, captures: Sequence[Capture], journeys: Journeys) -> None:
        hosts = _hosts(journeys)
        most = int(hosts.max(initial=0)) + 2
        ways, self.of = numbered((hosts[0] + 1) * most + hosts[1] + 1)
        place = {int(way): k for k, way in enumerate(ways)}
        back = np.array([place.get(int(way % most * most + way // most), -1) for way in ways], np.int64)
        count = len(captures)
        apart = np.zeros((len(ways), count, count))
        for i in range(count):
            for j in range(i):
                both = np.flatnonzero(journeys.seen[:, i] & journeys.seen[:, j])
                later = (journeys.t_ns[both, j] - journeys.t_ns[both, i]).astype(float)
                apart[:, i, j] = np.bincount(self.of[both], later, minlength=len(ways))
                apart[:, j, i] = -apart[:, i, j]
        # The way back passes the captures in the other order.
        apart -= np.where((back >= 0)[:, None, None], apart[back], 0.0)
        self.before: Array = _before([capture.point for capture in captures], apart)

    def rank(self) -> Array:
        """[way, capture]: how many captures lie before it."""
        place: Array = self.before.sum(axis=1)
        return place


def _before(points: Sequence[str], apart: Array) -> Array:
    """[way, i, j]: packets pass i before j. Of the orders in which points can lie that which agrees best with the time
    between them: two points so near to each other that their clocks leave open which is first do not decide it. `apart` is
    that time, summed over the packets of each way."""
    places = []
    for order in _ORDERS:
        place = np.array([order.index(v) if v in order else -1 for v in points])
        known = (place >= 0)[:, None] & (place >= 0)
        places += [known & (place[:, None] < place), known & (place[:, None] > place)]
    candidates = np.array(places)
    best = candidates[np.einsum("wij,oij->wo", apart, candidates).argmax(axis=1)]
    unplaced = ~np.isin(points, _ORDERS[0])
    odd = unplaced[:, None] | unplaced
    told = (apart != 0).any(axis=(1, 2))
    before: Array = np.where(odd, apart > 0, best & told[:, None, None])
    return before


def _hosts(journeys: Journeys) -> Array:
    """[2, journey]: source and destination as numbers from 0, -1 where it is not known."""
    import pyarrow as pa

    ends = ("ip_src", "ip_dst")
    words = [table.column(name).combine_chunks().dictionary for table in journeys.packets for name in ends]
    names = pa.chunked_array([part.cast(pa.string()) for part in words], pa.string()).unique().to_pylist()
    return np.stack([journeys.word(name, names) for name in ends])
