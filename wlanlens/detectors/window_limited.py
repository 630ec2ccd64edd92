from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.finding import Finding, Undecided
from wlanlens.detection.toolkit.acks import Acks
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.findings import costliest
from wlanlens.detection.toolkit.round_trips import min_data_rtt_ns
from wlanlens.detection.toolkit.rows import Rows, key_groups
from wlanlens.formatting import bit_rate, duration
from wlanlens.ledger.delivery_rate import best, paces, unresting
from wlanlens.registry import detector
from wlanlens.tables.columns import NULL, Array

if TYPE_CHECKING:
    from wlanlens.trace import Trace

#: States of a sender that has found a loss, or takes what came late for one.
LOSS = ("rto_wait", "backoff_wait", "loss_recovery", "fast_recovery")


@detector("window_limited", needs=("intervals", "segments", "flows"))
def window_limited(
    trace: Trace,
    *,
    min_share_percent: float = 5.0,
    min_time_ms: float = 50.0,
    full_path_factor: float = 2.0,
    full_pace_share: float = 0.8,
    min_stretch_rtts: float = 3.0,
) -> Iterator[Finding | Undecided]:
    """The receiver's window, not the network, set the pace.

    What it finds
    -------------
    Time in which a sender had filled the receiver's window and could send no more, and time in which the window was
    closed. The cost is that time: throughput is then no more than window / round-trip time.

    Why it happens
    --------------
    The receiving application reads slowly, its buffer is small, or window scaling was not agreed, so that 64 KiB must
    do for a long path. A closed window is opened again by an ACK, or after probes (RFC 9293 section 3.8.6.1).

    How it decides
    --------------
    From the states `zero_window` and `window_limited` of `intervals`, and from `delayed_ack` where the window had no
    room for the second segment. Where the round-trip time under the window limit is more than `full_path_factor` times
    the least of data, and the path does not rest, the window fills the path and a queue in it: a larger window would
    only lengthen the queue, so that time is not counted. Twice the least is where the queue holds as much as the path.
    The path does not rest when ACKs come one after another, with no gap of half a round trip, however slow it has
    become; nor when data arrives at `full_pace_share` of the flow's best pace over two round trips. The best pace is
    that at which or above which a tenth of the data arrived: a burst of ACKs that had waited on the air is none.
    After a loss the congestion window, cut in half, may be just what fills the receiver's (a sender that its receiver
    limits has let it grow to twice that); until all that has been acknowledged it grows by no more than a segment (RFC
    5681 section 3.1), so that time is not counted either.
    `min_share_percent` and `min_time_ms`: less is a transfer's last window or an ordinary hesitation; 50 ms is the least
    delayed ACK with its round trip. `min_stretch_rtts`: nor does a stretch count that is shorter, or has fewer round
    trips than it takes to know the pace.

    What fools it
    -------------
    A queue that other flows fill looks like one of its own. A sender limited by its congestion window or its own buffer
    has a flight below the receiver's window and stays silent. When the handshake was not captured, the window's scale is
    not known and the case is left undecided.

    References
    ----------
    RFC 9293 section 3.8.6, RFC 7323 section 2 (window scaling), RFC 1122 section 4.2.2.17.
    """
    facts = Facts.of(trace)
    spans = facts.rows(
        "intervals",
        [
            "t_start_ns", "t_end_ns", "state", "first_packet", "last_packet", "acked_bytes", "flight_bytes",
            "window_bytes", "rtt_ns", "rtt_min_ns",
        ],
        where={"state": ("zero_window", "window_limited", "delayed_ack")},
    )  # fmt: skip
    spans = spans.take((spans["state"] != "delayed_ack") | _no_room(facts, spans))
    if len(spans):
        yield from _findings(
            facts,
            spans,
            min_share_percent / 100,
            int(min_time_ms * 1e6),
            full_path_factor,
            full_pace_share,
            min_stretch_rtts,
        )
    yield from _unknown(facts)


