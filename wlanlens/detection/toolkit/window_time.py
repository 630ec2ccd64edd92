"""Intervals in which a sender had filled the receiver's window: their stretches, and whether a link may have been busy."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.tables.columns import NULL, Array


def may_be_busy(facts: Facts, spans: Rows, segment: Array, access_ns: int, own_share: float, full_rtts: float) -> Array:
    """Whether a link may have been busy during all of an interval, so that a larger window would have been no faster.

    So it may in one without a round trip, in a flow without any: nothing shows how long the path is.
    """
    handshake, shortest = (facts.flow_values(name, spans.key) for name in ("handshake_rtt_ns", "tap_rtt_min_ns"))
    least = np.where(handshake > 0, np.where(shortest > 0, np.minimum(handshake, shortest), handshake), shortest)
    rtt, number = spans["rtt_ns"], spans["window_bytes"] // segment
    limited = spans["state"] == "window_limited"
    known = (rtt > 0) & (least > 0) & (spans["window_bytes"] != NULL)
    near = (least <= access_ns) & (rtt - least >= own_share * rtt) & (rtt <= (number + 1) * access_ns)
    queued = (number >= 2) & (rtt >= full_rtts * least)
    return np.asarray(
        limited & np.where(known, near | queued, (rtt <= 0) & ~(facts.flow_values("tap_rtt_mean_ns", spans.key) > 0))
    )


def has_no_room(facts: Facts, spans: Rows) -> Array:
    """Whether the window had no room for one more segment."""
    segment = facts.flow_values("segment_max_bytes", spans.key)
    known = (spans["window_bytes"] != NULL) & (segment > 0)
    return np.asarray(known & (spans["window_bytes"] - spans["flight_bytes"] < segment))


def long_stretches(facts: Facts, spans: Rows, counted: Array, stretch: float) -> Array:
    """Counted intervals in stretches of some round trips, or as long as their flow's longest; gaps of a round trip end none."""
    which = np.flatnonzero(counted)
    out = np.zeros(len(spans), bool)
    if not len(which):
        return out
    key, start, end = spans.key[which], spans["t_start_ns"][which], spans["t_end_ns"][which]
    rtt = _round_trips_ns(facts, spans, key)
    begins = np.ones(len(which), bool)
    begins[1:] = (key[1:] != key[:-1]) | (start[1:] - end[:-1] > rtt[1:])
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(which)) - 1
    length = end[last] - start[first]
    flow = np.cumsum(np.diff(key[first], prepend=key[:1]) != 0)
    longest = np.zeros(flow.max() + 1, np.int64)
    np.maximum.at(longest, flow, length)
    out[which] = np.repeat(length >= np.minimum(stretch * rtt[first], longest[flow]), last - first + 1)
    return out


def _round_trips_ns(facts: Facts, spans: Rows, key: Array) -> Array:
    """The mean round trip of each key: of its whole connection where that is known, else of these intervals."""
    known, place = np.unique(spans.key, return_inverse=True)
    measured = spans["rtt_ns"] != NULL
    total = np.bincount(place[measured], spans["rtt_ns"][measured], len(known))
    here = total / np.maximum(np.bincount(place[measured], minlength=len(known)), 1)
    whole = facts.flow_values("tap_rtt_mean_ns", key)
    return np.asarray(np.where(whole > 0, whole, here[np.searchsorted(known, key)]))


def mean_by_length(column: Array, weight: Array, which: Array) -> float | None:
    """Mean over intervals by their length; None where nothing is known."""
    which = which[(column[which] != NULL) & (weight[which] > 0)]
    return float(np.average(column[which].astype(np.float64), weights=weight[which])) if len(which) else None
