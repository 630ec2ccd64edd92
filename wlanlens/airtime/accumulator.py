"""Adds up what the air was used for: frames and exchanges in one pass and bounded memory.

Every frame's airtime has exactly one purpose. Where its exchange is known, a transmission that failed is a retry and
the one that arrived counts for what the frame is; where it is not known, the Retry bit decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.airtime.pending import COLUMNS, Pending
from wlanlens.airtime.purposes import CODE
from wlanlens.airtime.rows import connection, connections, nanoseconds, read_frames, transmissions
from wlanlens.airtime.slices import Slices
from wlanlens.airtime.stations import Stations
from wlanlens.airtime.summary import Summary
from wlanlens.airtime.tcp import EarlierCopies
from wlanlens.tables import PURPOSES
from wlanlens.tables.columns import Array, coded, integers, known

if TYPE_CHECKING:
    import pyarrow as pa

#: Frames that wait for their exchange, 60 bytes each: ten seconds of a saturated channel.
PENDING = 256 * 1024
#: Connections whose airtime is summed, and those in the summary.
FLOWS, FLOWS_LISTED = 65_536, 50
#: Channels told apart: more than exist below 7 GHz.
CHANNELS = 256


class Air:
    """Adds up one capture, batch by batch."""

    def __init__(self) -> None:
        self._sums = Summary()
        self._stations, self._slices, self._pending = Stations(), Slices(), Pending()
        self._copies = EarlierCopies()
        self._channels: dict[int, int] = {}
        self._flows: dict[int, list[int]] = {}

    def add(self, name: str, batch: pa.RecordBatch) -> None:
        """Add one batch of `frames` or `exchanges`; other tables are ignored."""
        if self._stations.crowded:
            self._pending.renumber(self._stations.prune())
        if name == "frames":
            self._add_frames(batch)
        elif name == "exchanges":
            self._add_exchanges(batch)

    def _add_frames(self, batch: pa.RecordBatch) -> None:
        rows = read_frames(batch)
        sums = self._sums
        sums.frames += batch.num_rows
        for name, which in (
            ("no_airtime", rows["airtime_ns"] < 0),
            ("damaged", rows["damaged"]),
            ("encrypted", rows["encrypted"]),
            ("data_frames", (rows["base"] == CODE["delivered"]) | (rows["base"] == CODE["group"])),
        ):
            setattr(sums, name, getattr(sums, name) + int(np.count_nonzero(which)))
        for row in batch.column("channel_mhz").value_counts().to_pylist():
            if row["values"] is not None and (row["values"] in self._channels or len(self._channels) < CHANNELS):
                self._channels[row["values"]] = self._channels.get(row["values"], 0) + row["counts"]
        rows["station"] = self._stations.count(batch, rows)
        waits = rows["waits"]
        self._settle({name: rows[name][~waits] for name in COLUMNS}, rows["base"][~waits])
        self._pending.add({name: rows[name][waits] for name in COLUMNS})
        if self._pending.rows > PENDING:
            self._settle(*self._pending.settle(PENDING // 2))

    def _add_exchanges(self, batch: pa.RecordBatch) -> None:
        packets, result, outcome = transmissions(batch)
        self._pending.answer(packets, result)
        self._stations.exchanges(batch)
        tcp = known(batch.column("flow"))
        lengths = integers(batch.column("packets").value_lengths())
        of_tcp = np.repeat(tcp, lengths)
        self._copies.remember(packets[of_tcp], outcome[of_tcp])
        self._add_flows(batch.filter(batch.column("flow").is_valid()))

    def _add_flows(self, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        keys, at = np.unique(connections(batch), return_inverse=True)
        columns = [
            np.maximum(nanoseconds(batch.column("airtime_us")), 0),
            np.maximum(nanoseconds(batch.column("wasted_us")), 0),
            np.ones(len(at), np.int64),
            integers(batch.column("attempts")),
            (coded(batch.column("outcome"), ("dropped",)) == 0).astype(np.int64),
        ]
        sums = np.stack([np.bincount(at, column, len(keys)).astype(np.int64) for column in columns], axis=1)
        for key, row in zip(keys.tolist(), sums.tolist(), strict=True):
            held = self._flows.get(key)
            if held is not None:
                self._flows[key] = [a + b for a, b in zip(held, row, strict=True)]
            elif len(self._flows) < FLOWS:
                self._flows[key] = row

    def _settle(self, rows: dict[str, Array], purpose: Array) -> None:
        self._stations.settle(rows["station"], purpose, rows["airtime_ns"])
        self._slices.add(rows["t_ns"], purpose, rows["airtime_ns"])

    def retransmissions(self, segments: pa.Table) -> None:
        """Count the TCP retransmissions in `segments` by the outcome of their earlier copy on the air.

        Pass each segment once, and all segments of a connection in the same table.
        """
        self._copies.count(segments)

    def linked_retransmissions(self, segments: pa.Table, links: pa.Table, points: Mapping[str, str]) -> None:
        """The same for several captures; `points`: the capture point of each capture with segments."""
        self._copies.count_linked(segments, links, points)

    def finish(self) -> None:
        """The capture has ended: the Retry bit decides about frames that still wait."""
        self._settle(*self._pending.settle(0))

    def summary(self, duration_ns: int) -> Summary:
        """The sums; call `finish` first."""
        ns, frames = self._stations.totals()
        flows = sorted(self._flows.items(), key=lambda item: (-item[1][0], item[0]))[:FLOWS_LISTED]
        sums = self._sums
        sums.stations, sums.duration_ns, sums.airtime_ns = self._stations.named, duration_ns, int(ns.sum())
        sums.purpose_ns = {name: int(ns[i]) for i, name in enumerate(PURPOSES) if frames[i]}
        sums.purpose_frames = {name: int(frames[i]) for i, name in enumerate(PURPOSES) if frames[i]}
        sums.channels_mhz = sorted(self._channels, key=lambda mhz: (-self._channels[mhz], mhz))
        sums.tcp = dict(self._copies.counts)
        sums.flows = [[*connection(key), *row] for key, row in flows]
        return sums

    def tables(self, capture: str) -> dict[str, pa.Table]:
        """The tables `airtime` and `stations`; call `finish` first."""
        return {"airtime": self._slices.table(capture), "stations": self._stations.table(capture)}


def of_tables(frames: pa.Table, exchanges: pa.Table, segments: pa.Table | None = None) -> Air:
    """The sums of tables in memory."""
    air = Air()
    for name, table in (("exchanges", exchanges), ("frames", frames)):
        for batch in table.to_batches(max_chunksize=PENDING // 4):
            air.add(name, batch)
    if segments is not None:
        air.retransmissions(segments)
    air.finish()
    return air
