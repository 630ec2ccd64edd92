"""The page of reproduced experiments: measured and published values, figures, and equations of the models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from wlanlens.report import bundle, plotly_script
from wlanlens.report.inert import embedded
from wlanlens.report.page import environment
from wlanlens.report.policy import digest, policy

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

SCRIPTS = ("inflate", "library", "experiments")
"""Scripts of the page, in this order."""


@dataclass(frozen=True)
class Line:
    """One published number and our measurement, as text."""

    what: str
    published: str
    band: str
    kind: str
    measured: str
    verdict: str
    because: str


@dataclass(frozen=True)
class Unit:
    """A unit of a shelf on the page."""

    name: str
    doc: str

    @property
    def summary(self) -> str:
        """The first line of its documentation."""
        return self.doc.split("\n", 1)[0]

    @property
    def rest(self) -> list[str]:
        """The paragraphs of its documentation after the first line."""
        return _paragraphs(self.doc)


@dataclass(frozen=True)
class Section(Unit):
    """An experiment: its rows and its (caption, figure) pairs."""

    source: str
    lines: Sequence[Line]
    figures: Sequence[tuple[str, Figure]] = ()
    trouble: str = ""

    def count(self, verdict: str) -> int:
        """How many rows have this verdict."""
        return sum(line.verdict == verdict for line in self.lines)


@dataclass(frozen=True)
class Study:
    """The experiments of a study; `missing`: the names of those not run."""

    name: str
    title: str
    sections: Sequence[Section]
    missing: Sequence[str] = ()

    def count(self, verdict: str) -> int:
        """How many rows have this verdict."""
        return sum(section.count(verdict) for section in self.sections)


@dataclass(frozen=True)
class Model(Unit):
    """A closed-form model: (name, what it is, value) of its equations."""

    equations: Sequence[tuple[str, str, str]] = field(default_factory=list)


def write(out_path: Path, *, verdict: str, studies: Sequence[Study], models: Sequence[Model]) -> None:
    """Write the page. `verdict` is its first sentence."""
    drawn = [figure for study in studies for section in study.sections for _, figure in section.figures]
    script = bundle.own(SCRIPTS)
    plotly = plotly_script.plotly() if drawn else None
    stream = (
        environment()
        .get_template("experiments.html.jinja")
        .stream(
            policy=policy([digest(script), *([plotly.source] if plotly else [])], spilled=False),
            css=Markup(bundle.text("page.css") + bundle.text("experiments.css")),  # noqa: S704  our own files
            script=Markup(script),  # noqa: S704  our own files
            plotly=Markup(plotly.packed) if plotly else "",  # noqa: S704  base64
            page=embedded({"figures": [plain(figure) for figure in drawn]}),
            verdict=verdict,
            studies=studies,
            failing=_failing(studies),
            models=models,
            version=version("wlanlens"),
        )
    )
    with open(out_path, "w", encoding="utf-8") as out:
        out.writelines(stream)


def _failing(studies: Sequence[Study]) -> list[tuple[str, str]]:
    """(experiment, what) of every failing row and of every experiment that could not be run."""
    out = []
    for section in (section for study in studies for section in study.sections):
        if section.trouble:
            out.append((section.name, "could not be run"))
        for line in section.lines:
            if line.verdict == "fails":
                expected = f", expected {line.band}" if line.band else ""
                out.append((section.name, f"{line.what}: {line.measured}{expected}"))
    return out


def plain(figure: Figure) -> dict[str, Any]:
    """A figure as JSON: lists for arrays, null for NaN and infinity; the page adds the reader's colours."""
    made: dict[str, Any] = _plain(figure.to_plotly_json())
    made.get("layout", {}).pop("template", None)
    return {"data": made["data"], "layout": made["layout"]}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _paragraphs(doc: str) -> list[str]:
    """The paragraphs after the first line, each on one line."""
    rest = doc.partition("\n")[2]
    return [" ".join(part.split()) for part in rest.split("\n\n") if part.strip()]
