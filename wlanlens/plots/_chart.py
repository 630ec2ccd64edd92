"""A figure as data: panels and series. Plots draw it with plotly, the report keeps it as JSON; both show the same marks.

Making one needs no plotly, whose import takes longer than the report.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.detection import capture_needs
from wlanlens.errors import NothingToDraw
from wlanlens.plots._figure import SPAN_COLOUR, escaped, gaps

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from plotly.graph_objects import Figure

    from wlanlens.trace import Trace

Colours = tuple[str, str]
"""A colour on light and on dark paper."""

ROW_GAP, COLUMN_GAP = 0.2, 0.03
"""Space between panels below each other and beside each other, as shares."""


@dataclass(frozen=True)
class Panel:
    """One pair of axes. Titles of axes name the unit."""

    x: str
    y: str
    title: str = ""
    log_x: bool = False
    log_y: bool = False
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    share: float = 1.0
    """Height (or width) relative to the other panels."""
    spans: tuple[tuple[float, float], ...] = ()
    """Parts of x to shade: findings."""
    y_step: float | None = None
    """Distance of the labels of y; None: as plotly chooses."""
    x_labels: bool = True
    """Whether x has labels: not where the panel below has the same axis."""


@dataclass(frozen=True)
class Series:
    """Marks of one kind with one entry in the legend.

    `kind` is "marks", "line", "steps" (horizontal, then vertical), "ticks" (vertical strokes from `y` to `y_end`) or
    "bars".
    """

    name: str
    x: NDArray[Any]
    y: NDArray[Any]
    colours: Colours
    kind: str = "marks"
    panel: int = 0
    y_end: NDArray[Any] | None = None
    width: float = 1.5
    """Of lines and ticks in pixels, of bars in units of x; the diameter of marks is four times as much."""
    shift: float = 0.0
    """Of bars: how far their middle is beside x."""
    symbol: str = "circle"
    dash: str = "solid"
    text: tuple[str, ...] | None = None
    """What a mark says under the pointer, besides its values."""


@dataclass(frozen=True)
class Chart:
    """A figure: its title, one sentence that says how to read it, panels and series."""

    title: str
    sentence: str
    panels: tuple[Panel, ...]
    series: tuple[Series, ...]
    beside: bool = False
    """Whether the panels are beside each other."""
    same: str = ""
    """The axes that all panels share: "x", "y", "xy" or ""."""
    bars_stacked: bool = False
    legend: tuple[tuple[str, Colours, str], ...] = field(init=False)
    """(name, colours, kind or symbol) of each entry of the legend."""

    def __post_init__(self) -> None:
        entries: dict[str, tuple[str, Colours, str]] = {}
        for s in self.series:
            entries.setdefault(s.name, (s.name, s.colours, s.symbol if s.kind == "marks" else s.kind))
        object.__setattr__(self, "legend", tuple(entries.values()))

    def data(self) -> list[dict[str, Any]]:
        """The series as traces of plotly."""
        shown: set[str] = set()
        out = []
        for series in self.series:
            out.append(_trace(series, first=series.name not in shown))
            shown.add(series.name)
        return out

    def layout(self, *, beside: bool | None = None, row_gap: float = ROW_GAP) -> dict[str, Any]:
        """Axes, titles of panels and shades as plotly's layout.

        `beside` overrules the chart's own arrangement; `row_gap` is the space between panels with titles between them.
        """
        beside = self.beside if beside is None else beside
        out: dict[str, Any] = {"annotations": [], "shapes": [], "hovermode": "closest"}
        if self.bars_stacked:
            out["barmode"] = "stack"
        for i, (panel, (low, high)) in enumerate(zip(self.panels, self._shares(beside, row_gap), strict=True)):
            x, y = _axis("x", i), _axis("y", i)
            across, along = ([low, high], [0.0, 1.0]) if beside else ([0.0, 1.0], [low, high])
            out[x] = _axis_of(panel.x if panel.x_labels or beside else "", panel.log_x, panel.x_range, across)
            out[y] = _axis_of(
                panel.y if not (beside and "y" in self.same and i) else "", panel.log_y, panel.y_range, along
            )
            out[x] |= {"anchor": _name("y", i), "showticklabels": panel.x_labels or beside}
            out[y] |= {"anchor": _name("x", i), "showticklabels": not (beside and "y" in self.same and i)}
            if i:
                out[x] |= {"matches": "x"} if "x" in self.same else {}
                out[y] |= {"matches": "y"} if "y" in self.same else {}
            if panel.y_step is not None:
                out[y]["dtick"] = panel.y_step
            for letter, axis, log in (("x", x, panel.log_x), ("y", y, panel.log_y)):
                if log and (step := self._log_step(letter, i)):
                    out[axis]["dtick"] = step
            if panel.title:
                out["annotations"].append(
                    {"text": escaped(panel.title), "xref": "paper", "yref": "paper", "x": across[0], "y": along[1],
                     "xanchor": "left", "yanchor": "bottom", "showarrow": False, "font": {"size": 12}}
                )  # fmt: skip
            out["shapes"] += [
                {"type": "rect", "xref": _name("x", i), "yref": f"{_name('y', i)} domain", "x0": x0, "x1": x1,
                 "y0": 0, "y1": 1, "fillcolor": SPAN_COLOUR, "line": {"width": 0}, "layer": "below"}
                for x0, x1 in panel.spans
            ]  # fmt: skip
        return out

    def _log_step(self, letter: str, panel: int) -> str | int | None:
        """Labels of a logarithmic axis: 1, 2, 5 in each decade, decades alone, or as plotly chooses for less than one and a half."""
        axis = self.panels[panel]
        limits = axis.x_range if letter == "x" else axis.y_range
        parts = [np.asarray(getattr(s, letter), float) for s in self.series if s.panel == panel]
        values = np.concatenate(parts or [np.zeros(0)])
        values = np.asarray(limits, float) if limits is not None else values[values > 0]
        if not len(values) or values.max() < 30 * values.min():
            return None
        return "D2" if values.max() <= 1000 * values.min() else 1

    def _shares(self, beside: bool, row_gap: float) -> list[tuple[float, float]]:
        """Each panel's part of the height, from above, or of the width."""
        gaps_after = [
            COLUMN_GAP if beside else row_gap * (1 if panel.x_labels else 0.5 if below.title else 0.25)
            for panel, below in pairwise(self.panels)
        ]
        room, total = 1 - sum(gaps_after), sum(panel.share for panel in self.panels)
        out, at = [], 0.0
        for panel, gap in zip(self.panels, [*gaps_after, 0.0], strict=True):
            size = room * panel.share / total
            out.append((at, at + size) if beside else (1 - at - size, 1 - at))
            at += size + gap
        return [(max(0.0, low), min(1.0, high)) for low, high in out]


