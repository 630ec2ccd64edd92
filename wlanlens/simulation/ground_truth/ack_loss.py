"""Lost ACKs: those whose loss stopped the sender, and those without effect."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.finding import Finding, Value
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.ground_truth._columns import Array
from wlanlens.simulation.ground_truth._findings import finding
from wlanlens.simulation.ground_truth._runs import Side, sides

CODES = ("ack_loss",)

#: As in the detector: the shortest silence that counts, and the time within which new data follows the ACK that permits it.
_STALL_NS, _GOES_ON_NS = 50_000_000, 50_000_000


def findings(facts: Truth) -> list[Finding]:
    """For each direction with data: one finding for each silence of its sender, and one without cost for all other lost ACKs.

    An ACK is lost if it left its host and did not arrive, though one sent later did. It was due the median delay after it
    left. The silence lasts from then, or from the last new data after it, to the ACK that covers as much; that is the cost.
    """
    found: list[Finding] = []
    for side in sides(facts, every=True):
        b = side.back
        left = b["t_tap_ns"]
        pure = (b["len_bytes"] == 0) & (b["rel_ack"] > 0) & (b["rel_seq"] > 0) & (left >= 0)
        came = pure & b["delivered"]
        if not came.any():
            continue
        gone = pure & b["lost"] & (left < left[came].max())
        if gone.any():
            found += _of_side(facts, side, np.flatnonzero(gone), np.flatnonzero(came), left)
    return found


def _of_side(facts: Truth, side: Side, lost: Array, came: Array, left: Array) -> list[Finding]:
    b, d = side.back, side.data
    due = left[lost] + int(np.median(b["t_end_ns"][came] - left[came]))
    reached = side.reached_all_ns(b["rel_ack"][lost])
    ended = np.where(reached >= 0, reached, facts.end_ns)
    _, first = np.unique(d["rel_seq"], return_index=True)
    new = np.sort(d["t_tap_ns"][first][(d["t_tap_ns"][first] >= 0) & (d["rel_seq"][first] > 0)])
    # A sender of nothing but copies before its tap has no new data.
    new = np.append(new, 1 << 62)
    last = np.searchsorted(new, ended) - 1
    start = np.maximum(due, np.where(last >= 0, new[last], due))
    follows = new[last + 1] <= ended + _GOES_ON_NS
    expiries = np.array([int(e["t_ns"]) for e in side.events if e["what"] == "timeout"], np.int64)
    expired = np.searchsorted(expiries, ended) > np.searchsorted(expiries, start)
    stalled = (ended - start >= _STALL_NS) & (follows | expired)
    found = []
    for end in np.unique(ended[stalled]).tolist():
        group = stalled & (ended == end)
        begin = int(start[group].min())
        values: dict[str, Value] = {"lost_acks_count": int(group.sum())}
        cost_s = (end - begin) / 1e9
        found.append(finding(facts, side, "ack_loss", begin, end, cost_s, "Lost ACKs stopped the sender.", values))
    if not stalled.all():
        start_ns, end_ns = int(left[lost[~stalled]].min()), int(due[~stalled].max())
        quiet: dict[str, Value] = {"lost_acks_count": int((~stalled).sum())}
        found.append(finding(facts, side, "ack_loss", start_ns, end_ns, 0.0, "Lost ACKs did no harm.", quiet))
    return found
