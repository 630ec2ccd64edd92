"""`wlanlens validate`: simulate, analyse, and score every detector against the truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .meter import Meter

if TYPE_CHECKING:
    from wlanlens.validation.clock_validation import TrialScore
    from wlanlens.validation.summary import Validation
    from wlanlens.validation.validate import Judged


@click.command("validate")
@click.option(
    "--seeds", metavar="N", type=click.IntRange(1, 100_000), default=20, help="Seeds 1 to N per scenario (default 20)."
)
@click.option("-s", "--scenario", "scenarios", metavar="NAME", multiple=True, help="Only this scenario (repeatable).")
@click.option("-d", "--detector", "detectors", metavar="CODE", multiple=True, help="Only this detector (repeatable).")
@click.option(
    "-j",
    "--jobs",
    metavar="N",
    type=click.IntRange(1, 1024),
    default=None,
    help="Runs in parallel (default: one per core).",
)
@click.option(
    "--together", is_flag=True, help="Also score the captures of a run together on one time axis, and their clocks."
)
@click.option("--clocks", is_flag=True, help="Score only clocks and links, of captures with wrong clocks.")
@click.option(
    "-o", "--out", metavar="FILE", type=click.Path(path_type=Path), help="Write the scores to FILE.md or FILE.json."
)
@click.option("--json", "as_json", is_flag=True, help="Print the scores as JSON.")
@click.option("--quiet", is_flag=True, help="Print failures only.")
def command(
    seeds: int,
    scenarios: tuple[str, ...],
    detectors: tuple[str, ...],
    jobs: int | None,
    together: bool,
    clocks: bool,
    out: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Simulate every scenario with many seeds, analyse each capture, and score the findings against the truth.

    Detectors see the captures only. Exit status 1 when a detector misses a requirement: precision and recall 0.95,
    times within 10 ms, no finding on its look-alikes, nothing above info on a clean link. Ctrl-C prints the scores of
    the finished runs.

    --clocks gives all taps wrong clocks (offset, drift, resolution, a step) and missed packets, aligns the captures, and
    compares offsets, bounds, drifts and links with the true ones.
    """
    from wlanlens.validation.summary import summary
    from wlanlens.validation.validate import validate

    if out is not None:
        _check_out(out)
    if clocks:
        return _clocks(scenarios, seeds, jobs, out, as_json, quiet)
    meter = Meter(quiet=quiet)
    runs: list[Judged] = []
    try:
        for judged in validate(
            scenarios, detectors, seeds=range(1, seeds + 1), workers=jobs, together=together, progress=meter
        ):
            runs.append(judged)
    except BaseException as stopped:
        meter.clear()
        if runs and not isinstance(stopped, Exception):
            click.echo(f"stopped after {len(runs)} of {meter.total} runs", err=True)
            _print(summary(runs, detectors), out, as_json, quiet)
        raise
    meter.clear()
    result = summary(runs, detectors)
    _print(result, out, as_json, quiet)
    # JSON and the file hold the scores of the detectors only.
    off = _clocks(scenarios, seeds, jobs, None, False, quiet or as_json) if together else 0
    return 1 if result.faults() else off


def _clocks(
    scenarios: tuple[str, ...], seeds: int, jobs: int | None, out: Path | None, as_json: bool, quiet: bool
) -> int:
    """Run the clock trials; return the exit status."""
    from wlanlens.validation.clock_page import faults
    from wlanlens.validation.clock_validation import trials

    meter = Meter(quiet=quiet)
    scores: list[TrialScore] = []
    try:
        for score in trials(scenarios, seeds=range(1, seeds + 1), workers=jobs, progress=meter):
            scores.append(score)
    except BaseException as stopped:
        meter.clear()
        if scores and not isinstance(stopped, Exception):
            click.echo(f"stopped after {len(scores)} of {meter.total} runs", err=True)
            _print_clocks(scores, out, as_json, quiet)
        raise
    meter.clear()
    _print_clocks(scores, out, as_json, quiet)
    return 1 if faults(scores) else 0


def _print_clocks(scores: list[TrialScore], out: Path | None, as_json: bool, quiet: bool) -> None:
    from wlanlens.validation import clock_page

    if out is not None:
        _put(out, clock_page.markdown(scores) if out.suffix == ".md" else _json(clock_page.to_dict(scores)))
    if as_json:
        click.echo(_json(clock_page.to_dict(scores)), nl=False)
    elif not quiet:
        click.echo(clock_page.plain(scores), nl=False)
    for fault in clock_page.faults(scores):
        click.echo(f"fails: {fault}", err=True)


def _json(value: object) -> str:
    return json.dumps(value, indent=1) + "\n"


def _put(out: Path, text: str) -> None:
    partial = out.with_name(out.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(out)


def _check_out(out: Path) -> None:
    if out.suffix not in (".md", ".json"):
        raise click.UsageError(f"-o {out}: expected FILE.md or FILE.json")
    if not out.parent.is_dir():
        raise click.UsageError(f"-o {out}: there is no directory {out.parent}")


def _print(result: Validation, out: Path | None, as_json: bool, quiet: bool) -> None:
    from wlanlens.validation.page import markdown, plain, to_dict

    if out is not None:
        _put(out, markdown(result) if out.suffix == ".md" else _json(to_dict(result)))
    if as_json:
        click.echo(_json(to_dict(result)), nl=False)
    elif not quiet:
        click.echo(plain(result), nl=False)
    for fault in result.faults():
        click.echo(f"fails: {fault}", err=True)