def drawn(chart: Chart) -> Figure:
    """A chart as a plotly Figure."""
    import plotly.graph_objects as go

    layout = chart.layout()
    for axis in [value for key, value in layout.items() if key.startswith(("xaxis", "yaxis"))]:
        axis.pop("automargin", None)
    return go.Figure(
        {
            "data": chart.data(),
            "layout": {
                **layout,
                "title": {"text": escaped(chart.title)},
                "template": "simple_white",
                "legend": {
                    "orientation": "h",
                    "yref": "container",
                    "yanchor": "bottom",
                    "y": 0.01,
                    "groupclick": "togglegroup",
                },
                "margin": {"b": 110},
            },
        }
    )


def need(trace: Trace, plot: str, *names: str) -> None:
    """Refuse a trace that has no rows of a table.

    Raises
    ------
    NothingToDraw
        It says which capture has them.
    """
    missing = tuple(name for name in names if not trace.has(name) or not trace.table(name).num_rows)
    if missing:
        wanted = capture_needs.needed(capture_needs.reason(missing))
        raise nothing(
            trace,
            f"the plot {plot} needs rows of {', '.join(missing)}, and this trace has none",
            "; ".join(f"take {one.what}: {one.how}" for one in wanted),
        )


def nothing(trace: Trace, what: str, next: str) -> NothingToDraw:
    """The error of a plot that the trace has no data for: what, in which captures, and what to do."""
    return NothingToDraw(what, next=next, path=", ".join(escaped(capture.name) for capture in trace.captures) or None)


