"""Airtime of beacons, and of control frames beyond what the highest rate of the PHY needs."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.finding import Finding
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.ground_truth._columns import among, numbers

CODES = ("airtime_overhead",)

#: A fifth of the time, of a second or more. The simulated PHY is HR/DSSS: 11 Mb/s is its highest mandatory rate.
_SHARE, _LEAST_NS, _HIGHEST_MBPS = 0.2, 1_000_000_000, 11.0
_PREAMBLE_NS = 192_000


def findings(facts: Truth) -> list[Finding]:
    """One finding for the channel, from the first frame to the last; the cost is that airtime."""
    f = facts.frames
    if not f.num_rows:
        return []
    start, end = numbers(f["t_start_ns"]), numbers(f["t_end_ns"])
    rate = f["rate_mbps"].to_numpy()
    # Beacons are the only data frames without a receiver and without a packet.
    beacon = among(f["kind"], "data") & np.asarray(f["to"].is_null()) & np.asarray(f["packet"].is_null())
    control = ~among(f["kind"], "data")
    bits_ns = np.maximum(end - start - _PREAMBLE_NS, 0)
    overhead = np.where(beacon, end - start, np.where(control, bits_ns * (1 - rate / _HIGHEST_MBPS), 0.0))
    first, last = int(start.min()), int(end.max())
    cost_ns = float(overhead.sum())
    if last - first < _LEAST_NS or cost_ns < _SHARE * (last - first):
        return []
    values: dict[str, float | int | str] = {"overhead_share": cost_ns / (last - first)}
    return [
        Finding(
            "airtime_overhead", first, last, "air.pcap", "", "serious", 1.0, cost_ns / 1e9, values,
            sentence="Beacons and low rates took the air.",
        )
    ]  # fmt: skip
