"""The sums of the core as rows of the tables `airtime` and `stations`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import tables
from wlanlens.airtime.purposes import CODE, GROUPS
from wlanlens.airtime.tcp import OUTCOMES
from wlanlens.tables import PURPOSES

if TYPE_CHECKING:
    import pyarrow as pa

#: Rates listed per station.
RATES_LISTED = 16
#: Roles of the rows that are no station.
_ROLES = {0: "unnamed", 1: "rest"}
_COUNTS = ("frames", "bytes", "data_frames", "retry_frames", "no_airtime_frames", "exchanges", "attempts")


def airtime_table(width_ns: int, cells: list[tuple[int, int, int, int]], capture: str) -> pa.Table:
    """The table `airtime`: a row per slice and purpose with airtime or with frames that start in it."""
    import pyarrow as pa

    at, purpose, frames, ns = np.array(cells, np.int64).reshape(-1, 4).T
    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(at), np.int32)), pa.array([capture]))
    columns = [
        names,
        pa.array(at * width_ns),
        pa.array((at + 1) * width_ns),
        pa.DictionaryArray.from_arrays(pa.array(purpose.astype(np.int8)), pa.array(PURPOSES)),
        pa.array(frames.astype(np.uint64)),
        pa.array(np.ascontiguousarray(ns)),
    ]
    return pa.Table.from_arrays(columns, schema=tables.schema("airtime"))


def stations_table(stations: list[dict[str, Any]], capture: str) -> pa.Table:
    """The table `stations`, most airtime first."""
    import pyarrow as pa

    busiest = sorted(stations, key=lambda s: (-sum(s["ns"]), -s["frames"], s["number"]))
    return pa.Table.from_pylist([_row(s, capture) for s in busiest], schema=tables.schema("stations"))


def _row(station: dict[str, Any], capture: str) -> dict[str, Any]:
    signals, ns = station["signals"], station["ns"]
    seen = np.cumsum([frames for _, frames in signals])
    rates = sorted(station["rates"], key=lambda item: (-item[1], -item[0]))[:RATES_LISTED]
    own = station["address"] if station["is_ap"] else None
    return {
        "capture": capture,
        "station": station["address"],
        "role": _ROLES.get(station["number"], "access_point" if station["is_ap"] else "station"),
        "bssid": own or station["bssid"],
        **{name: station[name] for name in _COUNTS},
        **dict(zip(OUTCOMES, station["outcomes"], strict=True)),
        "signal_median_dbm": signals[int(np.searchsorted(seen, (seen[-1] + 1) // 2))][0] if signals else None,
        "signal_least_dbm": signals[0][0] if signals else None,
        "signal_most_dbm": signals[-1][0] if signals else None,
        "rates_mbps": [rate for rate, _ in rates],
        "rate_frames": [frames for _, frames in rates],
        "airtime_ns": sum(ns),
        **{f"{group}_ns": sum(ns[CODE[name]] for name in names) for group, names in GROUPS.items()},
    }
