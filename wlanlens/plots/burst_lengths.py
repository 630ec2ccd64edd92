"""Lengths of bursts: of failed 802.11 transmissions and of lost packets, against independent losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from wlanlens.plots._chart import Chart, Panel, Series, drawn, need, nothing
from wlanlens.plots._palette import LINES
from wlanlens.registry import plot
from wlanlens.tables.columns import Array, coded, integers

if TYPE_CHECKING:
    import pyarrow as pa
    from plotly.graph_objects import Figure

    from wlanlens.detection.finding import Finding
    from wlanlens.trace import Trace

_NAME = "burst_lengths"
_OUTCOMES = ("delivered", "dropped")
_HAPPENED = {"failed transmissions": "transmissions failed", "lost packets": "packets were lost"}
_INDEPENDENT = LINES["other_copy"]


@plot(_NAME, needs=("exchanges",))
def burst_lengths(
    trace: Trace,
    findings: Sequence[Finding] = (),  # noqa: ARG001  every plot takes them
    *,
    flow: int | None = None,
    direction: str | None = None,
    transmitter: str | None = None,
) -> Figure:
    """Share of the bursts that are at least so long: failed transmissions of one link, and lost packets of it.

    A burst is a run of failed transmissions from one transmitter to one receiver, retries included; below, a run of packets
    that were dropped after their last retry. Dashed: as many independent losses. The link is the one that carries most
    frames of `flow` and `direction`, or of `transmitter`; without them the busiest.
    """
    return drawn(chart(trace, flow=flow, direction=direction, transmitter=transmitter))


def chart(
    trace: Trace,
    findings: Sequence[Finding] = (),  # noqa: ARG001
    *,
    flow: int | None = None,
    direction: str | None = None,
    transmitter: str | None = None,
) -> Chart:
    """The figure as data.

    Raises
    ------
    NothingToDraw
        No transmission of the link failed.
    """
    need(trace, _NAME, "exchanges")
    exchanges = trace.table("exchanges")
    link = _link(exchanges, flow, direction, transmitter)
    if link is None:
        raise nothing(
            trace,
            "no frame to a single station was sent by this transmitter"
            if transmitter
            else "no frame to a single station",
            "wl.plots.rate_over_time shows the transmitters of the capture",
        )
    bad, lost = trials(exchanges, *link)
    if not bad.any():
        raise nothing(
            trace,
            f"none of {len(bad)} transmissions from {link[0]} to {link[1]} failed",
            "choose another link with transmitter=ADDRESS",
        )
    series, words = [], []
    for panel, (values, what, colours) in enumerate(
        ((bad, "failed transmissions", LINES["retry"]), (lost, "lost packets", LINES["data"]))
    ):
        lengths = run_lengths(values)
        if not len(lengths):
            continue
        n, share = at_least(lengths)
        series.append(Series(f"bursts of {what} ({len(lengths)})", n, 100 * share, colours, width=1.6, panel=panel))
        rate = float(values.mean())
        k = np.arange(1, int(lengths.max()) + 1)
        series.append(
            Series(
                "independent losses", k, 100 * rate ** (k - 1.0), _INDEPENDENT, kind="line", dash="dash", panel=panel
            )
        )
        words.append(
            f"{100 * rate:.3g} % of {len(values)} {_HAPPENED[what]}, in {len(lengths)} bursts of {lengths.mean():.3g} on average, at most {lengths.max()}"
        )
    least = 100 / max(2.0, *(len(run_lengths(values)) for values in (bad, lost))) / 2
    panels = [
        Panel(f"{unit} in a row, at least", "bursts (%)", title, log_y=True, x_range=(0.5, max(5, int(run_lengths(values).max())) + 0.5),
              y_range=(least, 130))
        for unit, title, values in (
            ("failed transmissions", "802.11 frames", bad),
            ("lost packets", "packets after all retries", lost),
        )
        if values.any()
    ]  # fmt: skip
    return Chart(
        f"{link[0]} > {link[1]}: lengths of bursts",
        "; ".join(words)
        + ". Where the marks lie above the dashed line, losses come in bursts longer than chance makes.",
        tuple(panels),
        tuple(series),
    )


def _link(
    exchanges: pa.Table, flow: int | None, direction: str | None, transmitter: str | None
) -> tuple[str, str] | None:
    """(transmitter, receiver) with most exchanges of those that are wanted."""
    mine = exchanges.select(["ta", "ra", "flow", "direction"])
    if transmitter is not None:
        mine = mine.filter(pc.equal(mine["ta"], transmitter))
    elif flow is not None:
        of_flow = mine.filter(pc.equal(mine["flow"], flow))
        if direction is not None:
            of_flow = of_flow.filter(pc.equal(of_flow["direction"], direction))
        mine = of_flow if of_flow.num_rows else mine
    counted = mine.group_by(["ta", "ra"], use_threads=False).aggregate([([], "count_all")])
    pairs = [row for row in counted.to_pylist() if row["ta"] and row["ra"]]
    if not pairs:
        return None
    best = max(pairs, key=lambda row: (row["count_all"], row["ta"], row["ra"]))
    return best["ta"], best["ra"]


def trials(exchanges: pa.Table, ta: str, ra: str) -> tuple[Array, Array]:
    """Of one link in order of time: whether each transmission failed, and whether each packet was lost.

    An exchange of n transmissions has n failures if its packet was dropped, else n - 1 and a success; the last
    transmission and the packet are left out where the outcome is unknown.
    """
    mine = exchanges.filter(pc.and_(pc.equal(exchanges["ta"], ta), pc.equal(exchanges["ra"], ra)))
    outcome = coded(mine["outcome"], _OUTCOMES)
    order = np.argsort(integers(mine["t_last_ns"]), kind="stable")
    attempts, outcome = np.maximum(integers(mine["attempts"])[order], 1), outcome[order]
    bad = np.ones(int(attempts.sum()), np.int8)
    # Of an unknown outcome, -1, the last transmission is left out.
    bad[np.cumsum(attempts) - 1] = outcome
    return bad[bad >= 0] == 1, outcome[outcome >= 0] == 1


def run_lengths(values: Array) -> Array:
    """Lengths of the runs of true."""
    edges = np.diff(np.concatenate(([0], values.astype(np.int8), [0])))
    return np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)


def at_least(lengths: Array) -> tuple[Array, Array]:
    """Each length that occurs, and the share of the runs that are at least so long."""
    n, counts = np.unique(lengths, return_counts=True)
    return n, np.cumsum(counts[::-1])[::-1] / len(lengths)
