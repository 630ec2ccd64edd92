"""The section on the USB bus: what went over it in words, endpoint by endpoint, and its figure's columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import formatting
from wlanlens.capture.usb import bulk, outstanding, per_frame
from wlanlens.plots._palette import STATIONS
from wlanlens.report import encode
from wlanlens.report.grids import Column

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.usb import Transfers
    from wlanlens.trace import Trace

MOST_DRAWN = len(STATIONS) - 1
"""Endpoints in the figure: as many colours can be distinguished."""

MOST_ENDPOINTS = 40
"""Endpoints listed."""

FEW_ENDPOINTS = 8
"""Endpoints shown before the reader asks for all: the adapter's, most bytes first."""

MOST_ROWS = 200_000
"""Transfers that the analysis passes to the report (`downsampling.OTHER_ROWS`)."""

_WHO = ("bus", "device", "endpoint", "direction", "transfer")


@dataclass(frozen=True)
class BusView:
    """The figure of the bus."""

    names: list[str]
    packed: str
    """The columns, as `encode.columns` packs them."""

    def page(self, file: str | None) -> dict[str, Any]:
        """Data for the page's script besides the columns."""
        return {"file": file, "endpoints": self.names, "colours": [list(pair) for pair in STATIONS]}


def section(trace: Trace) -> dict[str, Any] | None:
    """The values of the template; None for a capture without USB transfers."""
    if not trace.has("urbs") or not trace.table("urbs").num_rows:
        return None
    table = trace.table("urbs")
    rows = _endpoints(table)
    total = sum(row["done_bytes_sum"] or 0 for row in rows)
    first = rows[0]
    part = "the first " if table.num_rows >= MOST_ROWS else ""
    sentence = (
        f"{formatting.page_size(total)} went over the USB bus in {part}{formatting.page_count(table.num_rows)} transfers of {len(rows)} endpoints; "
        f"{_name(first)} carried most, {formatting.page_size(first['done_bytes_sum'])}."
    )
    return {
        "sentence": sentence.replace(formatting.THIN, " "),
        "few": FEW_ENDPOINTS,
        "columns": _COLUMNS,
        "rows": [[column.cell(row) for column in _COLUMNS] for row in rows[:MOST_ENDPOINTS]],
        "left": max(0, len(rows) - MOST_ENDPOINTS),
    }


def bus_view(trace: Trace) -> BusView | None:
    """Read and pack the bulk transfers; None if there is nothing to draw."""
    if not trace.has("urbs"):
        return None
    found = [t for t in bulk(trace.table("urbs")) if len(t)]
    shown = sorted(found, key=lambda t: -int(t.size_bytes.sum()))[:MOST_DRAWN]
    columns: dict[str, np.ndarray[Any, np.dtype[np.int64]]] = {}
    for i, transfers in enumerate(shown):
        columns |= _columns(i, transfers)
    return BusView([str(t.endpoint).removeprefix("USB ") for t in shown], encode.columns(columns)) if shown else None


def _columns(i: int, transfers: Transfers) -> dict[str, np.ndarray[Any, np.dtype[np.int64]]]:
    frame, size = per_frame(transfers.t_complete_ns, transfers.size_bytes)
    t_ns, depth = outstanding(transfers)
    changes = np.diff(depth, prepend=-1) != 0
    return {f"ms_{i}": frame, f"bytes_{i}": size, f"t_{i}": t_ns[changes], f"depth_{i}": depth[changes]}


def _endpoints(table: pa.Table) -> list[dict[str, Any]]:
    """One row per endpoint, most bytes first."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = {name: table[name] for name in _WHO}
    plain = {n: c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for n, c in columns.items()}
    failed = pc.cast(pc.fill_null(pc.not_equal(table["status"], 0), False), pa.int64())
    values = {name: table[name] for name in ("done_bytes", "latency_ns", "queue_depth")}
    sums = [("done_bytes", "sum"), ("done_bytes", "max"), ("latency_ns", "mean"), ("queue_depth", "max")]
    sums += [("failed", "sum"), ("failed", "count")]
    grouped = pa.table({**plain, **values, "failed": failed}).group_by(list(_WHO), use_threads=False).aggregate(sums)
    rows: list[dict[str, Any]] = grouped.to_pylist()
    return sorted(
        rows, key=lambda r: (-(r["done_bytes_sum"] or 0), -r["failed_count"], *(str(r[name]) for name in _WHO))
    )


def _name(row: dict[str, Any]) -> str:
    return f"bus {row['bus']} device {row['device']} endpoint {row['endpoint']} {row['direction']}"


_COLUMNS = [
    Column("endpoint", "bus, device, endpoint and direction", lambda row: _name(dict(row))),
    Column(
        "type",
        "transfer type: control, interrupt, bulk or isochronous",
        lambda row: row["transfer"] or formatting.MISSING,
    ),
    Column("transfers", "number of USB request blocks (URBs)", lambda row: formatting.page_count(row["failed_count"])),
    Column("bytes", "bytes transferred", lambda row: formatting.page_size(row["done_bytes_sum"])),
    Column("largest", "bytes of the largest transfer", lambda row: formatting.page_size(row["done_bytes_max"])),
    Column(
        "latency",
        "mean time from submission to completion",
        lambda row: formatting.page_milliseconds(row["latency_ns_mean"]),
    ),
    Column(
        "queue depth",
        "maximum number of outstanding transfers",
        lambda row: formatting.page_count(row["queue_depth_max"]),
    ),
    Column("errors", "transfers with a status other than 0", lambda row: formatting.page_count(row["failed_sum"])),
]
