"""Single outstanding segments whose sender waited for the receiver's delayed-ACK timer."""

from __future__ import annotations

from typing import Any

import numpy as np

from wlanlens.detection.finding import Finding
from wlanlens.formatting import times
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.ground_truth._columns import among
from wlanlens.simulation.ground_truth._frames import severity

#: Codes decided here.
CODES = ("delayed_ack_deadlock",)

#: As in the detector: the sender continues at once; one wait counts at the start of a connection, later two.
_AT_ONCE_NS, _LEAST_WAITS = 1_000_000, 2


def findings(facts: Truth) -> list[Finding]:
    """For each direction with such waits, from the first to the last; the cost is the time on the timer.

    The receiver's timer fired for the single segment in flight: everything else outstanding had been marked lost at a
    timeout. The receiver's window had room for another segment, and the sender had data: it sent as soon as the ACK came.
    """
    import pyarrow.compute as pc

    what = facts.events.column("what")
    expired = facts.events.filter(pc.equal(what, "timeout"))
    events = facts.events.filter(pc.equal(what, "delayed_ack")).to_pylist()
    by_way: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for e in events:
        by_way.setdefault((e["flow"], e["direction"]), []).append(e)
    found = []
    for (flow, back), fired in sorted(by_way.items()):
        there = "b2a" if back == "a2b" else "a2b"
        tcp = facts.world.flows[flow].tcp
        if tcp is None or tcp.receive_window_bytes < 2 * tcp.mss_bytes:
            continue
        p = facts.packets.filter(pc.equal(facts.packets["flow"], flow))
        data = p.filter(pc.and_(pc.equal(p["direction"], there), pc.greater(p["len_bytes"], 0)))
        acks = p.filter(pc.equal(p["direction"], back))
        made, seq, size, arrived = (np.asarray(data[c]) for c in ("t_made_ns", "rel_seq", "len_bytes", "t_end_ns"))
        ack_made, ack, ack_came = (np.asarray(acks[c]) for c in ("t_made_ns", "rel_ack", "t_end_ns"))
        # Windows and ACKs that the sender had received, by time.
        here = among(acks["fate"], "delivered")
        order = np.argsort(ack_came[here], kind="stable")
        acked_at, acked = ack_came[here][order], np.maximum.accumulate(ack[here][order])
        mine = pc.and_(pc.equal(expired["flow"], flow), pc.equal(expired["direction"], there))
        timeouts = np.asarray(expired.filter(mine)["t_ns"])
        waits = []
        for e in fired:
            sent, said = int(np.searchsorted(made, e["t_ns"])), int(np.searchsorted(ack_made, e["t_ns"]))
            heard = int(np.searchsorted(acked_at, e["t_ns"]))
            if not sent or not heard:
                continue
            # The latest copy of the one segment between what was acknowledged before and what is now.
            last = sent - 1
            if seq[last] != acked[heard - 1] or seq[last] + size[last] != e["rel_seq"]:
                continue
            given_up = timeouts[np.searchsorted(timeouts, made[last], side="right") - 1] if len(timeouts) else -1
            others = (seq[:last] + size[:last] > e["rel_seq"]) & (made[:last] >= given_up)
            if others.any():
                continue
            came = int(ack_came[said]) if said < len(ack_came) and ack_made[said] == e["t_ns"] else None
            if came is None or sent >= len(made) or not 0 <= int(made[sent]) - came <= _AT_ONCE_NS:
                continue
            # If this copy arrived after the timer had fired, an earlier one had started the timer.
            waits.append((int(made[last]), came, max(0, int(e["t_ns"] - arrived[last])), int(seq[last])))
        if not waits or (len(waits) < _LEAST_WAITS and waits[0][3] != 1):
            continue
        cost_s = sum(w[2] for w in waits) / 1e9
        start, end = waits[0][0], waits[-1][1]
        found.append(
            Finding(
                code="delayed_ack_deadlock",
                t_start_ns=start,
                t_end_ns=end,
                capture="sender.pcap",
                subject=facts.subject(flow, there),
                severity=severity(cost_s, (end - start) / 1e9),
                confidence=1.0,
                cost_s=cost_s,
                values={"waits_count": len(waits)},
                sentence=f"A single segment waited for the delayed-ACK timer {times(len(waits))}.",
                flow=flow,
                direction=there,
            )
        )
    return found
