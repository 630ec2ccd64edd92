"""Data dropped at a full access-point queue."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from wlanlens.detection.finding import Finding, Value
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.ground_truth._columns import Array
from wlanlens.simulation.ground_truth._findings import finding
from wlanlens.simulation.ground_truth._runs import Side, sides

CODES = ("ap_buffer_loss",)

#: Fates of a packet that found no room in a queue, or that the queue discipline dropped.
_REFUSED = ("device_queue", "mac_queue", "early_drop")


def findings(facts: Truth) -> list[Finding]:
    """One finding for each event, for wired hosts that send to stations of a cell with an access point.

    An event consists of all drops before the first of them was retransmitted; drops never retransmitted are unknown to the sender. It
    lasts from its first loss to the ACK of all of it. The cost is the time from that retransmission on, minus the time in which the data that
    arrived meanwhile would have arrived at the rate between the first loss and the retransmission.
    """
    cell = facts.world.cell
    if cell is None or not any(station.access_point for station in cell.stations):
        return []
    stations = {station.node for station in cell.stations}
    found: list[Finding] = []
    for side in sides(facts, every=True):
        ends = facts.world.flows[side.flow]
        sender, receiver = (ends.server, ends.client)[:: 1 if side.direction == "b2a" else -1]
        if sender in stations or receiver not in stations:
            continue
        d = side.data
        refused = np.isin(d["fate"], _REFUSED) & (d["t_tap_ns"] >= 0) & (d["rel_seq"] > 0)
        found += _events(facts, side, np.flatnonzero(refused))
    return found


def _events(facts: Truth, side: Side, refused: Array) -> Iterator[Finding]:
    d = side.data
    sent: dict[int, list[int]] = {}
    for seq, t in zip(d["rel_seq"].tolist(), d["t_tap_ns"].tolist(), strict=True):
        if t >= 0:
            sent.setdefault(seq, []).append(t)
    event: list[tuple[int, int]] = []
    known = -1
    for i in refused[np.argsort(d["t_tap_ns"][refused], kind="stable")].tolist():
        t = int(d["t_tap_ns"][i])
        again = min((later for later in sent[int(d["rel_seq"][i])] if later > t), default=None)
        if again is None:
            continue
        if event and t >= known:
            yield _finding(facts, side, event, known)
            event = []
        known = again if not event else min(known, again)
        event.append((i, t))
    if event:
        yield _finding(facts, side, event, known)


def _finding(facts: Truth, side: Side, event: list[tuple[int, int]], reaction: int) -> Finding:
    d = side.data
    start = event[0][1]
    reached = side.reached_ns(int(d["end"][[i for i, _ in event]].max()))
    end = max(reaction, reached if reached is not None else facts.end_ns)
    t, size = d["t_end_ns"][d["delivered"]], d["end"][d["delivered"]] - d["rel_seq"][d["delivered"]]
    before, after = (float(size[(t > a) & (t <= b)].sum()) for a, b in ((start, reaction), (reaction, end)))
    wait_s, pace = (end - reaction) / 1e9, before / ((reaction - start) / 1e9)
    cost_s = max(0.0, wait_s - after / pace) if pace > 0 else wait_s
    values: dict[str, Value] = {"losses_count": len(event)}
    return finding(facts, side, "ap_buffer_loss", start, end, cost_s, "The access point's queue was full.", values)
