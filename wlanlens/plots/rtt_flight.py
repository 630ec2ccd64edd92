"""Round-trip times, the retransmission timeout and the bytes in flight on one time axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.plots._figure import TIME, escaped, shade
from wlanlens.plots._palette import LINES
from wlanlens.plots._reduce import line
from wlanlens.plots._rows import FlowKey, flow_rows
from wlanlens.registry import plot

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from plotly.graph_objects import Figure

    from wlanlens.detection.finding import Finding
    from wlanlens.trace import Trace


@plot("rtt_flight", needs=("segments",))
def rtt_flight(
    trace: Trace,
    findings: Sequence[Finding] = (),
    *,
    capture: str | None = None,
    flow: int = 0,
    direction: str = "a2b",
    most_points: int = 20_000,
) -> Figure:
    """Round-trip time of each ACK and the sender's retransmission timeout; below, bytes in flight and the receive window.

    Beyond `most_points` a line keeps the first, minimum, maximum and last value of each slice of time. `findings` of
    this direction are shaded.
    """
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    key = FlowKey.of(trace, capture, flow, direction)
    rows = flow_rows(trace, key)
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06)
    figure.update_layout(
        title={"text": escaped(f"{trace.subject(flow, direction)}: round-trip time and bytes in flight")},
        template="simple_white",
    )

    def add(row: int, name: str, values: NDArray[np.int64], scale: float, colour: str, **look: Any) -> None:
        at = np.flatnonzero(values >= 0)
        at = at[line(rows.t_ns[at], values[at], max(1, most_points // 4))] if len(at) else at
        figure.add_trace(
            go.Scatter(
                x=rows.t_ns[at] / 1e9,
                y=values[at] * scale,
                customdata=rows.packet[at],
                name=name,
                hovertemplate="packet %{customdata}: %{y}<extra></extra>",
                **look | {"marker": {"color": colour, "size": 3}},
            ),
            row=row,
            col=1,
        )

    step = {"mode": "lines", "line": {"shape": "hv", "width": 1.5}}
    add(1, "RTT", rows.rtt_ns, 1e-9, LINES["rtt"][0], mode="markers")
    add(1, "RTO", rows.rto_ns, 1e-9, LINES["rto"][0], **_coloured(step, LINES["rto"][0]))
    add(2, "bytes in flight", rows.flight, 1, LINES["flight"][0], **_coloured(step, LINES["flight"][0]))
    window = np.where(rows.is_ack, rows.size, -1)
    add(2, "receive window", window, 1, LINES["window"][0], **_coloured(step, LINES["window"][0]))
    figure.update_yaxes(title_text="seconds", type="log", row=1, col=1)
    figure.update_yaxes(title_text="bytes", rangemode="tozero", exponentformat="SI", row=2, col=1)
    figure.update_xaxes(title_text=TIME, row=2, col=1)
    return shade(figure, findings, key)


def _coloured(look: dict[str, Any], colour: str) -> dict[str, Any]:
    return {**look, "line": {**look["line"], "color": colour}}
