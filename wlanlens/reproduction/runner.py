"""Run published experiments, count the rows that hold, and write a page that compares them with the studies."""

from __future__ import annotations

import dataclasses
import inspect
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wlanlens.errors import NoSuchUnit, did_you_mean
from wlanlens.registry import units
from wlanlens.report import experiments as page
from wlanlens.reproduction.experiment import ORIGINS, STUDIES, Experiment, Lab, Result, Row
from wlanlens.reproduction.model import ModelKind

__all__ = [
    "ORIGINS", "STUDIES", "Experiment", "Lab", "Outcome", "Value", "as_dict", "band", "check_page", "counts", "equations", "kind", "measured", "run",
    "select", "sentence", "write_page",
]  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """The outcome of one experiment.

    Attributes
    ----------
    experiment : Experiment
    result : Result
        Empty if it could not be run.
    trouble : str
        Why it could not be run; else empty.
    """

    experiment: Experiment
    result: Result
    trouble: str = ""

    @property
    def fails(self) -> int:
        """Number of asserted rows that do not hold; 1 if it could not be run."""
        return sum(row.verdict == "fails" for row in self.result.rows) + bool(self.trouble)


@dataclass(frozen=True)
class Value:
    """An equation of a closed-form model, computed with the model's defaults.

    Attributes
    ----------
    name : str
        With its unit, and the arguments taken.
    what : str
        One sentence.
    value : str
    """

    name: str
    what: str
    value: str


def select(wanted: str | None = None) -> list[Experiment]:
    """The experiments of a study, or the one of this name, or all: in the order of the studies, then by name.

    NoSuchUnit names the nearest study or experiment.
    """
    shelf = [unit for unit in units("papers").values() if isinstance(unit, Experiment)]
    shelf.sort(key=lambda e: (list(STUDIES).index(e.study), e.name))
    if wanted is None:
        return shelf
    if wanted in STUDIES:
        return [e for e in shelf if e.study == wanted]
    found = [e for e in shelf if e.name == wanted]
    if not found:
        names = [*STUDIES, *(e.name for e in shelf)]
        hint = did_you_mean(wanted, names, "`wlanlens reproduce --list` lists them")
        raise NoSuchUnit(f"there is no study or experiment {wanted!r}", next=hint)
    return found


def run(experiments: Iterable[Experiment], lab: Lab) -> Iterator[Outcome]:
    """Run experiments one after the other and yield each outcome, so that an interrupt keeps the finished ones.

    An experiment that raises an error is an outcome that fails; the others still run.
    """
    for one in experiments:
        before = lab.simulations
        try:
            result = one(lab)
            if lab.simulations == before:
                result = dataclasses.replace(result, rows=tuple(map(_not_simulated, result.rows)))
            yield Outcome(one, result)
        except Exception as error:
            if os.environ.get("WLANLENS_TRACEBACK"):
                raise
            yield Outcome(one, Result(()), f"{type(error).__name__}: {error}")


def _not_simulated(row: Row) -> Row:
    return dataclasses.replace(row, origin="computed") if row.origin == "simulated" else row


def counts(outcomes: Iterable[Outcome], origins: Sequence[str] = ORIGINS) -> Counter[str]:
    """Number of rows that hold, fail and are not asserted, and of experiments that could not be run."""
    out: Counter[str] = Counter()
    for outcome in outcomes:
        out.update(row.verdict for row in outcome.result.rows if row.origin in origins)
        out["broken"] += bool(outcome.trouble)
    return out


def sentence(outcomes: Sequence[Outcome], missing: Sequence[Experiment] = ()) -> str:
    """All outcomes in one sentence."""
    c = counts(outcomes)
    parts = []
    for origin in ORIGINS:
        own = counts(outcomes, [origin])
        if own["holds"] or own["fails"]:
            fails = f", {own['fails']} fail{'s' if own['fails'] == 1 else ''}" if own["fails"] else ""
            parts.append(f"{own['holds']} of {own['holds'] + own['fails']} asserted {origin} rows hold{fails}")
    if c["not asserted"]:
        parts.append(f"{c['not asserted']} {'is' if c['not asserted'] == 1 else 'are'} shown and not asserted")
    if c["broken"]:
        parts.append(f"{c['broken']} of {len(outcomes)} experiments could not be run")
    if missing:
        were = "was" if len(missing) == 1 else "were"
        parts.append(f"{len(missing)} {were} not run: " + ", ".join(e.name for e in missing))
    return ("; ".join(parts) or "no row") + "."


