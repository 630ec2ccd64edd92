"""A flow's own data in a queue that lengthens its way by more than a fifth of a second."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.finding import Finding
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.ground_truth._columns import Array
from wlanlens.simulation.ground_truth._findings import finding
from wlanlens.simulation.ground_truth._runs import Side, sides

CODES = ("overbuffering",)

#: The least timeout in use: a flow that begins behind such a queue times out spuriously.
_LEAST_NS = 200_000_000
#: Of a flow's life, so that one burst does not count.
_SHARE = 0.10
#: The delay must be the flow's own: it follows the bytes that the sender let out.
_OWN = 0.5


def findings(facts: Truth) -> list[Finding]:
    """One a flow, from the ACK of the first data that stood so long to that of the last; the cost is the share of each
    round trip that was queueing, over the time that it lasted."""
    return [f for side in sides(facts, every=True) for f in _of_side(facts, side)]


def _of_side(facts: Truth, side: Side) -> list[Finding]:
    d = side.data
    took = (d["t_end_ns"] - d["t_tap_ns"])[d["delivered"] & (d["t_tap_ns"] >= 0)]
    if not len(took) or np.ptp(took) < _LEAST_NS:
        # None can have stood so long.
        return []
    came, rtt, under_way, ahead = _round_trips(side)
    if len(rtt) < 8 or int(side.data["len_bytes"].sum()) < 64 * 1024:
        return []
    delay = under_way - under_way.min()
    # A packet stood at most for as long as it was under way, and tells of the time since the one before.
    stood = np.minimum(np.diff(came, prepend=came[0] - rtt[0]), rtt)
    queued = delay >= _LEAST_NS
    heard = max(int(side.ack_t_ns[-1]), int(side.data["t_tap_ns"].max()))
    life = heard - int(side.data["t_made_ns"][0])
    spent = int(stood[queued].sum())
    if not queued.any() or spent < _SHARE * life or _correlation(ahead, delay) < _OWN:
        return []
    cost_s = float((stood[queued] * delay[queued] / rtt[queued]).sum()) / 1e9
    start, end = int(came[queued][0]), int(came[queued][-1])
    return [
        finding(
            facts, side, "overbuffering", start, end, cost_s,
            "Its own data stood in a queue.", {"queueing_max_ms": float(delay.max()) / 1e6},
        )
    ]  # fmt: skip


def _round_trips(side: Side) -> tuple[Array, Array, Array, Array]:
    """Of the newest segment of each ACK: when that came, the round trip, how long the segment was under way to the
    receiver, and what the sender had outstanding when it passed the tap, itself included.

    Only segments sent once, after which the receiver lacked nothing: of others no ACK tells when they arrived.
    """
    d = side.data
    seen = np.unique(d["rel_seq"])
    mine = np.flatnonzero(side.once & d["delivered"] & (d["t_tap_ns"] >= 0) & (d["rel_seq"] > 0))
    # The sequence is whole up to a segment when nothing below its end came after it.
    arrived = np.full(len(seen), np.iinfo(np.int64).max)
    there = d["delivered"]
    np.minimum.at(arrived, np.searchsorted(seen, d["rel_seq"][there]), d["t_end_ns"][there])
    whole = np.maximum.accumulate(arrived)[np.searchsorted(seen, d["rel_seq"][mine])] <= d["t_end_ns"][mine]
    mine = mine[whole & np.isin(d["end"][mine], side.acked)]
    came = side.reached_all_ns(d["end"][mine])
    order = np.argsort(came, kind="stable")
    mine, came = mine[order], came[order]
    left, gone = d["t_tap_ns"][mine], d["t_end_ns"][mine]
    # What the sender had out, not what was on the way forth: of a steady stream that grows with any delay.
    heard = np.searchsorted(side.ack_t_ns, left, side="right")
    ahead = d["end"][mine] - np.concatenate(([1], side.acked))[heard]
    return came, came - left, gone - left, ahead


def _correlation(ahead: Array, delay: Array) -> float:
    """Pearson's r."""
    if ahead.std() == 0 or delay.std() == 0:
        return 0.0
    return float(np.corrcoef(ahead.astype(np.float64), delay.astype(np.float64))[0, 1])