def thinned(count: int, most: int) -> NDArray[np.int64]:
    """Positions of at most `most` of so many marks: every k-th."""
    return np.arange(0, count, max(1, -(-count // most)))


def spans(findings: Iterable[Any], *, flow: int, direction: str) -> tuple[tuple[float, float], ...]:
    """From and to, in seconds, of the findings of one direction and of those without a flow; joined where they overlap."""
    mine = [f for f in findings if f.flow is None or (f.flow, f.direction) == (flow, direction)]
    out: list[tuple[float, float]] = []
    for start, end in sorted((f.t_start_ns / 1e9, f.t_end_ns / 1e9) for f in mine):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return tuple(out)


def _axis(letter: str, i: int) -> str:
    return f"{letter}axis{i + 1 if i else ''}"


def _name(letter: str, i: int) -> str:
    return f"{letter}{i + 1 if i else ''}"


def _axis_of(title: str, log: bool, limits: tuple[float, float] | None, domain: list[float]) -> dict[str, Any]:
    made: dict[str, Any] = {"title": {"text": escaped(title)}, "domain": domain, "exponentformat": "SI"}
    if log:
        made |= {"type": "log", "exponentformat": "none"}
    if limits is not None:
        low, high = limits
        made["range"] = [_below_digit(low), float(np.log10(high))] if log else [low, high]
    return made


def _below_digit(value: float) -> float:
    """The logarithm at which an axis begins: just below a digit that has a label.

    plotly.js 3 labels nothing on a logarithmic axis that begins up to 0.1 % above such a digit.
    """
    power = np.floor(np.log10(value))
    return float(np.log10(0.97 * np.floor(value / 10**power)) + power)


def _trace(series: Series, *, first: bool) -> dict[str, Any]:
    """One series as a trace of plotly. `meta` has its colours on light and dark paper, its panel and its kind."""
    light, _ = series.colours
    x, y = np.asarray(series.x), np.asarray(series.y)
    made: dict[str, Any] = {
        "type": "scatter",
        "name": escaped(series.name),
        "legendgroup": series.name,
        "showlegend": first,
        "xaxis": _name("x", series.panel),
        "yaxis": _name("y", series.panel),
        "meta": {"colours": list(series.colours), "panel": series.panel, "kind": series.kind},
        "hovertemplate": f"{escaped(series.name)}<br>%{{x:.6~g}}, %{{y:.6~g}}<extra></extra>",
    }
    if series.kind == "ticks":
        x, y = gaps(x, x), gaps(y, np.asarray(series.y_end))
    if series.kind == "bars":
        made |= {"type": "bar", "marker": {"color": light, "line": {"width": 0}}, "width": float(series.width)}
        made["offset"] = series.shift - series.width / 2
    elif series.kind == "marks":
        made |= {"mode": "markers", "marker": {"color": light, "size": 4 * series.width, "symbol": series.symbol}}
    else:
        shape = "hv" if series.kind == "steps" else "linear"
        made |= {"mode": "lines", "line": {"color": light, "width": series.width, "shape": shape, "dash": series.dash}}
    if series.text is not None:
        made["text"] = [escaped(text) for text in series.text]
        made["hovertemplate"] = made["hovertemplate"].replace("<extra>", "<br>%{text}<extra>")
    return made | {"x": x, "y": y}