def _findings(
    facts: Facts, spans: Rows, min_share: float, min_time: int, factor: float, pace_share: float, stretch: float
) -> Iterator[Finding]:
    first, length = key_groups(spans.key)
    keys = spans.key[first]
    life = facts.lifetime_s(keys)
    least = min_data_rtt_ns(facts, spans.key)
    least = np.where(least != NULL, least, spans["rtt_min_ns"])
    span_ns = spans["t_end_ns"] - spans["t_start_ns"]
    closed = spans["state"] == "zero_window"
    known = (spans["rtt_ns"] != NULL) & (least != NULL)
    pace, most_pace = _pace(facts, spans)
    busy = unresting(pace, most_pace, span_ns, spans["rtt_ns"], pace_share)
    full = ~closed & known & (spans["rtt_ns"] > factor * least) & busy
    full |= _after_loss(facts, spans)
    full |= _brief(spans, full, stretch, min_time)
    counted = np.where(full, 0, span_ns)
    spent = np.add.reduceat(counted, first)
    wide = np.add.reduceat(span_ns - counted, first)
    which = np.flatnonzero((spent >= min_time) & (spent >= min_share * life * 1e9))
    listed, others = costliest(spent[which])
    for n in which[listed].tolist():
        part = np.arange(first[n], first[n] + length[n])
        yield _finding(facts, spans, keys[n], part[~full[part]], span_ns, closed, float(life[n]), int(wide[n]))
    which = which[others]
    yield from facts.remainder_finding(
        "window_limited",
        keys[which],
        spans["t_start_ns"][first[which]],
        spans["t_end_ns"][(first + length - 1)[which]],
        spent[which],
        evidence=("segments", spans["first_packet"][first[which]]),
        what="a limiting receiver's window",
    )


def _no_room(facts: Facts, spans: Rows) -> Array:
    """Whether the window forbade one more segment beside what was under way."""
    segment = facts.flow_values("segment_max_bytes", spans.key)
    known = (spans["window_bytes"] != NULL) & (segment > 0)
    return np.asarray(known & (spans["window_bytes"] - spans["flight_bytes"] < segment))


def _after_loss(facts: Facts, spans: Rows) -> Array:
    """Intervals in which the congestion window, cut by a loss, may be just what fills the receiver's.

    It is greater only when all that first filled that one has been acknowledged.
    """
    over = facts.rows("intervals", ["t_end_ns"], where={"state": LOSS}, keys=np.unique(spans.key)).sorted_by("t_end_ns")
    loss = over.last_until("t_end_ns", spans.key, spans["t_start_ns"]) if len(over) else np.full(len(spans), -1)
    mine = np.flatnonzero((loss >= 0) & (spans["state"] != "zero_window") & (spans["window_bytes"] != NULL))
    if not len(mine):
        return np.zeros(len(spans), bool)
    first, length = key_groups(loss[mine])
    begun = mine[first]
    acks = facts.cached(Acks)
    key = spans.key[begun]
    segment = np.maximum(facts.flow_values("segment_max_bytes", key), 1)
    filled = acks.highest_until(key, spans["t_start_ns"][begun]) + np.maximum(spans["window_bytes"][begun] - segment, 0)
    until = acks.t_ns(acks.first_covering(key, filled + 1))
    until = np.where(until == NULL, facts.last_packet_ns(key), until)
    out = np.zeros(len(spans), bool)
    out[mine] = spans["t_start_ns"][mine] < np.repeat(until, length)
    return out


def _brief(spans: Rows, full: Array, stretch: float, min_time: int) -> Array:
    """Intervals in stretches below a time or so many round trips; gaps of a round trip do not end one."""
    which = np.flatnonzero(~full)
    out = np.zeros(len(spans), bool)
    if not len(which):
        return out
    key, start, end = spans.key[which], spans["t_start_ns"][which], spans["t_end_ns"][which]
    rtt = np.maximum(spans["rtt_ns"][which], 0)
    usual = np.maximum(spans["rtt_min_ns"][which], 0)
    begins = np.ones(len(which), bool)
    begins[1:] = (key[1:] != key[:-1]) | (start[1:] - end[:-1] > np.maximum(rtt, usual)[1:])
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(which)) - 1
    length = end[last] - start[first]
    # One ACK that its receiver put off makes no other round trip long.
    mean = np.add.reduceat(np.maximum(rtt, usual), first) / (last - first + 1)
    least = np.maximum(stretch * mean, min_time)
    out[which] = np.repeat(length < least, last - first + 1)
    return out


