"""`wlanlens validate --counterfactual`: savings against the simulator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .meter import Meter

if TYPE_CHECKING:
    from wlanlens.validation.counterfactual import PairScore


def run(count: int, first: int, jobs: int | None, out: Path | None, as_json: bool, quiet: bool) -> int:
    """Score pairs of worlds; return the exit status."""
    from wlanlens.validation.counterfactual import faults, validate_counterfactual

    meter = Meter(quiet=quiet)
    scores: list[PairScore] = []
    try:
        for score in validate_counterfactual(count, first, workers=jobs, progress=meter):
            scores.append(score)
    except BaseException as stopped:
        meter.clear()
        if scores and not isinstance(stopped, Exception):
            click.echo(f"stopped after {len(scores)} of {meter.total} worlds", err=True)
            _print(scores, out, as_json, quiet)
        raise
    meter.clear()
    _print(scores, out, as_json, quiet)
    missed = faults(scores)
    for fault in missed:
        click.echo(f"fails: {fault}", err=True)
    return 1 if missed else 0


def _print(scores: list[PairScore], out: Path | None, as_json: bool, quiet: bool) -> None:
    from wlanlens.validation import counterfactual_page as page

    as_text = json.dumps(page.to_dict(scores), indent=1) + "\n"
    if out is not None:
        partial = out.with_name(out.name + ".partial")
        partial.write_text(page.markdown(scores) if out.suffix == ".md" else as_text, encoding="utf-8")
        partial.replace(out)
    if as_json:
        click.echo(as_text, nl=False)
    elif not quiet:
        click.echo(page.plain(scores), nl=False)
