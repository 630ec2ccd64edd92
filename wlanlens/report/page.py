"""Write the report: one HTML file that needs no network; beyond 20 MB its data is in files next to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup

from wlanlens import formatting
from wlanlens.plots._palette import CATEGORIES, LINES, STAGES, TRIGGERS, USES
from wlanlens.report import bundle, context, grids, layers, plotly_script
from wlanlens.report import bus as bus_section
from wlanlens.report.compiled_templates import CompiledTemplates
from wlanlens.report.inert import as_clause, embedded, shown, unbroken, with_code
from wlanlens.report.page_figures import page_figures
from wlanlens.report.policy import digest, policy

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.airtime import Summary
    from wlanlens.detection.finding import Finding
    from wlanlens.detection.findings import DetectorState
    from wlanlens.plots._rows import FlowKey
    from wlanlens.report.air_view import AirView
    from wlanlens.trace import Trace

DATA_FOLDER = "report_data"

FRAME_FLOOD = 400_000
"""From this many frames on the analysis passes only a part of them to the report (`downsampling.FRAME_ROWS`)."""

MOST_CAUSES = 3
"""Causes above the fold."""

MOST_INSIDE = 17_000_000
"""Characters of data inside the page: with plotly.js (2 MB) and text it stays below 20 MB."""


def write(
    analysis_dir: Path,
    *,
    trace: Trace,
    findings: Sequence[Finding],
    ledger: pa.Table,
    states: Sequence[DetectorState],
    out_path: Path,
    verdict: str,
    about: FlowKey | None = None,
    connections: int,
    air: Summary | None = None,
    beside: Callable[[str, str], Path] | None = None,
) -> None:
    """Write the report of one analysis.

    Parameters
    ----------
    analysis_dir : Path
        The directory as the user named it, for the commands on the page.
    trace, findings, ledger, states
        The trace, its findings in the order of findings.json, its ledger, and the state of each detector.
    out_path : Path
        The HTML file.
    verdict : str
        The page's first sentence.
    about : FlowKey or None
        The direction that it is about: its figure and its bar come first.
    connections : int
        TCP connections of the whole capture; `trace` may hold only some of them.
    air : Summary or None
        Use of the air over the whole capture.
    beside : callable or None
        (folder, name) -> path to write a data file to; None: in `report_data` next to `out_path`.
    """
    plotly_script.begin_packing()
    made = page_figures(trace, findings, ledger, about, air)
    books, views, frames, transfers = made.books, made.views, made.frames, made.transfers
    packed = made.packed
    inside, files = _stow(packed, beside or _next_to(out_path))
    drawn = layers.page(trace, made.journeys, files, str(analysis_dir))

    shown = made.first(context.MOST_BARS)
    subjects = {key: trace.subject(key.flow, key.direction) for key in shown}
    told = context.told_stories(
        findings, views, str(analysis_dir), on=[name for name, there in (("air", frames), ("bus", transfers)) if there]
    )
    rows = [row for one in told for kind in one.kinds for row in kind.rows]
    if drawn:
        drawn["findings"] = {
            row.number: layers.opened_by(trace, made.journeys, row.finding, row.view) for row in rows if row.has_figure
        }
    notes = sorted(trace.notes, key=lambda n: (("error", "loss", "info").index(n.severity), -n.count))
    script = bundle.own()
    plotly = plotly_script.plotly()
    clock_heads, clocks = grids.clocks(trace)
    flow_columns, flow_rows, flows_left = grids.flow_rows(trace)

    facts = _facts(trace, connections)

    page = environment().get_template("page.html.jinja")
    stream = page.stream(
        policy=policy([digest(script), plotly.source], spilled=any(files.values())),
        css=Markup(bundle.text("page.css")),  # noqa: S704  our own file
        script=Markup(script),  # noqa: S704  our own files
        plotly=Markup(plotly.packed) if packed else "",  # noqa: S704  base64
        inside=[(name, Markup(text)) for name, text in inside.items()],  # noqa: S704  base64
        bus=bus_section.section(trace),
        bus_view=transfers,
        air=made.air,
        air_view=frames,
        air_thinned=_thinned(frames, air),
        uses=USES,
        page=embedded(context.page_data(views, rows, files, frames, transfers, drawn, made.more)),
        categories=CATEGORIES,
        triggers=TRIGGERS,
        lines=LINES,
        verdict=context.lead(verdict),
        captures=trace.captures,
        facts=facts,
        started=_started(trace) if facts else "",
        version=version("wlanlens"),
        losses=[n for n in notes if n.severity != "info"][:5],
        bars=context.bar_rows([books[key] for key in shown], subjects),
        bars_left=_others(connections, len({key.flow for key in shown}), "the table ledger"),
        told=told,
        causes=[one for one in told if one.story.cost_s > 0][:MOST_CAUSES],
        life=(about, books[about].total_ns) if about in books else None,
        finding_count=len(findings),
        groups=context.state_groups(states),
        views=views,
        layers=drawn,
        strip=context.strip([books[v.key] for v in views if v.key in books]),
        thinned_journeys=[one.every if one else 1 for one in made.journeys],
        stages=STAGES,
        clock_heads=clock_heads,
        clocks=clocks,
        views_left=_others(connections, len({v.key.flow for v in views}), "the table segments"),
        no_figure="No TCP connection carried data, so there is nothing to draw.",
        flow_columns=flow_columns,
        flows=flow_rows,
        flows_left=_others(connections, connections - flows_left, "the table flows") if flows_left else "",
        more=made.more,
        quality=grids.quality(trace),
        notes=notes[: grids.MOST_NOTES],
        notes_left=_left(len(notes) - grids.MOST_NOTES, "kind of note", "in analysis.json"),
    )
    with open(out_path, "x", encoding="utf-8") as out:
        out.writelines(stream)


@cache
def environment() -> jinja2.Environment:
    """Templates that escape all text: control characters by `finalize`, HTML by autoescape."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("wlanlens.report", "."),
        bytecode_cache=CompiledTemplates(),
        autoescape=True,
        finalize=shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        count=formatting.page_count,
        seconds=formatting.page_seconds,
        confidence=formatting.page_confidence,
        unbroken=unbroken,
        with_code=with_code,
        as_clause=as_clause,
        legend=context.legend,
        words=lambda code: context.sentence_case(code.replace("_", " ")),
    )
    return made


