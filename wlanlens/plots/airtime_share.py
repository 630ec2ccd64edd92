"""Use of the air over time and by station."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.plots._airtime import most_on_air, shares_over_time
from wlanlens.plots._figure import SPAN_COLOUR, TIME, escaped
from wlanlens.plots._palette import USES
from wlanlens.registry import plot

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from wlanlens.detection.finding import Finding
    from wlanlens.trace import Trace


@plot("airtime_share", needs=("airtime", "stations"))
def airtime_share(
    trace: Trace,
    findings: Sequence[Finding] = (),
    *,
    flow: int | None = None,  # noqa: ARG001  every plot takes them
    direction: str | None = None,  # noqa: ARG001
    most_columns: int = 400,
    most_stations: int = 12,
) -> Figure:
    """Share of time used by frames, stacked by purpose; below, the stations with most airtime.

    Slices of time are joined until there are at most `most_columns` (400: four pixels each). At most `most_stations` (12:
    what fits below) are shown.
    """
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=2, cols=1, vertical_spacing=0.16, row_heights=[0.5, 0.5])
    figure.update_layout(title={"text": "Use of the air"}, template="simple_white", barmode="stack")
    start_s, shares = shares_over_time(trace, most_columns)
    named = most_on_air(trace, most_stations)
    for group, use in USES.items():
        if shares[group].any():
            figure.add_trace(
                go.Scatter(
                    x=start_s,
                    y=shares[group],
                    name=use.title,
                    legendgroup=group,
                    mode="lines",
                    line={"width": 0, "shape": "hv", "color": use.colour},
                    fillcolor=use.colour,
                    stackgroup="air",
                    hovertemplate=f"{use.title}: %{{y:.1f}} %<extra></extra>",
                ),
                row=1,
                col=1,
            )
        seconds = np.array([row[f"{group}_ns"] for row in named], np.float64) / 1e9
        if seconds.any():
            figure.add_trace(
                go.Bar(
                    y=[escaped(row["name"]) for row in named],
                    x=seconds,
                    orientation="h",
                    name=use.title,
                    legendgroup=group,
                    showlegend=not shares[group].any(),
                    marker={"color": use.colour},
                    hovertemplate=f"{use.title}: %{{x:.3f}} s<extra></extra>",
                ),
                row=2,
                col=1,
            )
    for finding in findings:
        if any(table in ("frames", "exchanges") for table, _, _ in finding.evidence):
            x0, x1 = finding.t_start_ns / 1e9, finding.t_end_ns / 1e9
            figure.add_vrect(x0=x0, x1=x1, fillcolor=SPAN_COLOUR, line_width=0, layer="below", row=1, col=1)
    figure.update_yaxes(title_text="% of time", rangemode="tozero", row=1, col=1)
    figure.update_xaxes(title_text=TIME, row=1, col=1)
    figure.update_yaxes(autorange="reversed", row=2, col=1)
    figure.update_xaxes(title_text="airtime (s)", row=2, col=1)
    return figure
