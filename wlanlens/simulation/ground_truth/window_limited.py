"""Time in which only the receiver's window limited the sender, and no link was full."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from wlanlens.detection.finding import MAY_BE_MISSED, Finding
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.ground_truth._columns import Array, among, numbers
from wlanlens.simulation.ground_truth._findings import finding
from wlanlens.simulation.ground_truth._runs import Side, sides

CODES = ("window_limited",)

#: A smaller share of a flow's life, or less time, is the last window of a transfer: it need not be found.
_SHARE, _LEAST_NS = 0.05, 50_000_000
#: Nor need short transfers.
_LEAST_BYTES = 64 * 1024
#: Fewer round trips in a row are one burst: the event begins and ends with an episode of as many, if there is one.
_STRETCH = 3


def findings(facts: Truth) -> list[Finding]:
    """One finding for each flow: the time that the true ledger has as `receiver_window`, or as `delayed_ack` while the window
    was filled. The cost is that time."""
    return [f for side in sides(facts, every=True) for f in _of_side(facts, side)]


def _of_side(facts: Truth, side: Side) -> list[Finding]:
    flow, back, limited, delayed, start, end = _ledger(facts)
    mine = (flow == side.flow) & (back == (side.direction == "b2a"))
    life = int((end - start)[mine].sum())
    at = np.flatnonzero(mine & (limited | (delayed & side.window_filled(start))))
    if not len(at):
        return []
    spent = int((end - start)[at].sum())
    first, last = _main(side, start[at], end[at])
    found = finding(
        facts, side, "window_limited", first, last, spent / 1e9,
        "The receiver's window limited the sender.", {"limited_s": spent / 1e9},
    )  # fmt: skip
    small = spent < max(_LEAST_NS, _SHARE * life) or int(side.data["len_bytes"].sum()) < _LEAST_BYTES
    return [replace(found, confidence=MAY_BE_MISSED) if small else found]


def _main(side: Side, start: Array, end: Array) -> tuple[int, int]:
    """From the first episode of some round trips to the last one. A gap above a round trip ends an episode.

    It begins when the window was filled: the queue that was there before drains for a round trip or two.
    """
    _, rtt = side.round_trips("t_made_ns")
    round_trip = int(np.median(rtt)) if len(rtt) else 0
    begins = np.flatnonzero(np.append(True, start[1:] - end[:-1] > round_trip))
    ends = np.append(begins[1:], len(start)) - 1
    lasts = end[ends] - start[begins]
    long = np.flatnonzero(lasts >= min(lasts.max(), _STRETCH * round_trip))
    first, last = int(start[begins[long[0]]]), int(end[ends[long[-1]]])
    earliest = first - 2 * round_trip
    filled = [int(e["t_ns"]) for e in side.events if e["what"] == "window_filled" and earliest <= e["t_ns"] <= first]
    return min(filled, default=first), last


@lru_cache(maxsize=1)
def _ledger(facts: Truth) -> tuple[Array, Array, Array, Array, Array, Array]:
    """The true ledger: flow, whether from the server, whether `receiver_window` or `delayed_ack`, start and end."""
    ledger = facts.ledger
    back = among(ledger["direction"], "b2a")
    limited, delayed = (among(ledger["category"], name) for name in ("receiver_window", "delayed_ack"))
    return numbers(ledger["flow"]), back, limited, delayed, numbers(ledger["t_start_ns"]), numbers(ledger["t_end_ns"])