def measured(row: Row) -> str:
    """A row's measured value as text."""
    return row.measured if isinstance(row.measured, str) else f"{row.measured:.5g}"


def kind(row: Row) -> str:
    """A row's class as text, with its origin if it was not simulated: "E, computed"."""
    return row.kind if row.origin == "simulated" else f"{row.kind}, {row.origin}"


def band(row: Row) -> str:
    """A row's band as text: "5 to 5.3"; empty if it has none."""
    if row.band is None:
        return ""
    low, high = row.band
    if high - low <= 1e-7 * max(abs(low), abs(high)):
        return f"exactly {(low + high) / 2:.7g}"
    digits = next((n for n in range(4, 12) if f"{low:.{n}g}" != f"{high:.{n}g}"), 12)
    return f"{low:.{digits + 1}g} to {high:.{digits + 1}g}"


def as_dict(outcome: Outcome) -> dict[str, Any]:
    """An outcome for JSON: NaN and infinity become null."""
    e = outcome.experiment
    rows = []
    for row in outcome.result.rows:
        known = isinstance(row.measured, str) or math.isfinite(row.measured)
        rows.append({**dataclasses.asdict(row), "measured": row.measured if known else None, "verdict": row.verdict})
    return {"name": e.name, "study": e.study, "source": e.source, "trouble": outcome.trouble or None, "rows": rows}


def equations(kind: ModelKind) -> list[Value]:
    """The equations of a model that can be computed with its defaults."""
    made = kind()
    out = []
    for name, method in vars(type(made)).items():
        if name.startswith("_") or not inspect.isfunction(method):
            continue
        arguments = [p for p in inspect.signature(method).parameters.values() if p.name != "self"]
        if any(p.default is p.empty for p in arguments):
            continue
        shown = ", ".join(f"{p.name}={p.default!r}" for p in arguments)
        value = getattr(made, name)()
        if isinstance(value, int | float | str) or (
            isinstance(value, tuple) and all(isinstance(v, int | float) for v in value)
        ):
            what = inspect.cleandoc(method.__doc__ or "").split("\n\n", 1)[0].replace("\n", " ")
            out.append(Value(name + (f"({shown})" if shown else ""), what, _number(value)))
    return out


def _number(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(_number(v) for v in value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def check_page(path: Path) -> None:
    """Raise OSError if a page cannot be written there."""
    partial = _partial(path)
    partial.touch()
    partial.unlink()


def _partial(path: Path) -> Path:
    return path.with_name(path.name + ".partial")


def write_page(path: Path, outcomes: Sequence[Outcome], missing: Sequence[Experiment] = ()) -> None:
    """Write the page: one self-contained HTML file, complete or not at all."""
    studies = []
    for name, title in STUDIES.items():
        here = [o for o in outcomes if o.experiment.study == name]
        left = [e.name for e in missing if e.study == name]
        if here or left:
            sections = [_section(o) for o in here]
            studies.append(page.Study(name, title, sections, left))
    models = [
        page.Model(unit.name, unit.__doc__ or "", [(v.name, v.what, v.value) for v in equations(unit)])
        for unit in units("models").values()
        if isinstance(unit, ModelKind)
    ]
    partial = _partial(path)
    try:
        page.write(partial, verdict=sentence(outcomes, missing), studies=studies, models=models)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _section(outcome: Outcome) -> Any:
    e = outcome.experiment
    rows = [
        page.Line(row.what, row.published, band(row), kind(row), measured(row), row.verdict, row.because)
        for row in outcome.result.rows
    ]
    return page.Section(e.name, e.__doc__ or "", e.source, rows, list(outcome.result.figures), outcome.trouble)
