"""Write the report: one HTML file that opens with no network, its data inside it or, past 20 MB, beside it."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup

from wlanlens.plots._palette import LINES, OWNERS, TRIGGERS
from wlanlens.report import bundle, context, encode, grids, units
from wlanlens.report.balance import accounts
from wlanlens.report.inert import embedded, shown
from wlanlens.report.policy import policy
from wlanlens.report.verdict import verdict as verdict_of
from wlanlens.report.views import MOST_VIEWS, View, data_flows, view

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.finding import Finding
    from wlanlens.judge import DetectorState
    from wlanlens.trace import Trace

DATA_FOLDER = "report_data"

MOST_INSIDE = 17_000_000
"""Characters of flow data inside the page: with plotly.js (2 MB) and the text it stays below 20 MB."""


def write(
    analysis_dir: Path,
    *,
    trace: Trace,
    findings: Sequence[Finding],
    ledger: pa.Table,
    states: Sequence[DetectorState],
    out_path: Path,
    verdict: str | None = None,
    beside: Callable[[str, str], Path] | None = None,
) -> None:
    """Write the report of one analysis.

    Parameters
    ----------
    analysis_dir : Path
        The directory as the user named it, for the commands that the page shows.
    trace, findings, ledger, states
        What was analysed, the findings in the order of findings.json, where the time went, how each detector fared.
    out_path : Path
        The HTML file.
    verdict : str or None
        The page's first sentence; None: made from the ledger.
    beside : callable or None
        (folder, name) -> path to write a data file to; None: in `report_data` next to `out_path`.
    """
    books = accounts(ledger)
    flows = data_flows(trace, findings)
    size = dict(flows)
    views = [view(trace, key, ledger) for key, _ in flows[:MOST_VIEWS]]
    inside, files = _stow(views, beside or _next_to(out_path))

    order = [key for key, _ in flows if key in books]
    order += sorted(books.keys() - set(order), key=lambda key: -books[key].total_ns)
    if not any(f.flow is not None for f in findings):
        order.sort(key=lambda key: (-books[key].lost_ns, -size.get(key, 0)))
    subjects = {key: trace.subject(key.flow, key.direction) for key in order[: context.MOST_BARS]}
    shown_books = [books[key] for key in order[: context.MOST_BARS]]
    rows = context.finding_rows(findings, views, str(analysis_dir))
    columns, quality = grids.quality_rows(trace)
    notes = sorted(trace.notes, key=lambda n: (("error", "loss", "info").index(n.severity), -n.count))
    script = bundle.own()
    plotly = bundle.plotly()
    flow_columns, flow_rows, flow_rows_left = grids.flow_rows(trace)

    page = _environment().get_template("page.html.jinja")
    stream = page.stream(
        policy=policy([script, plotly.decode()], spilled=any(files)),
        css=Markup(bundle.text("page.css")),  # noqa: S704  our own file
        script=Markup(script),  # noqa: S704  our own files
        plotly=Markup(encode.packed(plotly)) if views else "",  # noqa: S704  base64
        inside=[Markup(text) for text in inside],  # noqa: S704  base64
        page=embedded(context.page_data(views, rows, files)),
        owners=OWNERS, triggers=TRIGGERS, lines=LINES,
        verdict=verdict if verdict is not None else verdict_of(shown_books, subjects),
        captures=trace.captures,
        facts=_facts(trace, len(flows)),
        started=_started(trace),
        version=version("wlanlens"),
        losses=[n for n in notes if n.severity != "info"][:5],
        bars=context.bar_rows(shown_books, subjects),
        bars_left=_left(len(order) - len(shown_books), "flow", f"in the table ledger; they lived {units.seconds(sum(books[k].total_ns for k in order[context.MOST_BARS:]) / 1e9)} in all"),
        rows=rows, finding_count=len(findings),
        findings_left=_left(len(findings) - len(rows), "finding", "in findings.json"),
        groups=context.state_groups(states),
        views=views,
        views_left=_left(len(flows) - len(views), "flow", "without a figure here; they cost less or carried less"),
        no_figure="No TCP connection with data, so there is nothing to draw.",
        flow_columns=flow_columns, flows=flow_rows,
        flows_left=_left(flow_rows_left, "direction", "with data in the table flows"),
        quality_columns=columns, quality=quality,
        notes=notes[: grids.MOST_NOTES],
        notes_left=_left(len(notes) - grids.MOST_NOTES, "kind of note", "in analysis.json"),
    )  # fmt: skip
    with open(out_path, "x", encoding="utf-8") as out:
        stream.dump(out)


def _environment() -> jinja2.Environment:
    """Templates that escape everything: control characters by `finalize`, HTML by autoescape."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("wlanlens.report", "."),
        autoescape=True,
        finalize=shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        count=units.count, seconds=units.seconds, confidence=units.confidence, legend=context.legend,
        words=lambda code: context.sentence_case(code.replace("_", " ")),
    )  # fmt: skip
    return made


def _stow(views: Sequence[View], place: Callable[[str, str], Path]) -> tuple[list[str], list[str | None]]:
    """(text inside the page, file beside it) of each view; the page holds what fits, in order."""
    inside: list[str] = []
    files: list[str | None] = []
    room = MOST_INSIDE
    for i, v in enumerate(views):
        if len(v.packed) <= room:
            room -= len(v.packed)
            inside.append(v.packed)
            files.append(None)
        else:
            name = f"flow-{i}.js"
            place(DATA_FOLDER, name).write_text(f'wlanlensData("flow-{i}","{v.packed}");\n', "ascii")
            inside.append("")
            files.append(f"{DATA_FOLDER}/{name}")
    return inside, files


def _next_to(out_path: Path) -> Callable[[str, str], Path]:
    def place(folder: str, name: str) -> Path:
        there = out_path.parent / folder
        there.mkdir(exist_ok=True)
        return there / name

    return place


def _facts(trace: Trace, flows: int) -> list[str]:
    """Size and time of what was captured."""
    records = sum(int(c.info.get("records", 0)) for c in trace.captures)
    return [
        *([f"{units.count(records)} packets"] if records else []),
        f"{units.count(flows)} {'flow direction' if flows == 1 else 'flow directions'} with data",
        f"{units.seconds(trace.duration_ns / 1e9)} long",
        f"from {_started(trace)}",
    ]


def _started(trace: Trace) -> str:
    """Date and time of t = 0."""
    seconds, rest = divmod(trace.start_ns, 1_000_000_000)
    try:
        at = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    except (OverflowError, ValueError, OSError):
        return f"{trace.start_ns} ns after 1970"
    return f"{at:%Y-%m-%d %H:%M:%S}.{rest // 1_000_000:03} UTC"


def _left(number: int, what: str, where: str) -> str:
    """What the page leaves out; empty when nothing."""
    return f"{units.count(number)} more {what}{'' if number == 1 else 's'} {where}." if number > 0 else ""


