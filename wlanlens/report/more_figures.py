"""The folded figures of the page: those of the studies that have something to say about this capture."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from wlanlens.errors import NothingToDraw
from wlanlens.plots._chart import Chart
from wlanlens.plots.burst_lengths import chart as burst_lengths
from wlanlens.plots.inter_loss import chart as inter_loss
from wlanlens.plots.retransmission_pairs import chart as retransmission_pairs
from wlanlens.plots.rto_backoff import chart as rto_backoff
from wlanlens.plots.snr_distribution import chart as snr_distribution
from wlanlens.plots.tcp_view import chart as tcp_view
from wlanlens.plots.time_sequence_points import chart as time_sequence_points
from wlanlens.plots.usb_occupancy import chart as usb_occupancy
from wlanlens.report import encode

if TYPE_CHECKING:
    from wlanlens.detection.finding import Finding
    from wlanlens.plots._air_rows import AirRows
    from wlanlens.plots._rows import FlowKey
    from wlanlens.trace import Trace

LEAST_FAILURES = 10
"""Bursts of failed transmissions below which a distribution shows nothing."""

PANEL_GAP = 0.32
"""Space between panels relative to their height on the page: for the title of an axis and of the next panel."""

_DIGITS = 7
"""Decimals of a stored number: of seconds, a tenth of a microsecond, which is less than a pixel."""


@dataclass(frozen=True)
class MoreFigure:
    """One folded figure."""

    name: str
    chart: Chart
    packed: str
    """The plotly figure as JSON, as `encode.packed` packs it."""

    @property
    def id(self) -> str:
        """Name of its data; its status line has the same with "-status"."""
        return f"chart-{self.name}"


def more_figures(
    trace: Trace, findings: Sequence[Finding], key: FlowKey | None, heard: AirRows | None, *, whole: bool
) -> list[MoreFigure]:
    """The figures about one direction of a connection, the air and the bus; those that have nothing to draw are left out.

    `heard`: the frames of the trace, if it has any. `whole`: the trace holds all segments of this connection, so that packets can be counted.
    """
    mine = [f for f in findings if key is None or (f.flow, f.direction) == (key.flow, key.direction)]
    made = []
    for name, make in (*_of_flow(trace, mine, key, whole=whole), *_of_links(trace, mine, key, heard)):
        try:
            chart = make()
        except NothingToDraw:
            continue
        made.append(MoreFigure(name, chart, encode.packed(stored(chart))))
    return made


_Made = Iterator[tuple[str, Callable[[], Chart]]]


def _of_flow(trace: Trace, findings: Sequence[Finding], key: FlowKey | None, *, whole: bool) -> _Made:
    if key is None or not trace.has("segments"):
        return
    direction: dict[str, Any] = {"flow": key.flow, "direction": key.direction}
    if len(trace.captures) > 1 and trace.has("links"):
        yield "time_sequence_points", lambda: time_sequence_points(trace, findings, **direction)
    where = {**direction, "capture": key.capture}
    yield "rto_backoff", lambda: rto_backoff(trace, findings, **where)
    if not whole:
        return
    if any(f.code == "acked_data_retransmission" for f in findings):
        yield "tcp_view", lambda: tcp_view(trace, findings, **where)
    yield "retransmission_pairs", lambda: _worth_drawing(retransmission_pairs(trace, findings, **where))
    yield "inter_loss", lambda: inter_loss(trace, findings, **where)


def _of_links(trace: Trace, findings: Sequence[Finding], key: FlowKey | None, heard: AirRows | None) -> _Made:
    if _all_exchanges(trace):
        where: dict[str, Any] = {"flow": key.flow, "direction": key.direction} if key else {}
        yield "burst_lengths", lambda: _worth_drawing(burst_lengths(trace, **where))
    if heard is not None and len(heard):
        yield "snr_distribution", lambda: _worth_drawing(snr_distribution(trace, rows=heard), 2)
    if trace.has("urbs"):
        yield "usb_occupancy", lambda: usb_occupancy(trace, findings)


def _worth_drawing(chart: Chart, least: int = 3) -> Chart:
    """The chart, unless no series has as many marks above zero: a signal that never changes, a few retransmissions."""
    if all(np.count_nonzero(series.y) < least for series in chart.series if series.dash == "solid"):
        raise NothingToDraw("too few values for a figure")
    return chart


def _all_exchanges(trace: Trace) -> bool:
    """Whether the trace has the exchanges that succeeded at once too, which separate bursts; and enough failures."""
    if not trace.has("exchanges"):
        return False
    rows = trace.table("exchanges")
    again = pc.greater(rows["attempts"], 1)
    failed = pc.sum(again).as_py() or 0
    delivered = pc.equal(rows["outcome"], "delivered")
    return failed >= LEAST_FAILURES and bool(pc.any(pc.and_(pc.invert(again), delivered)).as_py())


def stored(chart: Chart) -> bytes:
    """A chart as JSON: the traces of plotly, its layout, and the layout for a narrow screen."""
    gap = PANEL_GAP / len(chart.panels)
    return json.dumps(
        {
            "title": chart.title,
            "data": [{**trace, "x": _numbers(trace["x"]), "y": _numbers(trace["y"])} for trace in chart.data()],
            "layout": chart.layout(row_gap=gap),
            "narrow": chart.layout(beside=False, row_gap=gap),
            "panels": [{"x": panel.x, "y": panel.y, "title": panel.title} for panel in chart.panels],
        },
        separators=(",", ":"),
        allow_nan=False,
    ).encode()


def _numbers(values: Any) -> list[float | None]:
    numbers = np.asarray(values)
    if numbers.dtype.kind != "f":
        return list(numbers.tolist())
    return [None if value != value else value for value in np.round(numbers, _DIGITS).tolist()]
