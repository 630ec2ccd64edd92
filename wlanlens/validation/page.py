"""The tables of a validation as text, as docs/validation.md and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from wlanlens.validation.summary import Line, Promise, Validation

HEAD = (
    "detector", "judged at", "runs", "true", "found", "precision", "recall", "time p50 ms", "time max ms", "cost off",
    "elsewhere", "open", "left out",
)  # fmt: skip
_SAYS = {"shows": "finds it", "silent": "stays silent", "clean": "nothing above info"}


def rows(result: Validation) -> list[tuple[str, ...]]:
    """The table by detector."""
    return [row(line) for line in result.lines]


def row(line: Line) -> tuple[str, ...]:
    """One detector's row."""
    s = line.score
    if not line.decided:
        return (line.code, line.home, str(line.runs), "no truth yet", *("-",) * 9)
    errors = [1e3 * e for e in s.time_errors_s]
    elsewhere = line.elsewhere_right + line.elsewhere_wrong
    return (
        line.code,
        line.home,
        str(line.runs),
        str(s.truth),
        str(s.found),
        _ratio(s.precision),
        _ratio(s.recall),
        f"{median(errors):.2f}" if errors else "-",
        f"{max(errors):.1f}" if errors else "-",
        f"{100 * s.cost_error:.1f} %" if s.cost_error is not None else "-",
        f"{line.elsewhere_right} of {elsewhere}" if elsewhere else "-",
        str(line.undecided),
        str(s.open),
    )


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def promise_rows(promises: Iterable[Promise]) -> list[tuple[str, ...]]:
    """The table of the scenarios' promises."""
    return [
        (p.scenario, p.code or "all", _SAYS[p.kind], f"{p.runs - p.broken} of {p.runs}", "" if p.kept else "FAILS")
        for p in sorted(promises, key=lambda p: (p.kind, p.code, p.scenario))
    ]


def plain(result: Validation) -> str:
    """The tables for a terminal."""
    out = aligned(HEAD, rows(result))
    if result.promises:
        out += ["", *aligned(("scenario", "detector", "must", "in runs", ""), promise_rows(result.promises))]
    return "\n".join([*out, "", _closing(result)]) + "\n"


def _closing(result: Validation) -> str:
    faults = len(result.faults())
    said = f"{result.runs} runs, {result.seeds} seeds: " + (
        f"{faults} floors missed" if faults else "all floors reached"
    )
    unproved = result.unproved()
    return said + (f"; nothing happened to prove {', '.join(unproved)}" if unproved else "") + "."


def aligned(head: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table in columns."""
    widths = [max(len(row[i]) for row in [head, *body]) for i in range(len(head))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [head, *body]
    ]


def day() -> str:
    """Today."""
    import datetime

    return datetime.datetime.now(datetime.UTC).date().isoformat()


def markdown(result: Validation) -> str:
    """docs/validation.md."""
    out = [
        "# Validation",
        "",
        f"Made by `make validate-docs` on {day()}: {result.runs} runs of all scenarios, {result.seeds} seeds each.",
        "",
        "Every scenario is simulated, each of its captures is analysed on its own, and the findings are compared with the",
        "ground truth. The detectors see only the captures. A finding is right if at least half of its time is that of true",
        "events; an event is found if at least half of its time is that of right findings. `time` is the larger difference of",
        "start and end of a match, `cost off` the difference of reported and true cost as a share of the true cost,",
        "`elsewhere` the true findings at other taps, `open` the undecided cases, `left out` the true events that lie wholly in",
        "a time that the detector reported as undecided: they count as neither found nor missed.",
        "Floors: precision and recall 0.95, 95 % of times within 10 ms, silence at look-alikes, nothing above info on a",
        "clean link.",
        "",
        *markdown_table(HEAD, rows(result)),
        "",
        "## What scenarios promise",
        "",
        *markdown_table(("scenario", "detector", "must", "in runs", ""), promise_rows(result.promises)),
        "",
    ]
    faults = result.faults()
    if faults:
        out += ["## What fails", "", *(f"- {fault}" for fault in faults), ""]
    if unproved := result.unproved():
        out += [f"Nothing happened in these runs that proves {', '.join(f'`{code}`' for code in unproved)}.", ""]
    return "\n".join(out)


def markdown_table(head: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table in Markdown."""
    return ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *body]]


def to_dict(result: Validation) -> dict[str, Any]:
    """As JSON."""
    return {
        "runs": result.runs,
        "seeds": result.seeds,
        "faults": result.faults(),
        "unproved": result.unproved(),
        "detectors": detectors(result.lines),
        "promises": [{**asdict(p), "kept": p.kept} for p in result.promises],
        "failed": result.failed,
    }


def detectors(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """The table by detector, as JSON."""
    return [
        {
            "code": line.code,
            "judged_at": line.home,
            "runs": line.runs,
            "decided": line.decided,
            **{k: v for k, v in asdict(line.score).items() if k not in ("code", "time_errors_s")},
            "precision": line.score.precision,
            "recall": line.score.recall,
            "time_error_p50_s": line.score.time_error_s,
            "time_error_max_s": max(line.score.time_errors_s, default=None),
            "cost_error": line.score.cost_error,
            "elsewhere_right": line.elsewhere_right,
            "elsewhere_wrong": line.elsewhere_wrong,
            "undecided": line.undecided,
        }
        for line in lines
    ]
