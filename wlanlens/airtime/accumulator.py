"""Adds up what the air was used for: frames and exchanges in one pass and bounded memory. The core does the counting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from wlanlens import _core
from wlanlens.airtime.rows import airtime_table, stations_table
from wlanlens.airtime.summary import Summary
from wlanlens.airtime.tcp import EarlierCopies
from wlanlens.tables import PURPOSES
from wlanlens.tables.columns import filled

if TYPE_CHECKING:
    import pyarrow as pa

#: Frames that wait for their exchange, 48 bytes each: ten seconds of a saturated channel.
PENDING = 256 * 1024
#: Stations told apart: a sniffer on a campus hears a thousand. Beyond, the stations with fewest frames share one row.
STATIONS = 2048
#: Connections in the summary.
FLOWS_LISTED = 50


class Air:
    """Adds up one capture, batch by batch."""

    def __init__(self) -> None:
        self._sums = _core.AirSums(pending=PENDING, stations=STATIONS)
        self._copies = EarlierCopies()

    def add(self, name: str, batch: pa.RecordBatch) -> None:
        """Add one batch of `frames` or `exchanges`; other tables are ignored."""
        if name == "frames":
            self._sums.frames(batch)
        elif name == "exchanges":
            of_tcp = self._sums.exchanges(batch)
            self._copies.remember(filled(of_tcp.column("packet")), filled(of_tcp.column("outcome")))

    @property
    def waiting(self) -> int:
        """Frames that wait for their exchange."""
        return self._sums.waiting()

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
        self._sums.finish()

    def summary(self, duration_ns: int) -> Summary:
        """The sums; call `finish` first."""
        ns, frames = self._sums.totals()
        channels = self._sums.channels()
        flows = sorted(self._sums.flows(), key=lambda row: (-row[2], row[:2]))[:FLOWS_LISTED]
        return Summary(
            **self._sums.counts(),
            duration_ns=duration_ns,
            airtime_ns=sum(ns),
            purpose_ns={name: ns[i] for i, name in enumerate(PURPOSES) if frames[i]},
            purpose_frames={name: frames[i] for i, name in enumerate(PURPOSES) if frames[i]},
            channels_mhz=sorted(channels, key=lambda mhz: (-channels[mhz], mhz)),
            tcp=dict(self._copies.counts),
            flows=[[flow, "b2a" if back else "a2b", *sums] for flow, back, *sums in flows],
        )

    def tables(self, capture: str) -> dict[str, pa.Table]:
        """The tables `airtime` and `stations`; call `finish` first."""
        return {
            "airtime": airtime_table(*self._sums.slices(), capture),
            "stations": stations_table(self._sums.stations(), capture),
        }


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
