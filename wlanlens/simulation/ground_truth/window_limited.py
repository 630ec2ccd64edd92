"""Time in which only the receiver's window limited the sender, and no link was full."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from wlanlens.detection.finding import MAY_BE_MISSED, Finding
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.ground_truth._columns import Array, among, numbers, packets
from wlanlens.simulation.ground_truth._findings import finding
from wlanlens.simulation.ground_truth._runs import Side, sides

CODES = ("window_limited",)

#: A smaller share of a flow's life, or less time, is the last window of a transfer: it need not be found.
_SHARE, _LEAST_NS = 0.05, 50_000_000
#: Nor need short transfers.
_LEAST_BYTES = 64 * 1024
#: Less of its time at either end is a burst apart from the event.
_EDGE = 0.2
#: Headers of IP and TCP without options. A line that is busy for this share of the time has no room for more: the event need not be found.
_HEADERS_BYTES, _FULL = 40, 0.9


def findings(facts: Truth) -> list[Finding]:
    """One finding for each flow: the time that the true ledger has as `receiver_window`, or as `delayed_ack` while the window
    was filled. The cost is that time.

    A window of one segment limits on the air, too: data and ACK never share a backoff, nor two segments an ACK. The ledger has that
    time as the air's, so it need not be found.
    """
    return [f for side in sides(facts, every=True) for f in _of_side(facts, side)]


def _of_side(facts: Truth, side: Side) -> list[Finding]:
    flow, back, limited, delayed, air, start, end = _ledger(facts)
    mine = (flow == side.flow) & (back == (side.direction == "b2a"))
    life = int((end - start)[mine].sum())
    own = mine & (limited | (delayed & side.window_filled(start)))
    tcp = facts.world.flows[side.flow].tcp
    alone = (
        mine & air if tcp is not None and tcp.receive_window_bytes < 2 * tcp.mss_bytes else np.zeros(len(mine), bool)
    )
    of_air = int((end - start)[alone].sum()) > int((end - start)[own].sum())
    at = np.flatnonzero(own | alone) if of_air else np.flatnonzero(own)
    if not len(at):
        return []
    spent = int((end - start)[at].sum())
    first, last = _main(side, start[at], end[at])
    found = finding(
        facts, side, "window_limited", first, last, spent / 1e9,
        "The receiver's window limited the sender.", {"limited_s": spent / 1e9},
    )  # fmt: skip
    lasting = spent - _held_ns(side, start[at], end[at])
    small = lasting < max(_LEAST_NS, _SHARE * life) or int(side.data["len_bytes"].sum()) < _LEAST_BYTES
    missable = small or of_air or _line_was_full(facts, side, first, last)
    return [replace(found, confidence=MAY_BE_MISSED) if missable else found]


def _held_ns(side: Side, start: Array, end: Array) -> int:
    """Time of more than two round trips without an ACK in the spans: the packets were held or lost, and would fill any window."""
    long = 2 * _round_trip_ns(side)
    total = 0
    for a, b in zip(start.tolist(), end.tolist(), strict=True):
        if b - a > long:
            first, last = np.searchsorted(side.ack_t_ns, (a, b), side="right")
            quiet = np.diff(np.concatenate(([a], side.ack_t_ns[first:last], [b])))
            total += int(quiet[quiet > long].sum())
    return total


def _line_was_full(facts: Truth, side: Side, first: int, last: int) -> bool:
    """Whether the slowest line was busy with the packets of all connections: the windows only share it out."""
    world = facts.world
    if world.cell is not None or not world.wires:
        return False
    slowest = min(world.wires, key=lambda wire: wire.rate_bps)
    p, ends = packets(facts), np.array([(flow.client, flow.server) for flow in world.flows])
    sender = ends[p["flow"], p["back"].astype(np.int64)]
    there = p["delivered"] & (sender == ends[side.flow, int(side.direction == "b2a")])
    there &= (p["t_end_ns"] > first) & (p["t_end_ns"] <= last)
    size = p["len_bytes"][there] + _HEADERS_BYTES + slowest.header_bytes
    return bool(8e9 * float(size.sum()) >= _FULL * slowest.rate_bps * (last - first))


def _round_trip_ns(side: Side) -> int:
    _, rtt = side.round_trips("t_made_ns")
    return int(np.median(rtt)) if len(rtt) else 0


def _main(side: Side, start: Array, end: Array) -> tuple[int, int]:
    """From the first episode to the last one, without those at either end that together hold less than a share of the time. A gap above
    a round trip ends an episode.

    It begins when the window was filled: the queue that was there before drains for a round trip or two.
    """
    round_trip = _round_trip_ns(side)
    begins = np.flatnonzero(np.append(True, start[1:] - end[:-1] > round_trip))
    ends = np.append(begins[1:], len(start)) - 1
    spent = np.cumsum(np.add.reduceat(end - start, begins))
    some, most = np.searchsorted(spent, (_EDGE * spent[-1], (1 - _EDGE) * spent[-1]))
    first, last = int(start[begins[some]]), int(end[ends[most]])
    earliest = first - 2 * round_trip
    filled = [int(e["t_ns"]) for e in side.events if e["what"] == "window_filled" and earliest <= e["t_ns"] <= first]
    return min(filled, default=first), last


@lru_cache(maxsize=1)
def _ledger(facts: Truth) -> tuple[Array, Array, Array, Array, Array, Array, Array]:
    """The true ledger: flow, whether from the server, whether `receiver_window`, `delayed_ack` or of the air, start and end."""
    ledger = facts.ledger
    back = among(ledger["direction"], "b2a")
    limited, delayed = (among(ledger["category"], name) for name in ("receiver_window", "delayed_ack"))
    air = among(ledger["category"], "air_useful", "air_retries", "air_others")
    start, end = (numbers(ledger[name]) for name in ("t_start_ns", "t_end_ns"))
    return numbers(ledger["flow"]), back, limited, delayed, air, start, end
