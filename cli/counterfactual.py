"""`wlanlens validate --counterfactual`: savings against the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import json_output
from .meter import Meter
from .scores import collected, put

if TYPE_CHECKING:
    from wlanlens.detection.thresholds import Thresholds
    from wlanlens.validation.counterfactual import PairScore


def run(
    count: int, first: int, thresholds: Thresholds, jobs: int | None, out: Path | None, as_json: bool, quiet: bool
) -> int:
    """Score pairs of worlds; return the exit status."""
    from wlanlens.validation.counterfactual import faults, validate_counterfactual

    def show(scores: list[PairScore]) -> None:
        _print(scores, out, as_json, quiet)

    meter = Meter(quiet=quiet)
    worlds = validate_counterfactual(count, first, thresholds=thresholds, workers=jobs, progress=meter)
    scores = collected(worlds, meter, "worlds", show)
    show(scores)
    missed = faults(scores)
    for fault in missed:
        click.echo(f"wlanlens: fails: {fault}", err=True)
    return 1 if missed else 0


def _print(scores: list[PairScore], out: Path | None, as_json: bool, quiet: bool) -> None:
    from wlanlens.validation import counterfactual_page as page

    as_text = json_output.text(page.to_dict(scores))
    if out is not None:
        put(out, page.markdown(scores) if out.suffix == ".md" else as_text)
    if as_json:
        click.echo(as_text, nl=False)
    elif not quiet:
        click.echo(page.plain(scores), nl=False)
