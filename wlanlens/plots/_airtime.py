"""Airtime by purpose, ready to draw: over time and by station."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.airtime.purposes import GROUPS
from wlanlens.tables import PURPOSES
from wlanlens.tables.columns import coded, filled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wlanlens.trace import Trace

_GROUP_OF = {purpose: group for group, purposes in GROUPS.items() for purpose in purposes}


def shares_over_time(trace: Trace, most_columns: int) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
    """(start of each slice in seconds, percent of the slice by group of purposes); includes slices without frames.

    Adjacent slices are joined until there are at most `most_columns`. The last one ends with the trace; one shorter than
    half of the others is joined to the one before, because a single frame would fill it.
    """
    table = trace.table("airtime")
    start, end, ns = (filled(table[name]) for name in ("t_start_ns", "t_end_ns", "airtime_ns"))
    groups = list(GROUPS)
    # A directory from elsewhere may have times that no capture has.
    if not (len(start) and start.min() >= 0 and (end > start).all()):
        return np.zeros(0), {group: np.zeros(0) for group in groups}
    width = int(end[0] - start[0])
    step = -(-(int(end.max()) // width) // most_columns)
    count = -(-int(end.max()) // (width * step))
    group = np.array([groups.index(_GROUP_OF[purpose]) for purpose in PURPOSES])
    group = group[coded(table["purpose"], PURPOSES, PURPOSES.index("unknown"))]
    cell = start // (width * step) * len(groups) + group
    sums = np.bincount(cell, ns, count * len(groups)).reshape(count, len(groups))
    length = np.full(count, width * step, np.float64)
    # The capture may end inside the last slice, and a frame that starts there may last longer.
    length[-1] = max(1.0, min(length[-1], trace.duration_ns - (count - 1) * length[0]), float(sums[-1].sum()))
    if count > 1 and 2 * length[-1] < length[0]:
        sums[-2] += sums[-1]
        length[-2] += length[-1]
        count, sums, length = count - 1, sums[:-1], length[:-1]
    return np.arange(count, dtype=np.float64) * (width * step / 1e9), {
        g: 100 * sums[:, i] / length for i, g in enumerate(groups)
    }


def most_on_air(trace: Trace, count: int) -> list[dict[str, Any]]:
    """The stations with most airtime, each with a `name`: its network and address."""
    rows = trace.table("stations").sort_by([("airtime_ns", "descending"), ("frames", "descending")])
    named = names(trace)
    return [{**row, "name": station_name(row, named)} for row in rows.slice(0, count).to_pylist()]


def names(trace: Trace) -> dict[str, str]:
    """The network name of each BSS; of several names the one with most beacons."""
    if not trace.has("networks"):
        return {}
    rows = trace.table("networks").select(["bssid", "ssid", "beacons", "probe_responses"]).to_pylist()
    rows.sort(key=lambda row: row["beacons"] + row["probe_responses"])
    return {row["bssid"]: row["ssid"] for row in rows if row["ssid"] is not None}


def station_name(row: Mapping[str, Any], named: Mapping[str, str]) -> str:
    """The name of a row of `stations`."""
    if row["role"] == "unnamed":
        return "no transmitter address"
    if row["role"] == "rest":
        return "all others"
    network = named.get(row["bssid"] or "")
    if row["role"] == "access_point":
        return f"{row['station']} (access point of {network})" if network else f"{row['station']} (access point)"
    return str(row["station"])
