"""The time-sequence graph in the style of xplot and tcptrace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.plots._figure import escaped, gaps, new_figure, shade
from wlanlens.plots._palette import LINES, TRIGGERS
from wlanlens.plots._reduce import strokes, thin
from wlanlens.plots._rows import RETRANSMISSION, FlowKey, flow_rows, mark_name
from wlanlens.registry import plot

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from wlanlens.detection.finding import Finding
    from wlanlens.trace import Trace

_NEED_LABELS = {"needed": "needed", "spurious": "spurious", "unknown": "need unknown"}


@plot("time_sequence", needs=("segments",))
def time_sequence(
    trace: Trace,
    findings: Sequence[Finding] = (),
    *,
    capture: str | None = None,
    flow: int = 0,
    direction: str = "a2b",
    most_marks: int = 20_000,
) -> Figure:
    """Sequence numbers over time of one direction: a tick per segment, lines for ACKs and window, R for retransmissions.

    Beyond `most_marks` (20 000: more make a browser slow) runs of ordinary segments become one stroke each;
    retransmissions, other rare segments and pauses are all drawn. `findings` of this direction are shaded.
    """
    import plotly.graph_objects as go

    key = FlowKey.of(trace, capture, flow, direction)
    rows = flow_rows(trace, key)
    figure = new_figure(f"{trace.subject(flow, direction)}: time-sequence graph", "sequence number (bytes)")

    plain = np.flatnonzero(~rows.is_ack & (rows.mark < RETRANSMISSION))
    merged = strokes(rows.t_ns[plain], rows.seq[plain], rows.seq[plain] + rows.size[plain], most_marks)
    figure.add_trace(
        go.Scatter(
            x=gaps(merged.t0 / 1e9, merged.t1 / 1e9),
            y=gaps(merged.lo, merged.hi),
            mode="lines",
            name="segment",
            line={"color": LINES["data"][0], "width": 1.5},
            hoverinfo="skip",
        )
    )

    acks = rows.take(np.flatnonzero(rows.is_ack))
    acks = acks.take(thin(acks, most_marks))
    figure.add_trace(
        go.Scatter(
            x=acks.t_ns / 1e9,
            y=acks.seq,
            customdata=acks.packet,
            mode="lines",
            name="ACK",
            line={"color": LINES["ack"][0], "shape": "hv", "width": 1.5},
            hovertemplate="packet %{customdata}<br>ACK %{y}<extra></extra>",
        )
    )
    offered = acks.take(np.flatnonzero(acks.size >= 0))
    figure.add_trace(
        go.Scatter(
            x=offered.t_ns / 1e9,
            y=offered.seq + offered.size,
            mode="lines",
            name="window",
            line={"color": LINES["window"][0], "shape": "hv", "width": 1},
            hoverinfo="skip",
        )
    )
    if len(acks.sack_row):
        at = acks.t_ns[acks.sack_row] / 1e9
        figure.add_trace(
            go.Scatter(
                x=gaps(at, at),
                y=gaps(acks.sack_left, acks.sack_right),
                mode="lines",
                name="SACK",
                line={"color": LINES["sack"][0], "width": 1.5},
                hoverinfo="skip",
            )
        )

    for mark in np.unique(rows.mark[rows.is_retransmission]):
        resent = rows.take(np.flatnonzero(rows.mark == mark))
        name, need = mark_name(int(mark))
        title, colour, _ = TRIGGERS[name]
        letter = {"needed": "R", "spurious": "<s>R</s>", "unknown": "R?"}[need]
        figure.add_trace(
            go.Scatter(
                x=resent.t_ns / 1e9,
                y=resent.seq + resent.size / 2,
                customdata=resent.packet,
                mode="markers+text",
                text=[letter] * len(resent),
                textposition="top center",
                textfont={"color": colour, "size": 11},
                marker={"symbol": "line-ns", "size": 8, "line": {"color": colour, "width": 2.5}},
                name=f"{title}, {_NEED_LABELS[need]} ({len(resent)})",
                hovertemplate=f"packet %{{customdata}}<br>{escaped(title)}, {_NEED_LABELS[need]}<extra></extra>",
            )
        )
    return shade(figure, findings, key)