def _pace(facts: Facts, spans: Rows) -> tuple[Array, Array]:
    """Bytes a ns that arrived up to the end of each interval, over a few round trips, and the best of its direction."""
    every = facts.rows(
        "intervals", ["t_start_ns", "t_end_ns", "acked_bytes", "rtt_ns"], keys=np.unique(spans.key)
    ).sorted_by("t_start_ns")
    first, _ = key_groups(every.key)
    rank = np.searchsorted(every.key[first], every.key)
    rtt = np.where(every["rtt_ns"] == NULL, -1, every["rtt_ns"])
    pace = paces(rank, every["t_start_ns"], every["t_end_ns"], every["acked_bytes"], rtt)
    of_flow = best(rank, pace, every["acked_bytes"])[np.searchsorted(every.key[first], spans.key)]
    return pace[np.maximum(every.last_until("t_start_ns", spans.key, spans["t_start_ns"]), 0)], of_flow


def _finding(
    facts: Facts, spans: Rows, key: int, mine: Array, span_ns: Array, closed: Array, life_s: float, full_ns: int
) -> Finding:
    limited = mine[~closed[mine]]
    closed_s = int(span_ns[mine[closed[mine]]].sum()) / 1e9
    limited_s = int(span_ns[limited].sum()) / 1e9
    # At an interval's end the window may have just been closed: it was never less than what the sender had put into it.
    window = _mean(np.maximum(spans["window_bytes"], spans["flight_bytes"]), span_ns, limited)
    rtt = _mean(spans["rtt_ns"], span_ns, limited)
    measured = float(spans["acked_bytes"][limited].sum()) * 8 / limited_s if limited_s else 0.0
    values: dict[str, float | int | str] = {
        "window_limited_s": limited_s,
        "zero_window_s": closed_s,
        "share_percent": 100 * (limited_s + closed_s) / life_s if life_s else 0.0,
        "full_path_s": full_ns / 1e9,
        "intervals_count": len(mine),
    }
    said = []
    if closed_s > 0:
        said.append(f"for {duration(closed_s)} its window was closed")
    if limited_s > 0:
        text = f"for {duration(limited_s)} the sender had filled it"
        if window and rtt:
            limit = window * 8 / (rtt / 1e9)
            values |= {"window_bytes": int(window), "rtt_ms": rtt / 1e6, "window_per_rtt_bps": limit}
            text += f" ({int(window)} bytes in {duration(rtt / 1e9)}: no more than {bit_rate(limit)})"
        if measured > 0:
            values["throughput_bps"] = measured
        said.append(text)
    return facts.finding(
        "window_limited",
        key,
        int(spans["t_start_ns"][mine].min()),
        int(spans["t_end_ns"][mine].max()),
        cost_s=limited_s + closed_s,
        lifetime_s=life_s,
        confidence=0.9,
        values=values,
        evidence={
            "segments": [
                p for pair in zip(spans["first_packet"][mine], spans["last_packet"][mine], strict=True) for p in pair
            ]
        },
        sentence=f"{facts.subject(key)}: the receiver's window held the flow back: {' and '.join(said)}.",
    )


def _mean(column: Array, weight: Array, which: Array) -> float | None:
    """Mean over intervals by their length; None where nothing is known."""
    which = which[(column[which] != NULL) & (weight[which] > 0)]
    return float(np.average(column[which].astype(np.float64), weights=weight[which])) if len(which) else None


def _unknown(facts: Facts) -> Iterator[Undecided]:
    """Data directions whose receiver's window is never known although it acknowledged data."""
    keys = facts.complete_data_keys(min_bytes=64 * 1024)
    window, acks = facts.flow_values("peer_window_max_bytes", keys), facts.flow_values("packets", keys ^ 1)
    unscaled = keys[(acks > 0) & (window == 0)]
    yield from facts.undecided_without_acks("window_limited")
    if len(unscaled):
        yield facts.undecided(
            "window_limited",
            unscaled,
            "The handshake was not captured, so the scale of the receiver's window is not known.",
        )
