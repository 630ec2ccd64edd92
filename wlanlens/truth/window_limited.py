"""Time in which only the receiver's window kept a sender from sending, and the path had room."""

from __future__ import annotations

import numpy as np

from wlanlens.finding import Finding
from wlanlens.truth import Truth
from wlanlens.truth._findings import finding
from wlanlens.truth._runs import Side, sides

CODES = ("window_limited",)

#: Less of a flow's life, or less time, is a transfer's last window.
_SHARE, _LEAST_NS = 0.05, 50_000_000
#: A window that makes the round trip so many times the least holds the path and a queue as long as it.
_FULL = 2.0


def findings(facts: Truth) -> list[Finding]:
    """One a flow, from the first such time to the last; the cost is their sum."""
    return [f for side in sides(facts, every=True) for f in _of_side(facts, side)]


def _of_side(facts: Truth, side: Side) -> list[Finding]:
    came, rtt = side.round_trips()
    if not len(rtt) or int(side.data["len_bytes"].sum()) < 64 * 1024:
        return []
    order = np.argsort(came, kind="stable")
    came, rtt = came[order], rtt[order]
    spent, kept = 0, []
    for start, end in _spans(facts, side):
        # Piece by piece between ACKs: where the round trip tells of a full path, a wider window would not help.
        inside = came[(came > start) & (came < end)]
        cuts = np.concatenate(([start], inside, [end]))
        at = np.minimum(np.searchsorted(came, cuts[:-1], side="right"), len(rtt) - 1)
        closed = cuts[1:] - cuts[:-1] > 1_000_000_000
        wide = (rtt[at] <= _FULL * rtt.min()) | closed
        spent += int((cuts[1:] - cuts[:-1])[wide].sum())
        kept += [(int(a), int(b)) for a, b, w in zip(cuts[:-1], cuts[1:], wide, strict=True) if w]
    life = facts.end_ns - int(side.data["t_made_ns"][0])
    if spent < max(_LEAST_NS, _SHARE * life):
        return []
    return [
        finding(
            facts, side, "window_limited", kept[0][0], kept[-1][1], spent / 1e9,
            "The receiver's window kept the sender from sending.", {"limited_s": spent / 1e9},
        )
    ]  # fmt: skip


def _spans(facts: Truth, side: Side) -> list[tuple[int, int]]:
    spans, begun = [], None
    for e in side.events:
        if e["what"] == "window_filled":
            begun = int(e["t_ns"])
        elif e["what"] == "window_freed" and begun is not None:
            spans.append((begun, int(e["t_ns"])))
            begun = None
    if begun is not None:
        spans.append((begun, facts.end_ns))
    return spans
