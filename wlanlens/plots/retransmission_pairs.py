"""Retransmissions of TCP and of the MAC: when, of which segment, and how far from the first copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wlanlens.plots._chart import Chart, Panel, Series, drawn, need, nothing, spans, thinned
from wlanlens.plots._figure import TIME
from wlanlens.plots._palette import LINES, TRIGGERS
from wlanlens.plots._rows import FlowKey, of_flow
from wlanlens.registry import plot
from wlanlens.tables.columns import Array, coded, integers, known

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from wlanlens.detection.finding import Finding
    from wlanlens.trace import Trace

_NAME = "retransmission_pairs"
_MAC = {
    "data": ("802.11 retries of TCP data", LINES["retry"], "triangle-up"),
    "ack": ("802.11 retries of TCP ACKs", LINES["ack"], "triangle-down"),
}
_FEW = 60
"""Retries shown at first: their pairs are then some 15 pixels apart."""
_LEAST_MS = 0.01
"""The smallest time on a logarithmic axis: 10 us, the least between two 802.11 frames (SIFS of 802.11b)."""


@plot(_NAME, needs=("segments",))
def retransmission_pairs(
    trace: Trace,
    findings: Sequence[Finding] = (),
    *,
    capture: str | None = None,
    flow: int = 0,
    direction: str = "a2b",
    window_s: tuple[float, float] | None = None,
    most_marks: int = 4000,
) -> Figure:
    """Retransmitted segments and retried 802.11 frames over time; below, time and packets between two copies.

    Data and ACK frames that are retried in pairs collided. Below, a pair is a retransmission and the first copy of the
    same bytes, or the last and the first transmission of a frame: the time between them, and how many other packets of
    the connection passed the tap meanwhile; pairs whose first copy was not captured are not drawn there. `window_s` (from,
    to, in seconds) is what the upper part shows; by default all, or with 802.11 retries so many that pairs can be seen
    (60 from the middle). `most_marks`: marks of one kind (4000); of more, every k-th is drawn.
    """
    return drawn(
        chart(
            trace, findings, capture=capture, flow=flow, direction=direction, window_s=window_s, most_marks=most_marks
        )
    )


def chart(
    trace: Trace,
    findings: Sequence[Finding] = (),
    *,
    capture: str | None = None,
    flow: int = 0,
    direction: str = "a2b",
    window_s: tuple[float, float] | None = None,
    most_marks: int = 4000,
) -> Chart:
    """The figure as data.

    Raises
    ------
    NothingToDraw
        Neither TCP nor the MAC retransmitted anything of this direction.
    """
    need(trace, _NAME, "segments")
    key = FlowKey.of(trace, capture, flow, direction)
    rows = of_flow(trace.table("segments"), key)
    groups = [*_mac(trace, key, rows), *_tcp(rows, key)]
    if not groups:
        raise nothing(
            trace,
            f"nothing of {trace.subject(flow, direction)} was retransmitted",
            "the plot time_sequence shows the connection",
        )
    series = []
    for name, colours, symbol, pairs in groups:
        kept = thinned(len(pairs), most_marks)
        t, seq, apart_ms, between = pairs[kept].T
        label = f"{name} ({len(pairs)})"
        series.append(Series(label, t / 1e9, seq, colours, symbol=symbol))
        paired = apart_ms >= 0
        series.append(
            Series(
                label, np.maximum(apart_ms[paired] / 1e6, _LEAST_MS), between[paired], colours, panel=1, symbol=symbol
            )
        )
    window = window_s or _window(groups)
    inside = np.concatenate(
        [pairs[(pairs[:, 0] >= window[0] * 1e9) & (pairs[:, 0] <= window[1] * 1e9), 1] for *_, pairs in groups]
    )
    low, high = (float(inside.min()), float(inside.max())) if len(inside) else (0.0, 1.0)
    margin = 0.08 * max(high - low, 1.0)
    mac = any(name.startswith("802.11") for name, *_ in groups)
    counts = " and ".join(f"{len(pairs)} {name}" for name, *_, pairs in _summed(groups))
    how = "802.11 retries of data and of ACKs at the same moment are collisions of the two. " if mac else ""
    apart = np.concatenate([pairs[pairs[:, 2] >= 0, 2] for *_, pairs in groups]) / 1e6
    x_range = (max(_LEAST_MS, float(apart.min())) / 2, max(_LEAST_MS, float(apart.max())) * 2) if len(apart) else None
    return Chart(
        f"{trace.subject(flow, direction)}: retransmissions of TCP{' and of the MAC' if mac else ''}",
        f"{counts}. Above, when each was sent. {how}Below, how far each is from the first copy: "
        f"{'MAC retries follow within milliseconds, ' if mac else ''}TCP retransmits after a round trip or a timeout.",
        (
            Panel(
                TIME,
                "sequence number (bytes)",
                x_range=window,
                y_range=(low - margin, high + margin),
                spans=spans(findings, flow=flow, direction=direction),
            ),
            Panel("time since the first copy (ms)", "packets between the two", log_x=True, x_range=x_range),
        ),
        tuple(s for s in series if len(s.x)),
    )


def _window(groups: list[Group]) -> tuple[float, float]:
    """From and to, in seconds: all retransmissions, or so many around the middle that pairs of retries can be seen."""
    t = np.sort(np.concatenate([pairs[:, 0] for *_, pairs in groups])) / 1e9
    if any(name.startswith("802.11") for name, *_ in groups):
        middle = len(t) // 2
        t = t[max(0, middle - _FEW // 2) : middle + _FEW // 2]
    margin = 0.03 * max(float(t[-1] - t[0]), 1e-3)
    return max(0.0, float(t[0]) - margin), float(t[-1]) + margin


Group = tuple[str, tuple[str, str], str, Array]


def _summed(groups: list[Group]) -> list[Group]:
    """MAC retries by kind, and all TCP retransmissions together."""
    mac = [group for group in groups if group[0].startswith("802.11")]
    tcp = [group[3] for group in groups if not group[0].startswith("802.11")]
    every = [("TCP retransmissions", LINES["rto"], "x", np.concatenate(tcp))] if tcp else []
    return [*mac, *every]


def _tcp(rows: pa.Table, key: FlowKey) -> list[Group]:
    """TCP's retransmissions by trigger: t_ns, rel_seq, ns since the first copy (-1: not captured), packets in between."""
    ours = coded(rows["direction"], (key.direction,)) == 0
    again = (
        ours & (coded(rows["transmission"], ("retransmission",)) == 0) & known(rows["rel_seq"]) & known(rows["t_ns"])
    )
    # Rows are in order of the capture, so those between two copies are counted by position in time.
    passed = np.sort(integers(rows["t_ns"])[known(rows["t_ns"])])
    names = list(TRIGGERS)
    trigger = coded(rows["trigger"], names, names.index("undecided"))
    out: list[Group] = []
    for code, look in enumerate(TRIGGERS.values()):
        at = np.flatnonzero(again & (trigger == code))
        if len(at):
            t, since = integers(rows["t_ns"])[at], integers(rows["since_first_ns"], -1)[at]
            pairs = np.stack((t, integers(rows["rel_seq"])[at], since, _between(passed, t - since, t)), axis=1)
            out.append((look.title, (look.light, look.dark), "x", pairs))
    return out


