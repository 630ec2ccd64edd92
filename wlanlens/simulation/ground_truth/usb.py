"""A USB bus that limits throughput: the driver always has a packet for it, and the adapter has room."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.finding import MAY_BE_MISSED, Finding
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.ground_truth._columns import Array, among, numbers

CODES = ("usb_bottleneck",)

#: A driver that submits within this time after the previous completion had a packet waiting.
_AT_ONCE_NS = 100_000
#: Least transfers in a row, and in all: fewer are a single message.
_ROW, _LEAST = 5, 20
#: Largest share of their time for which a full adapter may refuse them; if the air limits, it refuses for longer. Where it refuses
#: more than this share of them, each for a moment, the event need not be found.
_REFUSED = 0.1
#: In an adapter with room for one packet, bus and air take turns: where the bus takes most of the time, the event need not be found.
_TURNS = 0.5


def findings(facts: Truth) -> list[Finding]:
    """One finding for each node, from its first such transfer to its last; the cost is their time on the bus beyond that of a full one."""
    found = []
    names = ("t_submit_ns", "t_complete_ns", "refused_ns", "len_bytes")
    urbs = {name: numbers(facts.urbs[name]) for name in names}
    out, node = among(facts.urbs["direction"], "out"), numbers(facts.urbs["node"])
    cell = facts.world.cell
    small = (
        {s.node for s in cell.stations if s.usb is not None and s.usb.buffer_frames == 1} if cell is not None else set()
    )
    for one_node in np.flatnonzero(np.bincount(node[out])).tolist():
        rows = np.flatnonzero(out & (node == one_node))
        one = _limited({name: column[rows] for name, column in urbs.items()}, in_turns=one_node in small)
        if one is not None:
            found.append(one)
    return found


def _limited(urbs: dict[str, Array], *, in_turns: bool = False) -> Finding | None:
    submit, complete = urbs["t_submit_ns"], urbs["t_complete_ns"]
    # A transfer was outstanding all the time, or the driver submitted as soon as it could.
    backlog = np.zeros(len(submit), bool)
    backlog[1:] = submit[1:] - complete[:-1] <= _AT_ONCE_NS
    stretch = np.cumsum(~backlog)
    busy = np.bincount(stretch)[stretch] >= _ROW
    begin = np.maximum(submit, np.concatenate(([0], complete[:-1])))
    rows = np.flatnonzero(busy)
    took = int((complete - begin)[rows].sum())
    refused = np.clip(urbs["refused_ns"], 0, complete - begin)[rows]
    refused_ns = int(refused.sum())
    if len(rows) < _LEAST or refused_ns > (_TURNS if in_turns else _REFUSED) * took:
        return None
    few = refused_ns <= _REFUSED * took and float(np.mean(refused > 0)) <= _REFUSED
    cost_s = max(0.0, (took - refused_ns - int(urbs["len_bytes"][rows].sum()) / (19 * 64) * 1e6) / 1e9)
    return Finding(
        code="usb_bottleneck",
        t_start_ns=int(begin[rows[0]]),
        t_end_ns=int(complete[rows[-1]]),
        capture="usb.pcap",
        subject="USB bus 1 device 2 endpoint 2 out",
        severity="serious",
        confidence=1.0 if few else MAY_BE_MISSED,
        cost_s=cost_s,
        values={"transfers_count": len(rows)},
        sentence="The air waited for the bus.",
    )
