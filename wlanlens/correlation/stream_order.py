"""Which of the two captures at the ends of the path the packets of each direction of a connection pass first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.tables.columns import coded, integers

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.alignment.path_order import PathOrder
    from wlanlens.correlation.packet_index import PacketIndex

Array = np.ndarray[Any, Any]


class StreamOrder:
    """The order of the captures at the ends of the path, by direction of a connection.

    The packets that both captures have decide; where they have none, all being lost, those of the other direction; else those of
    other connections between the same two hosts. A capture that has no packet between them is not on their path.
    """

    def __init__(self, index: PacketIndex, paths: PathOrder) -> None:
        #: By stream (`PacketIndex.stream`): above 0 where the first of the ends comes first; 0: not known.
        self._forward: Array = np.zeros(2 * (int(index.stream.max(initial=-1)) // 2 + 2))
        self._ends = index.ends or (-1, -1)
        if index.ends is not None:
            one, other = index.ends
            compared = np.flatnonzero(index.seen[:, one] & index.seen[:, other] & (index.stream >= 0))
            sign = np.sign(index.t_ns[compared, other] - index.t_ns[compared, one])
            ahead = np.bincount(index.stream[compared], sign, minlength=len(self._forward))
            ahead = np.where(ahead != 0, ahead, -ahead[np.arange(len(ahead)) ^ 1])
            open_rows = np.flatnonzero((index.stream >= 0) & (ahead[index.stream] == 0))
            of_path = paths.upstream[:, one, other].astype(int) - paths.upstream[:, other, one]
            of_path *= paths.passes[:, one] & paths.passes[:, other]
            ahead[index.stream[open_rows]] = of_path[paths.path[open_rows]]
            self._forward = ahead

    def forward(self, stream: Array) -> Array:
        """1 where a stream passes the first of `PacketIndex.ends` first, -1 where the second, 0: not known, or no stream."""
        inside = (stream >= 0) & (stream < len(self._forward))
        return np.asarray(np.where(inside, np.sign(self._forward[np.where(inside, stream, 0)]), 0))

    def first(self, stream: Array) -> Array:
        """The end that each stream passes first, by its number in the trace; -1: not known."""
        forward = self.forward(stream)
        return np.asarray(np.select([forward > 0, forward < 0], [*self._ends], -1))

    def last(self, stream: Array) -> Array:
        """The end that each stream passes last."""
        forward = self.forward(stream)
        return np.asarray(np.select([forward > 0, forward < 0], [*self._ends[::-1]], -1))


def streams(table: pa.Table) -> Array:
    """The stream of each row of a table of facts: twice the connection, plus 1 for b2a."""
    back: Array = coded(table.column("direction"), ["b2a"]) == 0
    return 2 * integers(table.column("flow")) + back
