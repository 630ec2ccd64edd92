"""The page of all traces of a batch: causes by seconds, worst traces first, each with its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from markupsafe import Markup

from wlanlens import formatting
from wlanlens.formatting import page_count, page_seconds, page_share, page_size
from wlanlens.ledger.ledger import HEALTHY, PLAIN
from wlanlens.plots._palette import CATEGORIES
from wlanlens.report import bundle
from wlanlens.report.page import environment
from wlanlens.report.policy import digest, policy
from wlanlens.tables.fleet_schemas import STATUSES

if TYPE_CHECKING:
    import pyarrow as pa

SCRIPTS = ("fleet",)
MOST_ROWS = 20_000
"""Traces on the page: it stays below 20 MB."""

#: What the statuses mean, for people.
WORDS = {
    "done": "analysed",
    "unreadable": "unreadable",
    "timeout": "timed out",
    "killed": "killed",
    "refused": "refused",
}


@dataclass(frozen=True)
class Cause:
    """A category of the ledger over all traces.

    Attributes
    ----------
    name : str
    ns : int
        Its time over all connections of all traces.
    traces, worst_of : int
        Traces that have it, and traces of which it is the main cause.
    """

    name: str
    ns: int
    traces: int
    worst_of: int

    @property
    def healthy(self) -> bool:
        """Whether a healthy transfer has it too."""
        return self.name in HEALTHY


def causes(rows: Iterable[Mapping[str, Any]]) -> list[Cause]:
    """The categories of all rows of `runs`, most time first."""
    ns: Counter[str] = Counter()
    traces: Counter[str] = Counter()
    worst_of: Counter[str] = Counter()
    for row in rows:
        for part in row["ledger"] or ():
            if part["category"] in PLAIN and part["ns"] > 0:
                ns[part["category"]] += part["ns"]
                traces[part["category"]] += 1
        worst_of[row["cause"] or ""] += 1
    return [Cause(name, total, traces[name], worst_of[name]) for name, total in ns.most_common()]


def headline(rows: list[dict[str, Any]], found: list[Cause]) -> str:
    """What the batch found, in one sentence."""
    done = [row for row in rows if row["status"] == "done"]
    lost_ns, life_ns = sum(c.ns for c in found if not c.healthy), sum(c.ns for c in found)
    analysed = f"{formatting.count(len(done), 'trace')} analysed" if done else "No trace was analysed"
    failed = f", {formatting.count(len(rows) - len(done), 'trace')} not" if len(done) < len(rows) and done else ""
    if not life_ns:
        return f"{analysed}{failed}; no connection carried data." if done else f"{analysed}."
    worst = next((c for c in found if not c.healthy), None)
    if worst is None:
        return f"{analysed}{failed}; no time was lost in {formatting.seconds(life_ns)} of connections."
    return (
        f"{analysed}{failed}: connections lost {formatting.share(lost_ns, life_ns)} of their {formatting.seconds(life_ns)}, "
        f"the largest part to {PLAIN[worst.name]}: {formatting.share(worst.ns, life_ns)}, the main cause in "
        f"{formatting.count(worst.worst_of, 'trace')}."
    )


def worst_first(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The analysed traces by seconds lost, then the others by status and name."""
    return sorted(
        rows,
        key=lambda row: (STATUSES.index(row["status"]), -(row["lost_s"] or 0.0), -(row["life_s"] or 0.0), row["run"]),
    )


def html(runs: pa.Table, reports: Mapping[str, str]) -> str:
    """The page.

    Parameters
    ----------
    runs : pa.Table
        The table `runs`.
    reports : mapping
        Run -> path of its report from the page's folder, of the runs that have one.
    """
    rows = worst_first(runs.to_pylist())
    found = causes(rows)
    script = bundle.own(SCRIPTS)
    counts = Counter(row["status"] for row in rows)
    return (
        environment()
        .get_template("fleet.html.jinja")
        .render(
            policy=policy([digest(script)], spilled=False),
            css=Markup(bundle.text("page.css") + bundle.text("fleet.css")),  # noqa: S704  our own files
            script=Markup(script),  # noqa: S704  our own file
            categories=CATEGORIES,
            headline=headline(rows, found),
            facts=[
                *(f"{page_count(counts[status])} {WORDS[status]}" for status in STATUSES if counts[status]),
                f"{page_size(sum(row['size_bytes'] for row in rows))} of captures",
                f"{page_count(sum(row['connections'] or 0 for row in rows))} TCP connections",
            ],
            causes=_causes(found),
            rows=[_row(row, reports) for row in rows[:MOST_ROWS]],
            left=f"{page_count(len(rows) - MOST_ROWS)} more traces are in runs.parquet."
            if len(rows) > MOST_ROWS
            else "",
            kinds=[cause for cause in _causes(found) if cause["worst_of"]],
            statuses=[(status, WORDS[status]) for status in STATUSES if counts[status]] if len(counts) > 1 else [],
            version=version("wlanlens"),
        )
    )


def _causes(found: list[Cause]) -> list[dict[str, Any]]:
    life_ns = sum(cause.ns for cause in found)
    return [
        {
            "name": cause.name,
            "title": PLAIN[cause.name],
            "ns": cause.ns,
            "seconds": page_seconds(cause.ns / 1e9),
            "share": page_share(cause.ns, life_ns),
            "traces": page_count(cause.traces),
            "worst_of": cause.worst_of,
            "healthy": cause.healthy,
        }
        for cause in found
    ]


def _row(row: Mapping[str, Any], reports: Mapping[str, str]) -> dict[str, Any]:
    report = reports.get(row["run"])
    parts = [part for part in row["ledger"] or () if part["category"] in PLAIN and part["ns"] > 0]
    life_ns = sum(part["ns"] for part in parts)
    return {
        "trace": row["trace"],
        "href": quote(report) if report else "",
        "status": row["status"],
        "word": WORDS[row["status"]],
        "lost": page_seconds(row["lost_s"]),
        "share": page_share(row["lost_s"] or 0.0, row["life_s"] or 0.0) if life_ns else formatting.MISSING,
        "cause": row["cause"] or "",
        "cause_title": PLAIN.get(row["cause"], ""),
        # A hundredth of the life is the least that can be seen in a bar of this width.
        "parts": [
            (part["category"], max(1, round(100 * part["ns"] / life_ns)), PLAIN[part["category"]])
            for part in parts
            if 100 * part["ns"] >= life_ns
        ],
        "words": row["verdict"] if row["status"] == "done" else row["reason"],
    }
