"""The page of a comparison: the result in words, a ledger bar for each side, and tables. It has no script."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from markupsafe import Markup

from wlanlens.ledger.ledger import HEALTHY, PLAIN
from wlanlens.plots._palette import CATEGORIES
from wlanlens.report import bundle
from wlanlens.report.page import environment
from wlanlens.report.policy import policy

TITLE = b"<title>wlanlens: comparison</title>"
"""By which a page of ours is recognised; it is in the template."""


@dataclass(frozen=True)
class Cell:
    """A measure of one side, and its change from the first side."""

    value: str
    spread: str = ""
    """The least and largest of several runs."""
    change: str = ""
    verdict: str = ""
    """better or worse; empty if neither, or if it may be chance."""
    sure: str = ""
    """Whether the change is more than chance; empty with one run a side."""


@dataclass(frozen=True)
class Row:
    """A measure on all sides."""

    title: str
    meaning: str
    cells: tuple[Cell, ...]
    category: str = ""
    """The category of the ledger, for its colour."""
    head: bool = False


@dataclass(frozen=True)
class Column:
    """One side: its name, its runs, and the seconds of each category of its ledger, as (category, seconds) in the ledger's order."""

    name: str
    runs: tuple[str, ...]
    total: str
    categories: tuple[tuple[str, float], ...]
    wide: float
    """Its length in comparison with the longest bar, from 0 to 1."""


def write(
    out_path: Path,
    *,
    sentences: Sequence[str],
    remarks: Sequence[str],
    columns: Sequence[Column],
    speed: Sequence[Row],
    ledger: Sequence[Row],
    findings: Sequence[Row],
) -> None:
    """Write the page, complete or not at all.

    Parameters
    ----------
    out_path : Path
        The HTML file; one that is there is replaced.
    sentences, remarks : sequence of str
        The result in words, and what limits it.
    columns : sequence of Column
        The sides, the first one first.
    speed, ledger, findings : sequence of Row
        The rows of the tables; each has a cell for each side.
    """
    stream = (
        environment()
        .get_template("comparison.html.jinja")
        .stream(
            policy=policy([], spilled=False),
            css=Markup(bundle.text("page.css") + bundle.text("comparison.css")),  # noqa: S704  our own files
            categories=CATEGORIES,
            plain=PLAIN,
            healthy=HEALTHY,
            sentences=[sentence.replace(" -> ", " \N{RIGHTWARDS ARROW} ") for sentence in sentences],
            remarks=remarks,
            columns=columns,
            tables=[
                ("Speed", "", speed),
                (
                    "Where the time went",
                    "Medians of the runs, without categories that take less than 0.5 % of the time. These seconds do not overlap.",
                    ledger,
                ),
                ("Findings", "Costs of findings can overlap, because a second can have several causes.", findings),
            ],
            version=version("wlanlens"),
        )
    )
    partial = out_path.with_name(out_path.name + ".partial")
    partial.unlink(missing_ok=True)
    try:
        with open(partial, "x", encoding="utf-8") as out:
            out.writelines(stream)
        os.replace(partial, out_path)
    finally:
        partial.unlink(missing_ok=True)


def is_ours(path: Path) -> bool:
    """Whether a file is such a page."""
    if not stat.S_ISREG(path.lstat().st_mode):
        return False
    with path.open("rb") as file:
        return TITLE in file.read(2000)
