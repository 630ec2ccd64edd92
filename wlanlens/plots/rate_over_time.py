"""The data rate of each frame over time, with its signal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.plots._air_rows import DATA, NO_SIGNAL, AirRows, air_rows, is_group
from wlanlens.plots._figure import SPAN_COLOUR, TIME, escaped, gaps
from wlanlens.plots._palette import LINES, STATIONS
from wlanlens.plots._reduce import bucket_of
from wlanlens.plots._rows import NONE
from wlanlens.registry import plot

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from plotly.graph_objects import Figure

    from wlanlens.detection.finding import Finding
    from wlanlens.trace import Trace


@plot("rate_over_time", needs=("frames",))
def rate_over_time(
    trace: Trace,
    findings: Sequence[Finding] = (),
    *,
    flow: int | None = None,
    direction: str | None = None,
    station: str | None = None,
    most_columns: int = 2000,
) -> Figure:
    """Rate of each data frame over time by transmitter, with retries and dropped frames marked; below, its signal.

    `flow` and `direction` select the frames of one TCP connection, `station` those of one transmitter. Time is divided
    into `most_columns` (2000: a screen) columns: equal values in a column are one mark, so every rate in use is visible.
    Retries and dropped frames are never merged. A capture without data frames shows management frames.
    """
    from plotly.subplots import make_subplots

    rows = air_rows(trace, flow=flow, direction=direction)
    if station is not None:
        rows = rows.take(np.flatnonzero(np.isin(rows.pair, [i for i, p in enumerate(rows.pairs) if p[0] == station])))
    if (rows.kind == DATA).any():
        rows = rows.take(np.flatnonzero(rows.kind == DATA))
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06, row_heights=[0.65, 0.35])
    figure.update_layout(title={"text": "Data rate and signal"}, template="simple_white", hovermode="closest")

    marks = [(name, colour, of.take(np.flatnonzero(~of.retry)), True) for name, colour, of in by_transmitter(rows)]
    for name, which in (("retry", rows.retry & ~rows.dropped), ("dropped", rows.dropped)):
        marks.append(
            (f"{name} ({np.count_nonzero(which)})", LINES["retry"][0], rows.take(np.flatnonzero(which)), False)
        )
    for name, colour, of, many in marks:
        for row, values, known in (
            (1, of.rate_kbps / 1e3, of.rate_kbps != NONE),
            (2, of.signal_dbm, of.signal_dbm != NO_SIGNAL),
        ):
            at = np.flatnonzero(known)
            at = at[_raster(of.t_ns[at], values[at], most_columns)] if many else at
            if len(at):
                figure.add_trace(_ticks(of, at, values, escaped(name), colour, legend=row == 1), row=row, col=1)
    figure.update_yaxes(title_text="Mbit/s", type="log", row=1, col=1)
    figure.update_yaxes(title_text="dBm", row=2, col=1)
    figure.update_xaxes(title_text=TIME, row=2, col=1)
    for finding in findings:
        if any(table in ("frames", "exchanges") for table, _, _ in finding.evidence):
            x0, x1 = finding.t_start_ns / 1e9, finding.t_end_ns / 1e9
            figure.add_vrect(x0=x0, x1=x1, fillcolor=SPAN_COLOUR, line_width=0, layer="below")
    return figure


def by_transmitter(rows: AirRows) -> list[tuple[str, str, AirRows]]:
    """(name, colour, rows) of the busiest transmitters; last, all others together."""
    senders = transmitters(rows)
    shown = senders[: len(STATIONS) - 1]
    number = {name: i for i, name in enumerate(shown)}
    of_pair = np.array([number.get(pair[0], len(shown)) for pair in rows.pairs], np.int64)
    who = of_pair[rows.pair] if len(rows) else np.zeros(0, np.int64)
    names = [*shown, *(["others"] if len(senders) > len(shown) else [])]
    colours = [STATIONS[i if i < len(shown) else -1][0] for i in range(len(names))]
    return [(name, colours[i], rows.take(np.flatnonzero(who == i))) for i, name in enumerate(names)]


def transmitters(rows: AirRows) -> list[str]:
    """Transmitters by number of frames to single stations, then by group frames."""
    counts: dict[str, int] = {}
    for (sender, receiver), number in zip(
        rows.pairs, np.bincount(rows.pair, minlength=len(rows.pairs)).tolist(), strict=True
    ):
        if number:
            counts[sender] = counts.get(sender, 0) + (1 if is_group(receiver) else 1000) * number
    return sorted(counts, key=lambda name: (-counts[name], name))


def _raster(t_ns: NDArray[np.int64], values: NDArray[Any], columns: int) -> NDArray[np.int64]:
    """One position for each occupied cell of the raster."""
    if not len(t_ns):
        return np.zeros(0, np.int64)
    _, level = np.unique(values, return_inverse=True)
    _, first = np.unique(bucket_of(t_ns, columns) * (int(level.max()) + 1) + level, return_index=True)
    return np.sort(first)


def _ticks(rows: AirRows, at: NDArray[np.int64], values: NDArray[Any], name: str, colour: str, *, legend: bool) -> Any:
    """Short vertical strokes as one path, so that thousands are one element of the page."""
    import plotly.graph_objects as go

    x, y = rows.t_ns[at] / 1e9, np.asarray(values[at], np.float64)
    # A stroke is a tenth of the rate high on the logarithmic axis, or one decibel of the signal.
    half = 0.05 * y if (y > 0).all() else np.full(len(y), 0.5)
    return go.Scatter(
        x=gaps(x, x),
        y=gaps(y - half, y + half),
        customdata=np.repeat(rows.packet[at], 3),
        mode="lines",
        name=name,
        legendgroup=name,
        showlegend=legend,
        line={"color": colour, "width": 2},
        hovertemplate="packet %{customdata}: %{y:.4g}<extra></extra>",
    )
