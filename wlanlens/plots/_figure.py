"""Shared by figures: layout, vertical ticks as one trace, spans of findings, and escaping of text for plotly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.formatting import printable

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from plotly.graph_objects import Figure

    from wlanlens.detection.finding import Finding
    from wlanlens.plots._rows import FlowKey

SPAN_COLOUR = "rgba(11, 92, 173, 0.12)"
TIME = "seconds since the start of the trace"
"""Title of every axis of time."""


def escaped(text: str) -> str:
    """Text for plotly, which reads some HTML tags in titles, labels and hovers: no tag is left."""
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def new_figure(title: str, y_title: str) -> Figure:
    """An empty figure with seconds of the trace on the x axis."""
    import plotly.graph_objects as go

    return go.Figure(
        layout={
            "title": {"text": escaped(title)},
            "template": "simple_white",
            "hovermode": "closest",
            "xaxis": {"title": {"text": TIME}},
            "yaxis": {"title": {"text": escaped(y_title)}, "exponentformat": "SI"},
        }
    )


def gaps(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
    """first, second, NaN, first, second, NaN ...: many short strokes as one line."""
    out = np.full(3 * len(first), np.nan)
    out[0::3], out[1::3] = first, second
    return out


def shade(figure: Figure, findings: Iterable[Finding], key: FlowKey) -> Figure:
    """Shade the findings of one direction, and findings without a flow."""
    for finding in findings:
        ours = finding.flow is None or (finding.flow, finding.direction) == (key.flow, key.direction)
        if ours and finding.capture == key.capture:
            figure.add_vrect(
                x0=finding.t_start_ns / 1e9,
                x1=finding.t_end_ns / 1e9,
                fillcolor=SPAN_COLOUR,
                line_width=0,
                layer="below",
                annotation={"text": escaped(finding.code.replace("_", " ")), "font": {"size": 10}},
            )
    return figure
