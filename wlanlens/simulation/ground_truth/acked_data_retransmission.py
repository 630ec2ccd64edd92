"""Retransmissions that passed the sender's tap after the ACK that covers them."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.finding import Finding
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.ground_truth._columns import Array
from wlanlens.simulation.ground_truth._findings import finding
from wlanlens.simulation.ground_truth._runs import Side, sides

CODES = ("acked_data_retransmission",)

#: Retransmissions closer together are one case.
_JOIN_NS = 200_000_000


def findings(facts: Truth) -> list[Finding]:
    """One finding for each series of them, from the first to the last at the tap; the cost is their time on the path."""
    found = []
    for side in sides(facts, every=True):
        late = _late(side)
        if not len(late):
            continue
        t = side.data["t_tap_ns"][late]
        for part in np.split(late, np.flatnonzero(np.diff(t) > _JOIN_NS) + 1):
            found.append(_case(facts, side, part))
    return found


def _late(side: Side) -> Array:
    """Positions of these retransmissions, in the order at the tap."""
    d = side.data
    again = np.flatnonzero(side.again & (d["len_bytes"] > 0) & (d["t_tap_ns"] >= 0))
    came, tap = side.reached_all_ns(d["end"][again]), d["t_tap_ns"][again]
    late = again[(came >= 0) & (came < tap)]
    return late[np.argsort(d["t_tap_ns"][late], kind="stable")]


def _case(facts: Truth, side: Side, part: Array) -> Finding:
    d = side.data
    size = int(d["len_bytes"][part].sum())
    _, rtt = side.round_trips()
    flight = _greatest_flight(side)
    cost_s = size * float(rtt.mean()) / 1e9 / flight if len(rtt) and flight else 0.0
    t = d["t_tap_ns"][part]
    return finding(
        facts, side, "acked_data_retransmission", int(t[0]), int(t[-1]), cost_s,
        "Retransmissions waited in the device's queue when the ACK arrived.", {"retransmissions_count": len(part)},
    )  # fmt: skip


def _greatest_flight(side: Side) -> int:
    """Largest number of bytes outstanding at the tap."""
    d = side.data
    left = d["t_tap_ns"] >= 0
    order = np.argsort(d["t_tap_ns"][left], kind="stable")
    t, end = d["t_tap_ns"][left][order], np.maximum.accumulate(d["end"][left][order])
    at = np.searchsorted(side.ack_t_ns, t, side="right") - 1
    acked = np.where(at >= 0, side.acked[np.maximum(at, 0)], 0) if len(side.acked) else np.zeros(len(t), np.int64)
    return int((end - acked).max()) if len(t) else 0
