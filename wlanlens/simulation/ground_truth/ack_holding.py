"""ACKs held on the return path, by an adapter or in a queue that did not move, which then arrive in a burst."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from wlanlens.detection.finding import MAY_BE_MISSED, Finding, Value
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.ground_truth._columns import NEVER, Array, events, numbers
from wlanlens.simulation.ground_truth._findings import finding
from wlanlens.simulation.ground_truth._runs import Side, sides

CODES = ("ack_holding",)

#: Shorter holds do not affect a sender: the shortest delayed ACK of Linux takes 40 ms. Timestamps show a hold only to a tick, of 10 ms in
#: the slowest stacks (Linux with HZ=100): one that is not so much longer need not be found.
_LEAST_NS, _TICK_NS = 50_000_000, 10_000_000
#: Largest gap inside a burst, least number of its ACKs, and least time over which they were created.
_BURST_NS, _ACKS, _SPREAD_NS = 5_000_000, 3, 10_000_000


def findings(facts: Truth) -> list[Finding]:
    """One finding for each burst: from the time at which its first ACK was due, with the delay of the ACK before, to its arrival.

    That time is the cost. `kept_by` is where the ACKs were held, which one host cannot see. Without timestamps the sender's capture
    cannot distinguish held ACKs from ACKs that were sent late: there they need not be found.
    """
    holds = [e for e in events(facts) if e["what"] == "hold_ended"]
    found: list[Finding] = []
    for side in _tcp(facts):
        back = "b2a" if side.direction == "a2b" else "a2b"
        ends = [int(e["t_ns"]) for e in holds if (e["flow"], e["direction"]) == (side.flow, back)]
        b = side.back
        found += _of_side(facts, side, np.where(b["delivered"], b["t_end_ns"], NEVER), ends)
    return found


def on_air(facts: Truth) -> list[Finding]:
    """The same for ACKs as they first appeared on the air, where a sniffer captures them.

    The ACK before may have been late on the air too; compared with it, the ACKs queued behind it reach the host hardly later.
    """
    ids, packet, start = facts.packets["id"].to_numpy(), *(numbers(facts.frames[c]) for c in ("packet", "t_start_ns"))
    heard = np.full(int(ids.max(initial=0)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(heard, packet[packet >= 0], start[packet >= 0])
    heard[heard == np.iinfo(np.int64).max] = NEVER
    return [f for side in _tcp(facts) for f in _of_side(facts, side, heard[side.back["id"]], [])]


def _tcp(facts: Truth) -> Iterator[Side]:
    yield from (side for side in sides(facts, every=True) if facts.world.flows[side.flow].tcp is not None)


def _of_side(facts: Truth, side: Side, came: Array, hold_ends_ns: list[int]) -> Iterator[Finding]:
    """`came`: arrival time of each packet of the other direction; `NEVER` for none."""
    b = side.back
    pure = np.flatnonzero((came != NEVER) & (b["len_bytes"] == 0) & (b["rel_ack"] > 0))
    made, came = b["t_made_ns"][pure], came[pure]
    order = np.argsort(came, kind="stable")
    made, came = made[order], came[order]
    tcp = facts.world.flows[side.flow].tcp
    confidence = 1.0 if tcp is not None and tcp.timestamps else MAY_BE_MISSED
    for first, count, spread_ns in _bursts(made, came):
        late_ns = _late(made, came, first)
        t, late_s = int(came[first]), late_ns / 1e9
        by_adapter = any(0 <= t - end < _BURST_NS for end in hold_ends_ns)
        values: dict[str, Value] = {
            "held_acks_count": count,
            "held_s": late_s,
            "kept_by": "adapter" if by_adapter else "queue",
        }
        sentence = "ACKs were held on the return path and arrived together."
        found = finding(facts, side, "ack_holding", t - late_ns, t, late_s, sentence, values)
        shows = late_ns >= _LEAST_NS + _TICK_NS and spread_ns >= _SPREAD_NS + _TICK_NS
        yield replace(found, confidence=confidence if shows else MAY_BE_MISSED)


def _late(made: Array, came: Array, i: int) -> int:
    """How much longer an ACK took than the one before it."""
    return int((came[i] - made[i]) - (came[i - 1] - made[i - 1]))


def _bursts(made: Array, came: Array) -> Iterator[tuple[int, int, int]]:
    """First ACK of each burst after a hold, the number of ACKs held, and over what time they were made, ns."""
    after = -1
    for i in (np.flatnonzero(np.diff(came) >= _LEAST_NS) + 1).tolist():
        if i <= after or _late(made, came, i) < _LEAST_NS:
            continue
        end = int(np.searchsorted(came, came[i] + _BURST_NS, side="right"))
        # An ACK created so late that it would have arrived after the first one anyway was not held.
        kept = np.flatnonzero(made[i:end] + (came[i - 1] - made[i - 1]) < came[i]) + i
        spread, took = int(made[kept[-1]] - made[i]), int(came[kept[-1]] - came[i])
        if len(kept) >= _ACKS and spread >= max(_SPREAD_NS, 2 * took):
            after = int(kept[-1])
            yield i, len(kept), spread
