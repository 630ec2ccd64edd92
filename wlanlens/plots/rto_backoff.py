"""How the retransmission timer of a connection developed: smoothed round trip, RTO, and its backoff."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from wlanlens.formatting import times
from wlanlens.plots._chart import Chart, Panel, Series, drawn, need, nothing, spans
from wlanlens.plots._figure import TIME
from wlanlens.plots._palette import LINES
from wlanlens.plots._reduce import line
from wlanlens.plots._rows import FlowKey, of_flow
from wlanlens.registry import plot
from wlanlens.tables.columns import Array, coded, integers, known

if TYPE_CHECKING:
    import pyarrow as pa
    from plotly.graph_objects import Figure

    from wlanlens.detection.finding import Finding
    from wlanlens.trace import Trace

_NAME = "rto_backoff"
_IN_A_ROW = ("#732400", "#d98a5f")
_KINDS = {
    "genuine": ("RTO expired, segment lost", ("#b84a00", "#ff8a4d"), "x"),
    "spurious": ("RTO expired, nothing lost", ("#7b4fc9", "#b79bf5"), "circle-open"),
    "ack_lost": ("RTO expired, ACKs lost", ("#177a3e", "#4fd08a"), "diamond"),
    "undecided": ("RTO expired, cause undecided", ("#4f5561", "#b9c0ca"), "square"),
}


@plot(_NAME, needs=("segments", "timeouts"))
def rto_backoff(
    trace: Trace,
    findings: Sequence[Finding] = (),
    *,
    capture: str | None = None,
    flow: int = 0,
    direction: str = "a2b",
    most_points: int = 4000,
) -> Figure:
    """Smoothed round-trip time, RTO and each expiry of the timer with the time that it took; below, expiries in a row.

    The RTO includes backoff. Beyond `most_points` (4000: two for each pixel of a
    screen) a line keeps the extremes of each slice of time. `findings` of this direction are shaded.
    """
    return drawn(chart(trace, findings, capture=capture, flow=flow, direction=direction, most_points=most_points))


def chart(
    trace: Trace,
    findings: Sequence[Finding] = (),
    *,
    capture: str | None = None,
    flow: int = 0,
    direction: str = "a2b",
    most_points: int = 4000,
) -> Chart:
    """The figure as data.

    Raises
    ------
    NothingToDraw
        No timer of this direction expired.
    """
    need(trace, _NAME, "segments")
    key = FlowKey.of(trace, capture, flow, direction)
    expiries = _of_direction(trace.table("timeouts"), key) if trace.has("timeouts") else None
    if expiries is None or not expiries.num_rows:
        raise nothing(
            trace,
            f"no retransmission timer of {trace.subject(flow, direction)} expired",
            "the plot rtt_flight shows the round-trip times and the RTO of a connection without timeouts",
        )
    expiries = expiries.sort_by("t_ns")
    t_s, kind = integers(expiries["t_ns"]) / 1e9, coded(expiries["kind"], tuple(_KINDS), len(_KINDS) - 1)
    waited_s = integers(expiries["waited_ns"]) / 1e9
    backoff = integers(expiries["backoff"])
    text = tuple(f"after {n} earlier expiries of the same segment" for n in backoff.tolist())
    shaded = spans(findings, flow=flow, direction=direction)
    series = _lines(trace, key, most_points)
    for code, (name, colours, symbol) in enumerate(_KINDS.values()):
        at = np.flatnonzero(kind == code)
        if len(at):
            words = tuple(text[i] for i in at)
            series.append(Series(name, t_s[at], waited_s[at], colours, symbol=symbol, width=2.2, text=words))
    x, y = backoff_steps(expiries, trace.duration_ns)
    series.append(Series("expiries in a row", x / 1e9, y, _IN_A_ROW, kind="steps", panel=1))
    most = int(backoff.max()) + 1
    return Chart(
        f"{trace.subject(flow, direction)}: retransmission timer and its backoff",
        f"The timer expired {times(len(t_s))}; the longest wait was {waited_s.max():.3g} s. Each mark is an expiry at the time "
        "that the sender had waited; the RTO line includes backoff, which doubles the timer at each expiry (RFC 6298 section 5.5).",
        (
            Panel(TIME, "time (s)", log_y=True, share=2.2, spans=shaded, x_labels=False),
            Panel(TIME, "expiries in a row", y_range=(0, most + 0.5), y_step=max(1, most // 4), spans=shaded),
        ),
        tuple(series),
        same="x",
    )


def backoff_steps(expiries: pa.Table, end_ns: int) -> tuple[Array, Array]:
    """Times (ns) and, from each on, expiries in a row without an ACK of new data between them."""
    t, progress = integers(expiries["t_ns"]), integers(expiries["progress_ns"], -1)
    x, y = [0], [0]
    for at, ends, before in zip(t.tolist(), progress.tolist(), integers(expiries["backoff"]).tolist(), strict=True):
        x.append(at)
        y.append(before + 1)
        if ends >= 0:
            # An ACK that the packet met in its host's queue comes before it at the tap.
            x.append(max(ends, at))
            y.append(0)
    order = np.argsort(np.array(x), kind="stable")
    times, counts = np.array(x)[order], np.array(y)[order]
    return np.append(times, max(end_ns, int(times[-1]))), np.append(counts, counts[-1])


def _of_direction(table: pa.Table, key: FlowKey) -> pa.Table:
    rows = of_flow(table, key)
    return rows.filter(pc.equal(rows["direction"], key.direction))


def _lines(trace: Trace, key: FlowKey, most: int) -> list[Series]:
    """Smoothed round-trip time and RTO of the sender; the latter is the timer without backoff where the tables say it."""
    wanted = ["capture", "flow", "direction", "kind", "t_ns", "srtt_ns", "rto_ns"]
    segments = trace.table("segments")
    rows = of_flow(segments.select([name for name in wanted if name in segments.column_names]), key)
    # The sender's columns describe the row's own direction on data, and the acknowledged direction on a pure ACK.
    pure = coded(rows["kind"], ("ack", "dupack", "window_update")) >= 0
    mine = (coded(rows["direction"], (key.direction,)) == 0) != pure
    out = []
    for name, column, colours, width in (
        ("smoothed RTT", "srtt_ns", LINES["rtt"], 1.0),
        ("RTO", "rto_ns", LINES["rto"], 1.5),
    ):
        if column not in rows.column_names:
            continue
        at = np.flatnonzero(mine & known(rows[column]) & known(rows["t_ns"]))
        t, values = integers(rows["t_ns"])[at], integers(rows[column])[at]
        kept = line(t, values, max(1, most // 4)) if len(at) else at
        out.append(Series(name, t[kept] / 1e9, values[kept] / 1e9, colours, kind="steps", width=width))
    return out
