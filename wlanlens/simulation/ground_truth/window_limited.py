"""Time in which only the receiver's window limited the sender, and the path had room."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.finding import Finding
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.ground_truth._columns import Array
from wlanlens.simulation.ground_truth._findings import finding
from wlanlens.simulation.ground_truth._runs import Side, sides

CODES = ("window_limited",)

#: A smaller share of a flow's life, or less time, is the last window of a transfer.
_SHARE, _LEAST_NS = 0.05, 50_000_000
#: A window that makes the round trip this many times the least fills the path and a queue as large.
_FULL = 2.0
#: Fewer round trips in a row are one burst.
_STRETCH = 3


def findings(facts: Truth) -> list[Finding]:
    """One finding for each flow, from the first such time to the last; the cost is their sum."""
    return [f for side in sides(facts, every=True) for f in _of_side(facts, side)]


def _of_side(facts: Truth, side: Side) -> list[Finding]:
    if not any(e["what"] in ("window_filled", "window_closed") for e in side.events):
        return []
    # A larger window would fill a queue before the tap too.
    came, rtt = side.round_trips("t_made_ns")
    if not len(rtt) or int(side.data["len_bytes"].sum()) < 64 * 1024:
        return []
    order = np.argsort(came, kind="stable")
    came, rtt = came[order], rtt[order]
    heard = max(int(side.ack_t_ns[-1]), int(side.data["t_tap_ns"].max()))
    # During RTO wait and recovery these limit the sender, not the window.
    others = [(r.expiries[0].silent_from_ns, r.recovered_ns or heard) for r in side.runs] + _recoveries(side, heard)
    # Data acknowledged in a recovery had waited for a lost segment: its round trip says nothing about the path.
    held = np.any([(came > a) & (came <= b) for a, b in others], axis=0) if others else np.zeros(len(came), bool)
    if held.all():
        return []
    came, rtt = came[~held], rtt[~held]
    rests = _rests(side, int(rtt.min()))
    kept: list[tuple[int, int]] = []
    for start, end, closed in _spans(side, heard):
        for a, b in _without(start, end, others):
            # Between ACKs: if the round trip shows a full path, a larger window would not help.
            cuts = np.sort(np.concatenate(([a, b], *(_between(t, a, b) for t in (came, *rests)))))
            cuts = cuts[np.concatenate(([True], cuts[1:] > cuts[:-1]))]
            at = np.minimum(np.searchsorted(came, cuts[:-1], side="right"), len(rtt) - 1)
            resting = np.searchsorted(rests[0], cuts[:-1], "right") > np.searchsorted(rests[1], cuts[:-1], "right")
            wide = (rtt[at] <= _FULL * rtt.min()) | closed | resting
            kept += zip(cuts[:-1][wide].tolist(), cuts[1:][wide].tolist(), strict=True)
    least = max(_LEAST_NS, _SHARE * (heard - int(side.data["t_made_ns"][0])))
    if sum(b - a for a, b in kept) < least:
        return []
    kept = _lasting(kept, int(np.median(rtt)))
    spent = sum(b - a for a, b in kept)
    if spent < least:
        return []
    return [
        finding(
            facts, side, "window_limited", kept[0][0], kept[-1][1], spent / 1e9,
            "The receiver's window limited the sender.", {"limited_s": spent / 1e9},
        )
    ]  # fmt: skip


def _between(times: Array, start: int, end: int) -> Array:
    """Those of sorted times that lie between two."""
    return times[np.searchsorted(times, start, side="right") : np.searchsorted(times, end)]


def _rests(side: Side, least_ns: int) -> tuple[Array, Array]:
    """Start and end of times longer than a round trip in which neither data nor ACKs were in flight: the receiver
    alone made the sender wait."""
    left = side.data["t_tap_ns"] >= 0
    begun = np.concatenate((side.data["t_tap_ns"][left], side.back["t_made_ns"]))
    over = np.concatenate((side.data["t_end_ns"][left], side.back["t_end_ns"]))
    order = np.argsort(begun, kind="stable")
    begun, over = begun[order], np.maximum.accumulate(over[order])
    long = begun[1:] - over[:-1] > least_ns
    return over[:-1][long], begun[1:][long]


def _spans(side: Side, heard: int) -> list[tuple[int, int, bool]]:
    """Times in which only the window limited the sender, and whether it was closed."""
    spans = []
    begun: tuple[int, bool] | None = None
    for e in side.events:
        if e["what"] in ("window_filled", "window_closed", "window_freed"):
            if begun is not None:
                spans.append((begun[0], min(int(e["t_ns"]), heard), begun[1]))
            begun = None if e["what"] == "window_freed" else (int(e["t_ns"]), e["what"] == "window_closed")
    if begun is not None:
        spans.append((begun[0], heard, begun[1]))
    return spans


def _recoveries(side: Side, heard: int) -> list[tuple[int, int]]:
    spans, begun = [], None
    for e in side.events:
        if e["what"] == "recovery_began":
            begun = int(e["t_ns"])
        elif e["what"] in ("recovery_ended", "recovery_undone") and begun is not None:
            spans.append((begun, int(e["t_ns"])))
            begun = None
    return [*spans, (begun, heard)] if begun is not None else spans


def _without(start: int, end: int, others: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The rest of a span."""
    left = [(start, end)]
    for a, b in others:
        left = [
            piece
            for x, y in left
            for piece in ((x, min(y, a)), (max(x, b), y))
            if piece[0] < piece[1] and (a < y and b > x)
        ] + [(x, y) for x, y in left if not (a < y and b > x)]
    return sorted(left)


def _lasting(spans: list[tuple[int, int]], rtt_ns: int) -> list[tuple[int, int]]:
    """Those in stretches, with gaps below a round trip, that last for `_STRETCH` round trips."""
    out: list[tuple[int, int]] = []
    stretch: list[tuple[int, int]] = []
    for span in [*spans, (1 << 62, 1 << 62)]:
        if stretch and span[0] - stretch[-1][1] > rtt_ns:
            if stretch[-1][1] - stretch[0][0] >= max(_LEAST_NS, _STRETCH * rtt_ns):
                out += stretch
            stretch = []
        stretch.append(span)
    return out
