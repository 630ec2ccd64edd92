"""Queueing delay above 200 ms caused by the flow's own data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from wlanlens.detection.finding import MAY_BE_MISSED, Finding
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.ground_truth._columns import Array
from wlanlens.simulation.ground_truth._findings import finding
from wlanlens.simulation.ground_truth._runs import Side, sides

CODES = ("overbuffering",)

#: The smallest timeout in use: a flow that starts behind such a queue has a spurious timeout.
_LEAST_NS = 200_000_000
#: Least share of a flow's life, so that one burst does not count.
_SHARE = 0.10
#: The delay must be caused by the flow itself: it correlates with the bytes in flight.
_OWN = 0.5


def findings(facts: Truth) -> list[Finding]:
    """One finding for each flow, from the ACK of the first data with such a delay to that of the last; the cost is the queueing
    share of each round trip, over the time that it lasted.

    A capture measures round trips: the transmissions of a segment itself, retries included, and the ACK's own path belong to
    them. So a flow with half of that delay, of that share and of that correlation, the queues of its ACKs included, need not be
    found, nor is it silent; nor is the time before and after in which a flow had half of that delay.
    """
    return [f for side in sides(facts, every=True) for f in _of_side(facts, side)]


def _of_side(facts: Truth, side: Side) -> list[Finding]:
    clear, half = _with_limits(facts, side, 1.0), _with_limits(facts, side, 0.5)
    around = [piece for whole in half for piece in _outside(whole, clear)] if clear else half
    return [*clear, *(replace(found, confidence=MAY_BE_MISSED) for found in around)]


def _outside(whole: Finding, clear: list[Finding]) -> Iterator[Finding]:
    """The times of an event before and after a clear one, whose cost is the clear one's."""
    first, last = clear[0].t_start_ns, clear[-1].t_end_ns
    for start, end in ((whole.t_start_ns, first), (last, whole.t_end_ns)):
        if start < end:
            yield replace(whole, t_start_ns=start, t_end_ns=end, cost_s=0.0, severity="info")


def _with_limits(facts: Truth, side: Side, share: float) -> list[Finding]:
    """The finding where delay, share of the life and correlation reach this share of their limits."""
    least_ns = int(share * _LEAST_NS)
    came, rtt, delay, ahead = _round_trips(side)
    if share < 1:
        delay = delay + _acks_waited(side, came)
    if len(rtt) < 8 or int(side.data["len_bytes"].sum()) < 64 * 1024:
        return []
    # A packet waited at most for its time in flight, and covers the time since the packet before.
    stood = np.minimum(np.diff(came, prepend=came[0] - rtt[0]), rtt)
    queued = delay >= least_ns
    heard = max(int(side.ack_t_ns[-1]), int(side.data["t_tap_ns"].max()))
    life = heard - int(side.data["t_made_ns"][0])
    spent = int(stood[queued].sum())
    if not queued.any() or spent < share * _SHARE * life or _correlation(ahead, delay) < share * _OWN:
        return []
    cost_s = float((stood[queued] * (delay[queued] / rtt[queued])).sum()) / 1e9
    start, end = int(came[queued][0]), int(came[queued][-1])
    return [
        finding(
            facts, side, "overbuffering", start, end, cost_s,
            "Its own data waited in a queue.", {"queueing_max_ms": float(delay.max()) / 1e6},
        )
    ]  # fmt: skip


def _round_trips(side: Side) -> tuple[Array, Array, Array, Array]:
    """For the newest segment of each ACK: time of the ACK, round trip, time in queues on the path, and the bytes
    outstanding when it passed the tap, itself included.

    Only segments sent once, after which the receiver had no hole: for others no ACK shows when they arrived.
    """
    d = side.data
    seen = np.unique(d["rel_seq"])
    mine = np.flatnonzero(side.once & d["delivered"] & (d["t_tap_ns"] >= 0) & (d["rel_seq"] > 0))
    # There is no hole up to a segment if nothing below its end arrived after it.
    arrived = np.full(len(seen), np.iinfo(np.int64).max)
    there = d["delivered"]
    np.minimum.at(arrived, np.searchsorted(seen, d["rel_seq"][there]), d["t_end_ns"][there])
    whole = np.maximum.accumulate(arrived)[np.searchsorted(seen, d["rel_seq"][mine])] <= d["t_end_ns"][mine]
    mine = mine[whole & np.isin(d["end"][mine], side.acked)]
    came = side.reached_all_ns(d["end"][mine])
    order = np.argsort(came, kind="stable")
    mine, came = mine[order], came[order]
    left = d["t_tap_ns"][mine]
    # Bytes outstanding, not bytes in the forward path: the latter grow with any delay of a steady stream.
    heard = np.searchsorted(side.ack_t_ns, left, side="right")
    ahead = d["end"][mine] - np.concatenate(([1], side.acked))[heard]
    return came, came - left, _waited(side)[mine], ahead


def _waited(side: Side) -> Array:
    """Time in true queues after the tap: the host's own queue is before it."""
    d = side.data
    return np.asarray(np.maximum(d["queued_ns"] - (d["t_tap_ns"] - d["t_made_ns"]), 0))


def _acks_waited(side: Side, came: Array) -> Array:
    """Time in queues of the ACK that came at each time."""
    back = side.back
    got = np.flatnonzero(back["delivered"] & (back["rel_ack"] > 0))
    got = got[np.argsort(back["t_end_ns"][got], kind="stable")]
    return np.asarray(np.maximum(back["queued_ns"][got[np.searchsorted(back["t_end_ns"][got], came)]], 0))


def _correlation(ahead: Array, delay: Array) -> float:
    """Pearson's correlation coefficient."""
    if ahead.std() == 0 or delay.std() == 0:
        return 0.0
    return float(np.corrcoef(ahead.astype(np.float64), delay.astype(np.float64))[0, 1])
