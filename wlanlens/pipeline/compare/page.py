"""A comparison as rows of text: for the terminal, and for its HTML page."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from wlanlens.formatting import bit_rate, duration, percent
from wlanlens.ledger.ledger import HEALTHY, PLAIN
from wlanlens.pipeline.compare.comparison import Comparison, FindingCosts, Measure, Side
from wlanlens.plots._palette import CATEGORIES
from wlanlens.report import comparison as report
from wlanlens.report.comparison import Cell, Column, Row


def write(out: Path, compared: Comparison) -> None:
    """Write the HTML page of a comparison; a file that is there is replaced."""
    full = [side for side in compared.sides if side.runs]
    lives = {side.name: sum(m.median(side.name) for m in compared.ledger) for side in full}
    longest = max(lives.values(), default=0.0)
    report.write(
        out,
        sentences=compared.sentences,
        remarks=compared.remarks,
        columns=[
            Column(
                side.name,
                tuple(run.path for run in side.runs),
                _seconds(lives[side.name], compared),
                tuple((m.name, m.median(side.name)) for m in compared.ledger if m.median(side.name) > 0),
                lives[side.name] / longest if longest else 0.0,
            )
            for side in full
        ],
        speed=speed_rows(compared),
        ledger=ledger_rows(compared),
        findings=finding_rows(compared),
    )


def speed_rows(compared: Comparison) -> list[Row]:
    """Goodput and time."""
    title = "seconds per MB" if compared.per_megabyte else "time"
    return [
        _row(compared, compared.goodput, "goodput", "unique payload per second", head=True),
        _row(compared, compared.duration, title, "from the first transfer's start to the last one's end", head=True),
    ]


def ledger_rows(compared: Comparison) -> list[Row]:
    """The categories of the ledger."""
    return [_row(compared, measure, PLAIN[measure.name], "", category=measure.name) for measure in compared.ledger]


def finding_rows(compared: Comparison) -> list[Row]:
    """The codes that were found on any side."""
    full = [side for side in compared.sides if side.runs]
    out = []
    for one in compared.findings:
        cells = [_finding(one, side, full[0], compared) for side in full]
        cause = f"caused by {one.caused_by.replace('_', ' ')}" if one.caused_by else ""
        out.append(Row(one.code.replace("_", " "), cause, tuple(cells)))
    return out


def _row(
    compared: Comparison, measure: Measure, title: str, meaning: str, *, category: str = "", head: bool = False
) -> Row:
    full = [side for side in compared.sides if side.runs]
    cells = [_cell(compared, measure, side, full[0]) for side in full]
    return Row(title, meaning, tuple(cells), category, head)


def _cell(compared: Comparison, measure: Measure, side: Side, first: Side) -> Cell:
    values = measure.values[side.name]
    middle = measure.median(side.name)
    value = _text(measure, middle, compared)
    if measure.name in CATEGORIES:
        # The share of the medians: of the time that the side spent on its transfers.
        life = sum(m.median(side.name) for m in compared.ledger)
        value += f" ({percent(round(middle * 1e9), round(life * 1e9))})"
    several = len(values) > 1
    spread = f"{_text(measure, min(values), compared)} to {_text(measure, max(values), compared)}" if several else ""
    if side is first:
        return Cell(value, spread)
    this = measure.difference(side.name)
    sure = ""
    if this.p_value is not None:
        sure = {True: f"p {this.p_value:.2g}", False: "may be chance", None: "cannot tell"}[this.sure]
    verdict = ""
    if this.change and (this.p_value is None or this.sure) and (measure.name not in HEALTHY):
        verdict = "better" if (this.change > 0) == (measure.name == "goodput_bps") else "worse"
    sign = "+" if this.change > 0 else "-"
    change = f"{sign}{_text(measure, abs(this.change), compared)}" if this.change else "0"
    return Cell(value, spread, change, verdict, sure)


def _text(measure: Measure, value: float, compared: Comparison) -> str:
    return bit_rate(value) if measure.unit == "bit/s" else _seconds(value, compared)


def _seconds(value_s: float, compared: Comparison) -> str:
    return (duration(value_s) if value_s else "0 s") + ("/MB" if compared.per_megabyte else "")


def _finding(one: FindingCosts, side: Side, first: Side, compared: Comparison) -> Cell:
    runs = len(side.runs)
    cost = _seconds(median(one.costs[side.name]), compared) if one.found_in[side.name] else "not found"
    spread = f"in {one.found_in[side.name]} of {runs} runs" if runs > 1 and one.found_in[side.name] else ""
    if side is first:
        return Cell(cost, spread)
    change = one.change(first.name, side.name)
    return Cell(cost, spread, ("+" if change > 0 else "-") + _seconds(abs(change), compared) if change else "0")
