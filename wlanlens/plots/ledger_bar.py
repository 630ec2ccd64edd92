"""The ledger as bars: where the time of each flow went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wlanlens.ledger.ledger import PLAIN, summary
from wlanlens.plots._figure import escaped
from wlanlens.plots._palette import CATEGORIES
from wlanlens.registry import plot

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from wlanlens.detection.finding import Finding
    from wlanlens.trace import Trace


@plot("ledger_bar", needs=("ledger",))
def ledger_bar(
    trace: Trace,
    findings: Sequence[Finding] = (),  # noqa: ARG001  every plot takes them
    *,
    flow: int | None = None,
    direction: str | None = None,
    most_flows: int = 20,
) -> Figure:
    """One bar per flow with its seconds by ledger category; longest flows first, at most `most_flows` (20: a screen).

    `flow` and `direction` select one of them.
    """
    import plotly.graph_objects as go

    lives: dict[tuple[str, int, str], dict[str, int]] = {}
    for row in summary(trace.table("ledger")).to_pylist():
        if flow in (None, row["flow"]) and direction in (None, row["direction"]):
            lives.setdefault((row["capture"], row["flow"], row["direction"]), {})[row["category"]] = row["ns"]
    order = sorted(lives, key=lambda key: (-sum(lives[key].values()), key))[:most_flows]
    names = [escaped(trace.subject(key[1], key[2])) for key in order]
    used = [category for category in CATEGORIES if any(category in lives[key] for key in order)]
    figure = go.Figure(
        [
            go.Bar(
                y=names,
                x=[lives[key].get(category, 0) / 1e9 for key in order],
                orientation="h",
                name=PLAIN[category],
                marker={"color": CATEGORIES[category].colour, "line": {"color": "#fff", "width": 1}},
                hovertemplate=f"{escaped(PLAIN[category])}: %{{x:.3f}} s<extra></extra>",
            )
            for category in used
        ]
    )
    return figure.update_layout(
        barmode="stack",
        template="simple_white",
        title={"text": "Where the time went"},
        xaxis={"title": {"text": "seconds"}},
        yaxis={"autorange": "reversed"},
    )
