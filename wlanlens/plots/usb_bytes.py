"""Bytes per USB endpoint and 1 ms frame, and the number of outstanding transfers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.capture.usb import FRAME_NS, Transfers, bulk, outstanding, per_frame
from wlanlens.plots._figure import TIME, escaped, shade
from wlanlens.plots._palette import LINES
from wlanlens.plots._reduce import line
from wlanlens.plots._rows import FlowKey
from wlanlens.registry import plot
from wlanlens.tables.columns import Array

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from plotly.graph_objects import Figure

    from wlanlens.detection.finding import Finding
    from wlanlens.trace import Trace

_COLOURS = [LINES[name][0] for name in ("flight", "ack", "rto", "sack", "window", "data")]


@plot("usb_bytes", needs=("urbs",))
def usb_bytes(
    trace: Trace,
    findings: Sequence[Finding] = (),
    *,
    capture: str | None = None,
    flow: int | None = None,  # noqa: ARG001  transfers belong to no flow
    direction: str | None = None,
    most_endpoints: int = 6,
    most_points: int = 20_000,
) -> Figure:
    """Bytes completed per 1 ms frame by bulk endpoint and direction; below, the outstanding transfers.

    The `most_endpoints` endpoints with most bytes are drawn (6: the colours that can be distinguished); `direction` "in"
    or "out" selects among them. Beyond `most_points` a line keeps the minimum and maximum of each slice of time. Bytes
    count when their transfer completes, which on a full-speed bus is the end of a frame.
    """
    from plotly.subplots import make_subplots

    found = [
        t
        for t in bulk(trace.table("urbs"))
        if capture in (None, t.endpoint.capture)
        and (direction not in ("in", "out") or t.endpoint.direction == direction)
    ]
    shown = sorted(found, key=lambda t: -int(t.size_bytes.sum()))[:most_endpoints]
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06, row_heights=[0.7, 0.3])
    figure.update_layout(title={"text": "USB bytes per millisecond and outstanding transfers"}, template="simple_white")
    for transfers, colour in zip(shown, _COLOURS * (1 + len(shown) // len(_COLOURS)), strict=False):
        _draw(figure, transfers, colour, max(1, most_points // 4))
    figure.update_yaxes(title_text="bytes per ms", rangemode="tozero", exponentformat="SI", row=1, col=1)
    figure.update_yaxes(title_text="outstanding transfers", rangemode="tozero", row=2, col=1)
    figure.update_xaxes(title_text=TIME, row=2, col=1)
    for name in sorted({t.endpoint.capture for t in shown}):
        shade(figure, findings, FlowKey(name, -1, ""))
    return figure


def _draw(figure: Figure, transfers: Transfers, colour: str, slices: int) -> None:
    import plotly.graph_objects as go

    name = escaped(str(transfers.endpoint))
    frame, size = per_frame(transfers.t_complete_ns, transfers.size_bytes)
    x, y = _filled(frame, size, slices)
    look = {"mode": "lines", "legendgroup": name, "name": name, "line": {"color": colour, "width": 1, "shape": "hv"}}
    hover = "%{x:.3f} s: %{y} bytes<extra></extra>"
    figure.add_trace(go.Scatter(x=x, y=y, hovertemplate=hover, **look), row=1, col=1)
    t_ns, depth = outstanding(transfers)
    at = line(t_ns, depth, slices)
    hover = "%{x:.6f} s: %{y} outstanding<extra></extra>"
    figure.add_trace(
        go.Scatter(x=t_ns[at] / 1e9, y=depth[at], hovertemplate=hover, showlegend=False, **look),
        row=2,
        col=1,
    )


def _filled(frame: Array, size: Array, slices: int) -> tuple[NDArray[Any], Array]:
    """Seconds and bytes of a step line over all frames, including frames without bytes."""
    if not len(frame):
        return np.zeros(0), np.zeros(0, np.int64)
    width = max(1, -(-int(frame[-1] - frame[0] + 1) // slices))
    if width == 1:
        # A frame without bytes ends the step of the frame before it.
        falls = frame + 1
        falls = falls[~np.isin(falls, frame)]
        x, y = np.concatenate((frame, falls)), np.concatenate((size, np.zeros(len(falls), np.int64)))
        order = np.argsort(x, kind="stable")
        return x[order] * (FRAME_NS / 1e9), y[order]
    at = (frame - frame[0]) // width
    first = np.flatnonzero(np.diff(at, prepend=-1))
    most, least = np.maximum.reduceat(size, first), np.minimum.reduceat(size, first)
    busy = np.diff(np.append(first, len(frame)))
    least = np.where(busy < width, 0, least)
    begin = frame[0] + at[first] * width
    # An idle slice has no row: the line falls to zero at its start.
    ends = begin + width
    falls = ends[~np.isin(ends, begin)]
    x = np.concatenate((begin, begin + width / 2, falls))
    y = np.concatenate((most, least, np.zeros(len(falls), np.int64)))
    order = np.argsort(x, kind="stable")
    return x[order] * (FRAME_NS / 1e9), y[order]
