"""Time between losses against packets sent between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.losses import Losses, first_of_episodes
from wlanlens.plots._chart import Chart, Panel, Series, drawn, need, nothing, thinned
from wlanlens.plots._palette import LINES
from wlanlens.plots._rows import FlowKey, of_flow
from wlanlens.registry import plot
from wlanlens.tables.columns import Array, coded, find, integers, known

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from wlanlens.detection.finding import Finding
    from wlanlens.trace import Trace

_NAME = "inter_loss"
_ENDED_BY = (
    ("retransmitted by the timer", ("#b84a00", "#ff8a4d"), "x", ("rto", "go_back_n")),
    ("retransmitted without a timeout", ("#a3297a", "#f28ac9"), "circle-open", ()),
)


@plot(_NAME, needs=("segments",))
def inter_loss(
    trace: Trace,
    findings: Sequence[Finding] = (),  # noqa: ARG001  every plot takes them
    *,
    capture: str | None = None,
    flow: int = 0,
    direction: str = "a2b",
    most_marks: int = 4000,
) -> Figure:
    """Each loss event by the seconds and the data segments sent since the one before.

    Losses sent before TCP reacted to the first of them are one event. A vertical cluster is a loss after a number of
    packets (a buffer that fills, a rate control that probes); a horizontal one is a loss at a fixed time. `most_marks`:
    events drawn (4000); of more, every k-th.
    """
    return drawn(chart(trace, capture=capture, flow=flow, direction=direction, most_marks=most_marks))


def chart(
    trace: Trace,
    findings: Sequence[Finding] = (),  # noqa: ARG001
    *,
    capture: str | None = None,
    flow: int = 0,
    direction: str = "a2b",
    most_marks: int = 4000,
) -> Chart:
    """The figure as data.

    Raises
    ------
    NothingToDraw
        Fewer than three loss events (two make one distance), or nothing sent between them.
    """
    need(trace, _NAME, "segments")
    key = FlowKey.of(trace, capture, flow, direction)
    at_ns, timer = loss_events(trace, key)
    if len(at_ns) < 3:
        raise nothing(
            trace,
            f"{trace.subject(flow, direction)} has {len(at_ns)} loss event{'' if len(at_ns) == 1 else 's'}, and this plot "
            "shows the distances between at least three",
            "capture a longer transfer; the plot time_sequence shows single losses",
        )
    sent_ns = _sent_ns(trace, key)
    apart_s = np.diff(at_ns) / 1e9
    packets = np.diff(np.searchsorted(sent_ns, at_ns))
    kept = (apart_s > 0) & (packets > 0)
    if not kept.any():
        raise nothing(
            trace,
            f"{trace.subject(flow, direction)} sent nothing between its loss events, or no time passed",
            "capture a longer transfer; the plot time_sequence shows single losses",
        )
    apart_s, packets, timer = apart_s[kept], packets[kept], timer[1:][kept]
    series = []
    for code, (name, colours, symbol, _) in enumerate(_ENDED_BY):
        mine = np.flatnonzero(timer == (code == 0))
        mine = mine[thinned(len(mine), most_marks)]
        if len(mine):
            series.append(Series(f"loss {name}", packets[mine], apart_s[mine], colours, symbol=symbol, width=1.8))
    mean = len(sent_ns) / max(1e-9, float(sent_ns[-1] - sent_ns[0]) / 1e9)
    x_range, y_range = _around(packets), _around(apart_s)
    ends = np.array(x_range)
    series.append(
        Series(f"mean rate, {mean:.3g} packets/s", ends, ends / mean, LINES["other_copy"], kind="line", dash="dash")
    )
    return Chart(
        f"{trace.subject(flow, direction)}: time and packets between losses",
        f"{len(at_ns)} loss events, {np.median(packets):.3g} packets and {np.median(apart_s):.3g} s apart (medians). A horizontal "
        "cluster means losses at a fixed time (polling, scans), a vertical one losses after as many packets (a buffer, rate "
        "probing).",
        (
            Panel(
                "packets between losses",
                "time between losses (s)",
                log_x=True,
                log_y=True,
                x_range=x_range,
                y_range=y_range,
            ),
        ),
        tuple(series),
    )


def _around(values: Array) -> tuple[float, float]:
    """Limits of a logarithmic axis, at least a factor of four on both sides of the median: a cluster must look like one."""
    middle = float(np.median(values))
    return min(middle / 4, float(values.min()) / 1.5), max(middle * 4, float(values.max()) * 1.5)


def loss_events(trace: Trace, key: FlowKey) -> tuple[Array, Array]:
    """When the first lost segment of each event was sent, ns, and whether the timer retransmitted it."""
    facts = Facts.of(trace)
    losses = facts.cached(Losses)
    first = first_of_episodes(losses, slice(0, len(losses)))
    rows = of_flow(trace.table("segments").select(["capture", "flow", "direction", "packet", "trigger"]), key)
    number = integers(rows["packet"])
    ours = coded(rows["direction"], (key.direction,)) == 0
    timed = ours & (coded(rows["trigger"], _ENDED_BY[0][3]) >= 0)
    # A loss is of this direction if its retransmission is.
    mine = first[find(number[ours], losses.packet[first]) >= 0]
    return losses.t_ns[mine], find(number[timed], losses.packet[mine]) >= 0


def _sent_ns(trace: Trace, key: FlowKey) -> Array:
    """When each data segment was sent, in order: retransmissions too."""
    rows = of_flow(trace.table("segments"), key)
    data = (coded(rows["direction"], (key.direction,)) == 0) & (integers(rows["len"]) > 0) & known(rows["t_ns"])
    sent = coded(rows["transmission"], ("first", "retransmission", "reordered")) >= 0
    return np.sort(integers(rows["t_ns"])[data & sent])