def _mac(trace: Trace, key: FlowKey, rows: pa.Table) -> list[Group]:
    """Retried 802.11 frames with data of this direction and with ACKs of it."""
    if not trace.has("exchanges") or not trace.table("exchanges").num_rows:
        return []
    columns = ["capture", "flow", "tcp_kind", "attempts", "t_first_ns", "t_last_ns", "last_packet"]
    exchanges = trace.table("exchanges").select(columns)
    exchanges = exchanges.filter(
        pc.and_(pc.equal(exchanges["flow"], key.flow), pc.equal(exchanges["capture"], key.capture))
    )
    exchanges = exchanges.filter(pc.greater(exchanges["attempts"], 1))
    forth = coded(rows["direction"], (key.direction,)) == 0
    seq = np.where(forth, integers(rows["rel_seq"], -1), integers(rows["rel_ack"], -1))
    number = integers(rows["packet"])
    order = np.argsort(number, kind="stable")
    passed = np.sort(integers(rows["t_ns"])[known(rows["t_ns"])])
    at = np.searchsorted(number[order], integers(exchanges["last_packet"], -1))
    row = order[np.minimum(at, len(order) - 1)] if len(order) else np.zeros(len(at), np.int64)
    found = (
        (number[row] == integers(exchanges["last_packet"], -1)) & (seq[row] >= 0) if len(order) else np.zeros(0, bool)
    )
    kind = coded(exchanges["tcp_kind"], tuple(_MAC))
    out: list[Group] = []
    for code, (name, colours, symbol) in enumerate(_MAC.values()):
        mine = np.flatnonzero(found & (kind == code) & (forth[row] == (code == 0)))
        if len(mine):
            last, first = integers(exchanges["t_last_ns"])[mine], integers(exchanges["t_first_ns"])[mine]
            # A sniffer that heard one transmission only does not know when the first was.
            apart = np.where(last > first, last - first, -1)
            pairs = np.stack((last, seq[row[mine]], apart, _between(passed, first, last)), axis=1)
            out.append((name, colours, symbol, pairs))
    return out


def _between(passed: Array, first: Array, last: Array) -> Array:
    """Packets strictly between two times."""
    count = np.searchsorted(passed, last, side="left") - np.searchsorted(passed, first, side="right")
    return np.asarray(np.maximum(count, 0))
