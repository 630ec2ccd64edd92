"""Single outstanding segments whose sender waited for the receiver's delayed-ACK timer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wlanlens.detection.finding import MAY_BE_MISSED, Finding
from wlanlens.formatting import times
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.ground_truth._columns import among, numbers
from wlanlens.simulation.ground_truth._frames import severity
from wlanlens.simulation.ground_truth._runs import side

#: Codes decided here.
CODES = ("delayed_ack_deadlock",)

#: As in the detector: the sender continues at once; one wait counts at the start of a connection, later two.
_AT_ONCE_NS, _LEAST_WAITS = 1_000_000, 2
#: No stack has a timer below this (Linux: 40 ms): shorter waits look like the jitter of a path and need not be found.
_SHORT_NS = 25_000_000
#: A single wait stands out where the trips of the packets around it, this many each way, differ by no more than this share of it.
_CALM, _AROUND = 0.25, 5
#: ... and where it is this share of the shortest round trip, which no path keeps exactly.
_OF_TRIP = 0.1
#: Other connections' data in the device's queue delays the next segment by no more: a few full frames at 11 Mbit/s.
_QUEUED_NS = 5_000_000


class _Wait(NamedTuple):
    """A lone segment: when it was sent and acknowledged, its time on the receiver's timer, its first byte, whether the wait is
    clear, and whether the path was calm around it."""

    sent_ns: int
    acked_ns: int
    timer_ns: int
    rel_seq: int
    clear: bool
    calm: bool


def _enough(waits: Sequence[_Wait]) -> bool:
    return bool(waits) and (len(waits) >= _LEAST_WAITS or waits[0].rel_seq == 1)


def _shows(waits: Sequence[_Wait]) -> bool:
    """Whether these waits show that a timer made them: a single one does only on a calm path, where nothing else is as late."""
    return _enough(waits) and (len(waits) >= _LEAST_WAITS or waits[0].calm)


def findings(facts: Truth) -> list[Finding]:
    """For each direction with such waits, from the first to the last; the cost is the time on the timer.

    The receiver's timer fired for the single segment in flight: everything else outstanding had been marked lost at a
    timeout. The receiver's window had room for another segment, and the sender had data: it sent as soon as the ACK came.

    A wait is clear if the segment was sent once (an ACK does not say which of two copies it answers), if the timer took longer
    than all else that delayed the ACK, if another segment was acknowledged sooner, and if the next segment left the device at once,
    as of a sender that waited for the ACK. There is one finding for the clear waits, and one for all that need not be found. With too few
    clear waits there is none but the latter; nor where the path delayed the packets around a single wait by a
    comparable time or no others were answered (`_CALM`, `_AROUND`): one late ACK looks like another.
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
        tap = numbers(data["t_tap_ns"])
        there_too = among(data["fate"], "delivered")
        ack_made, ack, ack_came = (np.asarray(acks[c]) for c in ("t_made_ns", "rel_ack", "t_end_ns"))
        # Windows and ACKs that the sender had received, by time.
        here = among(acks["fate"], "delivered")
        order = np.argsort(ack_came[here], kind="stable")
        acked_at, acked = ack_came[here][order], np.maximum.accumulate(ack[here][order])
        mine = pc.and_(pc.equal(expired["flow"], flow), pc.equal(expired["direction"], there))
        timeouts = np.asarray(expired.filter(mine)["t_ns"])
        sender = side(facts, flow, there)
        filled = sender.window_filled(np.array([e["t_ns"] for e in fired]))
        seen_ns = int(sender.round_trips()[1].min(initial=1 << 62))
        least_ns = int((arrived - tap)[there_too].min(initial=1 << 62)) + int((ack_came - ack_made)[here].min())
        waits = []
        for e, no_room in zip(fired, filled.tolist(), strict=True):
            if no_room:
                # The receiver's window has no room for a second segment.
                continue
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
            # The copy that started the timer is the last that arrived before it fired.
            copies = (seq[:sent] == seq[last]) & there_too[:sent] & (arrived[:sent] <= e["t_ns"])
            if copies.any():
                timed = int(np.flatnonzero(copies)[arrived[:sent][copies].argmax()])
                begun = int(arrived[timed])
                wait = int(e["t_ns"]) - begun
                took = came - int(tap[timed])
                clear = int((seq == seq[last]).sum()) == 1 and max(took - wait - least_ns, _SHORT_NS) <= wait
                clear &= took - seen_ns >= _SHORT_NS
                clear &= 0 <= int(tap[sent]) - came <= _QUEUED_NS
                near = slice(last, last + _AROUND), slice(max(0, said - 1), said + _AROUND)
                forth, home = (
                    (arrived - tap)[near[0]][there_too[near[0]]],
                    (ack_came - ack_made)[near[1]][here[near[1]]],
                )
                calm = min(len(forth), len(home)) > 2 and np.ptp(forth) + np.ptp(home) <= _CALM * wait
                calm &= wait >= _OF_TRIP * least_ns
                waits.append(_Wait(int(tap[timed]), came, wait, int(seq[last]), clear, bool(calm)))
        shown = [w for w in waits if w.clear]
        if _shows(shown):
            found.append(_finding(facts, flow, there, shown, 1.0))
        if _enough(waits) and not (_shows(shown) and len(shown) == len(waits)):
            found.append(_finding(facts, flow, there, waits, MAY_BE_MISSED))
    return found


def _finding(facts: Truth, flow: int, direction: str, waits: Sequence[_Wait], confidence: float) -> Finding:
    cost_s = sum(w.timer_ns for w in waits) / 1e9
    start, end = waits[0].sent_ns, waits[-1].acked_ns
    return Finding(
        code="delayed_ack_deadlock",
        t_start_ns=start,
        t_end_ns=end,
        capture="sender.pcap",
        subject=facts.subject(flow, direction),
        severity=severity(cost_s, (end - start) / 1e9),
        confidence=confidence,
        cost_s=cost_s,
        values={"waits_count": len(waits)},
        sentence=f"A single segment waited for the delayed-ACK timer {times(len(waits))}.",
        flow=flow,
        direction=direction,
    )
