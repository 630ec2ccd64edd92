"""Throughput of several runs against what differs between them: the receive window, a buffer, any parameter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wlanlens.errors import NothingToDraw, WrongUse, did_you_mean
from wlanlens.plots._chart import Chart, Panel, Series, drawn
from wlanlens.plots._palette import STATIONS
from wlanlens.registry import plot

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from wlanlens.detection.finding import Finding

_NAME = "throughput_sweep"
_RATES = ("throughput_bps", "goodput_bps")
_FLOW_COLUMNS = {"window_bytes": "peer_window_max_bytes", "flight_bytes": "flight_max_bytes"}
_UNITS = {
    "bytes": "bytes", "packets": "packets", "segments": "segments", "s": "s", "ms": "ms", "mbps": "Mbit/s", "bps": "bit/s",
    "share": "share", "db": "dB", "dbm": "dBm", "m": "m",
}  # fmt: skip
_MOST_LINES = len(STATIONS)


@plot(_NAME, needs=("flows",))
def throughput_sweep(
    runs: Any,
    findings: Sequence[Finding] = (),  # noqa: ARG001  every plot takes them
    *,
    flow: int | None = None,
    direction: str | None = None,
    x: str = "window_bytes",
    by: str | None = None,
) -> Figure:
    """Throughput of each run against `x`, with the mean of the runs that have the same `x`; a line for each value of `by`.

    `runs` is a table with one row per run (`runs.parquet` of `wlanlens simulate --sweep`, as pyarrow or pandas), a fleet
    (`wl.load_fleet`), or traces or analyses, one or several. `x` and `by` are columns of the table, or parameters in the
    names of a fleet's runs ("window_segments=4,seed=7"). Of analyses and fleets, `x` can also be "window_bytes", the
    largest window that the receiver offered, and "flight_bytes", the most bytes in flight. Of each run the direction
    with most data counts; of traces, that of `flow` and `direction`.
    """
    return drawn(chart(runs, flow=flow, direction=direction, x=x, by=by))


def chart(
    runs: Any,
    *,
    flow: int | None = None,
    direction: str | None = None,
    x: str = "window_bytes",
    by: str | None = None,
) -> Chart:
    """The figure as data.

    Raises
    ------
    NothingToDraw
        No run has a throughput.
    WrongUse
        The runs have no numbers of this name.
    """
    rows = [row for row in run_rows(runs, flow, direction) if row["throughput_bps"] is not None]
    if not rows:
        raise NothingToDraw(
            "no run has a throughput: no flow with data",
            next="give it a table of runs (runs.parquet of `wlanlens simulate --sweep`), a fleet, or analyses of captures "
            "with TCP data",
        )
    known = sorted(
        {name for row in rows for name, value in row.items() if _number(value) is not None} - {"throughput_bps"}
    )
    for name in (x, by):
        if name is not None and all(row.get(name) is None for row in rows):
            raise WrongUse(
                f"the runs have no {name!r}", next=did_you_mean(name, known, f"they have {', '.join(known)}")
            )
    if x not in known:
        raise WrongUse(f"{x!r} is no number", next=did_you_mean(x, known, f"numbers are {', '.join(known)}"))
    fast = max(row["throughput_bps"] for row in rows) >= 1e5
    scale, rate = (1e6, "Mbit/s") if fast else (1e3, "kbit/s")
    lines: dict[Any, list[tuple[float, float]]] = {}
    for row in rows:
        at = _number(row.get(x))
        if at is not None:
            lines.setdefault(row.get(by) if by else None, []).append((at, row["throughput_bps"] / scale))
    series = []
    for i, value in enumerate(
        sorted(lines, key=lambda value: (_number(value) is None, _number(value) or 0, str(value)))
    ):
        colours = STATIONS[min(i, _MOST_LINES - 1)]
        points = np.array(sorted(lines[value]))
        name = f"{_words(by)[0]} {value} ({len(points)} runs, mean)" if by else f"{len(points)} runs, mean"
        series.append(Series(name, *means(points), colours, kind="line"))
        series.append(Series(name, points[:, 0], points[:, 1], colours, width=1.2, symbol="circle-open"))
    every = np.array([point for points in lines.values() for point in points])
    words, unit = _words(x)
    wide = every[:, 0].min() > 0 and every[:, 0].max() > 8 * every[:, 0].min()
    best = max(lines.values(), key=lambda points: means(np.array(sorted(points)))[1].max())
    at, mean = means(np.array(sorted(best)))
    return Chart(
        f"Throughput against {words}",
        f"{len(every)} runs; the highest mean is {mean.max():.3g} {rate} at {at[mean.argmax()]:g} {unit}. Each circle is one run.",
        (
            Panel(f"{words} ({unit})" if unit else words, f"throughput ({rate})", log_x=bool(wide),
                  y_range=(0.0, 1.08 * max(float(every[:, 1].max()), 1e-9))),
        ),
        tuple(series),
    )  # fmt: skip


def means(points: Any) -> tuple[Any, Any]:
    """Each x, and the mean of the y that have it."""
    x, which = np.unique(points[:, 0], return_inverse=True)
    return x, np.bincount(which, points[:, 1]) / np.bincount(which)


def run_rows(runs: Any, flow: int | None = None, direction: str | None = None) -> list[dict[str, Any]]:
    """One row per run: `throughput_bps`, and all else that is known about it."""
    if isinstance(runs, pa.Table):
        return [_with_rate(row) for row in runs.to_pylist()]
    if hasattr(runs, "to_dict") and hasattr(runs, "columns"):  # pandas
        return [_with_rate(row) for row in runs.to_dict("records")]
    if hasattr(runs, "runs") and hasattr(runs, "table"):  # a fleet
        return list(_of_fleet(runs))
    several = runs if isinstance(runs, Iterable) and not hasattr(runs, "table") else [runs]
    return [row for one in several for row in _of_trace(getattr(one, "trace", one), flow, direction)]


def _with_rate(row: Mapping[str, Any]) -> dict[str, Any]:
    rate = next((row[name] for name in _RATES if row.get(name) is not None), None)
    return {**row, "throughput_bps": None if rate is None else float(rate)}


def _of_fleet(fleet: Any) -> Iterable[dict[str, Any]]:
    flows = fleet.table("flows")
    best: dict[str, dict[str, Any]] = {}
    for row in flows.select(["run", "unique_bytes", "throughput_bps", *_FLOW_COLUMNS.values()]).to_pylist():
        if row["run"] not in best or (row["unique_bytes"] or 0) > (best[row["run"]]["unique_bytes"] or 0):
            best[row["run"]] = row
    for run, row in best.items():
        parameters = dict(part.split("=", 1) for part in run.split(",") if "=" in part)
        own = {name: row[column] for name, column in _FLOW_COLUMNS.items()}
        yield {**parameters, **own, "run": run, "throughput_bps": row["throughput_bps"]}


def _of_trace(trace: Any, flow: int | None, direction: str | None) -> Iterable[dict[str, Any]]:
    """The row of a trace: of the captures that hold the flow, of the one that the table names first."""
    if not trace.has("flows") or not trace.table("flows").num_rows:
        return
    flows = trace.table("flows")
    for name, value in (("flow", flow), ("direction", direction)):
        if value is not None:
            flows = flows.filter(pc.equal(flows[name], value))
    rows = flows.select(["capture", "unique_bytes", "throughput_bps", *_FLOW_COLUMNS.values()]).to_pylist()
    if rows:
        row = max(rows, key=lambda row: row["unique_bytes"] or 0)
        own = {name: row[column] for name, column in _FLOW_COLUMNS.items()}
        yield {**own, "capture": row["capture"], "throughput_bps": row["throughput_bps"]}


def _number(value: Any) -> float | None:
    try:
        made = float(value)
    except (TypeError, ValueError):
        return None
    return made if np.isfinite(made) else None


def _words(name: str) -> tuple[str, str]:
    """A column's name as words, and its unit: "receive_window_bytes" is "receive window" in bytes."""
    head, _, last = name.rpartition("_")
    if head and last in _UNITS:
        own = {"window_bytes": "largest receive window", "flight_bytes": "most in flight"}
        return own.get(name, head.replace("_", " ")), _UNITS[last]
    return name.replace("_", " "), ""
