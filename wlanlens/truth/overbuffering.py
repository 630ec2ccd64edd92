"""A flow's own data in a queue that lengthens its round trip by more than a fifth of a second."""

from __future__ import annotations

import numpy as np

from wlanlens.finding import Finding
from wlanlens.truth import Truth
from wlanlens.truth._findings import finding
from wlanlens.truth._runs import Array, Side, sides

CODES = ("overbuffering",)

#: The least timeout in use: a flow that begins behind such a queue times out needlessly.
_LEAST_NS = 200_000_000
#: Of a flow's life, so that one burst does not count.
_SHARE = 0.10
#: The delay must be the flow's own: it follows the bytes outstanding.
_OWN = 0.5
#: What a receiver puts its ACKs off by, and more.
_DELAYED_ACK_NS = 60_000_000


def findings(facts: Truth) -> list[Finding]:
    """One a flow, from the first such round trip's ACK to the last; the cost is the share of each that was queueing."""
    return [f for side in sides(facts, every=True) for f in _of_side(facts, side)]


def _of_side(facts: Truth, side: Side) -> list[Finding]:
    came, rtt = _round_trips(side)
    if len(rtt) < 8 or int(side.data["len_bytes"].sum()) < 64 * 1024:
        return []
    order = np.argsort(came, kind="stable")
    came, rtt = came[order], rtt[order]
    least = int(rtt.min())
    lasts = np.minimum(np.diff(came, append=came[-1:]), _LEAST_NS)
    queued = rtt - least >= _LEAST_NS
    life = facts.end_ns - int(side.data["t_made_ns"][0])
    spent = int(lasts[queued].sum())
    if not queued.any() or spent < _SHARE * life or _correlation(side, came, rtt) < _OWN:
        return []
    cost_s = float((lasts[queued] * (rtt[queued] - least) / rtt[queued]).sum()) / 1e9
    start, end = int(came[queued][0]), int(came[queued][-1])
    return [
        finding(
            facts, side, "overbuffering", start, end, cost_s,
            "Its own data stood in a queue.", {"queueing_max_ms": float((rtt - least).max()) / 1e6},
        )
    ]  # fmt: skip


def _round_trips(side: Side) -> tuple[Array, Array]:
    """When ACKs came whose newest segment had arrived just before, and how long after that had passed the tap.

    An ACK that waited for a hole to be filled tells of the loss, not of a queue.
    """
    d = side.data
    there = d["delivered"] & (d["t_tap_ns"] >= 0) & (d["rel_seq"] > 0) & np.isin(d["end"], side.acked)
    came = side.reached_all_ns(d["end"][there])
    rtt, back = came - d["t_tap_ns"][there], came - d["t_end_ns"][there]
    told = (came >= 0) & (back >= 0)
    told[told] &= back[told] <= back[told].min() + _DELAYED_ACK_NS if told.any() else False
    return came[told], rtt[told]


def _correlation(side: Side, came: Array, rtt: Array) -> float:
    """Pearson's r of round trips and of the bytes outstanding when they ended."""
    d = side.data
    left = d["t_tap_ns"] >= 0
    order = np.argsort(d["t_tap_ns"][left], kind="stable")
    t, end = d["t_tap_ns"][left][order], np.maximum.accumulate(d["end"][left][order])
    sent = end[np.maximum(np.searchsorted(t, came) - 1, 0)]
    acked = side.acked[np.maximum(np.searchsorted(side.ack_t_ns, came) - 1, 0)]
    flight = (sent - acked).astype(np.float64)
    if flight.std() == 0 or rtt.std() == 0:
        return 0.0
    return float(np.corrcoef(rtt.astype(np.float64), flight)[0, 1])
