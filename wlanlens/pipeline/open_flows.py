"""What is known so far of connections that continue after a window: detectors ask where their tap is before they end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import tables
from wlanlens.tables.columns import coded, integers

if TYPE_CHECKING:
    import pyarrow as pa

#: The table's name: rows of `flows` of connections that continue. It is never stored.
OPEN_FLOWS = "open_flows"

#: Packets of a connection from which on it has rows: a flood of short connections has none.
LEAST_PACKETS = 16

#: Columns of `flows` that mean the same before the end of a connection. Times of its end are not among them.
COLUMNS = (
    "capture", "flow", "direction", "ip_src", "ip_dst", "packets", "data_packets", "syn_packets", "sack_packets",
    "segment_max_bytes", "lost_before_tap", "tap", "sack_agreed", "handshake_rtt_ns", "tap_rtt_min_ns", "tap_rtt_mean_ns",
    "flight_max_bytes", "peer_window_max_bytes",
)  # fmt: skip


class OpenFlows:
    """The latest row of each direction of each running connection.

    Parameters
    ----------
    captures : sequence of str
        Names of the captures.
    """

    def __init__(self, captures: Sequence[str]) -> None:
        self._captures = tuple(captures)
        self._rows = tables.schema("flows").empty_table().select(COLUMNS)
        self._new: list[pa.RecordBatch] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Hold rows of `flows` of connections that continue."""
        self._new.append(batch.select(COLUMNS))

    def without(self, ended: pa.Table) -> pa.Table:
        """A row for each direction of each running connection. Those with a row in `ended` are removed for good."""
        import pyarrow as pa

        rows = pa.concat_tables([self._rows, pa.Table.from_batches(self._new, self._rows.schema)])
        keys = self._keys(rows)
        _, from_end = np.unique(keys[::-1], return_index=True)
        latest = np.sort(len(keys) - 1 - from_end)
        latest = latest[~np.isin(keys[latest], self._keys(ended))]
        self._rows, self._new = rows.take(pa.array(latest)).unify_dictionaries().combine_chunks(), []
        return self._rows

    def _keys(self, rows: pa.Table) -> np.ndarray[Any, np.dtype[np.int64]]:
        """A number for each direction of each connection of each capture."""
        capture = coded(rows.column("capture"), self._captures).astype(np.int64)
        backward = coded(rows.column("direction"), ("a2b", "b2a"))
        keys: np.ndarray[Any, np.dtype[np.int64]] = (capture << 34) + (integers(rows.column("flow")) << 1) + backward
        return keys