def _thinned(frames: AirView | None, air: Summary | None) -> str:
    """Which frames the figure does not draw."""
    if frames is None or air is None:
        return ""
    drawable = (
        air.frames - air.damaged - sum(air.purpose_frames.get(name, 0) for name in ("acknowledgement", "reservation"))
    )
    if frames.rows >= 0.9 * drawable or drawable < FRAME_FLOOD:
        return "Control frames and damaged frames are not drawn."
    drawn = f"{formatting.page_count(frames.rows)} of {formatting.page_count(drawable)}"
    return f"{drawn} frames are drawn, with all retries. Control frames and damaged frames are not drawn."


def _stow(
    columns: Sequence[tuple[str, str]], place: Callable[[str, str], Path]
) -> tuple[dict[str, str], dict[str, str | None]]:
    """(text in the page, file next to it) of each named pack of columns; the page takes packs in order until it is full."""
    inside: dict[str, str] = {}
    files: dict[str, str | None] = {}
    room = MOST_INSIDE
    for name, packed in columns:
        if len(packed) <= room:
            room -= len(packed)
            inside[name], files[name] = packed, None
        else:
            place(DATA_FOLDER, f"{name}.js").write_text(f'wlanlensData("{name}","{packed}");\n', "ascii")
            files[name] = f"{DATA_FOLDER}/{name}.js"
    return inside, files


def _next_to(out_path: Path) -> Callable[[str, str], Path]:
    def place(folder: str, name: str) -> Path:
        there = out_path.parent / folder
        there.mkdir(exist_ok=True)
        return there / name

    return place


def _facts(trace: Trace, connections: int) -> list[str]:
    """Size, length and start of the capture; nothing of one without records, which has no start."""
    records = sum(int(c.info.get("records", 0)) for c in trace.captures)
    if not records:
        return []
    return [
        f"{formatting.page_count(records)} packets",
        f"{formatting.page_count(connections)} TCP {'connection' if connections == 1 else 'connections'}",
        f"{formatting.page_seconds(trace.duration_ns / 1e9)} long",
        f"starts {_started(trace)}",
    ]


def _started(trace: Trace) -> str:
    """Date and time of t = 0."""
    try:
        return formatting.utc(trace.start_ns, digits=3)
    except (OverflowError, ValueError, OSError):
        return f"{trace.start_ns} ns after 1970"


def _others(connections: int, shown: int, where: str) -> str:
    """How many connections are shown; empty if all are."""
    if connections <= shown:
        return ""
    return f"{formatting.page_count(shown)} of {formatting.page_count(connections)} connections are shown; all are in {where}."


def _left(number: int, what: str, where: str) -> str:
    """How much the page leaves out; empty if nothing."""
    return f"{formatting.page_count(number)} more {what}{'' if number == 1 else 's'} {where}." if number > 0 else ""
