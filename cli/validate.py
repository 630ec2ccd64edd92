"""`wlanlens validate`: simulate, analyse, and score every detector against what really happened."""

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
    "--seeds", type=click.IntRange(1, 100_000), default=20, help="Seeds 1 to N of each scenario (default 20)."
)
@click.option("-s", "--scenario", "scenarios", metavar="NAME", multiple=True, help="Only this one; may be given again.")
@click.option("-d", "--detector", "detectors", metavar="CODE", multiple=True, help="Only this one; may be given again.")
@click.option("-j", "--jobs", type=click.IntRange(1, 1024), default=None, help="Runs at once (default: one a core).")
@click.option(
    "--together", is_flag=True, help="Judge the captures of a run together as well, on one time axis, and the clocks."
)
@click.option("--clocks", is_flag=True, help="Judge only clocks and links: captures with wrong clocks, put together.")
@click.option(
    "-o", "--out", metavar="FILE", type=click.Path(path_type=Path), help="Write the tables: FILE.md, or FILE.json."
)
@click.option("--json", "as_json", is_flag=True, help="Print the tables for machines.")
@click.option("--quiet", is_flag=True, help="Print nothing but what fails.")
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
    """Simulate every scenario over many seeds, analyse each capture, and score the findings against the truth.

    Detectors see the captures only. Exit status 1 when one misses a floor: precision and recall 0.95, times within
    10 ms, silence at its look-alikes, nothing above info on a clean link. Ctrl-C shows the runs done so far.

    --clocks puts wrong clocks at all taps (offset, drift, resolution, a step, missed packets), aligns the captures, and
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
            _tell(summary(runs, detectors), out, as_json, quiet)
        raise
    meter.clear()
    result = summary(runs, detectors)
    _tell(result, out, as_json, quiet)
    # One answer for machines and one file: those of the detectors.
    off = _clocks(scenarios, seeds, jobs, None, False, quiet or as_json) if together else 0
    return 1 if result.faults() else off


def _clocks(
    scenarios: tuple[str, ...], seeds: int, jobs: int | None, out: Path | None, as_json: bool, quiet: bool
) -> int:
    """Clock trials; the exit status."""
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
            _tell_clocks(scores, out, as_json, quiet)
        raise
    meter.clear()
    _tell_clocks(scores, out, as_json, quiet)
    return 1 if faults(scores) else 0


def _tell_clocks(scores: list[TrialScore], out: Path | None, as_json: bool, quiet: bool) -> None:
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
        raise click.UsageError(f"-o {out}: FILE.md or FILE.json is wanted")
    if not out.parent.is_dir():
        raise click.UsageError(f"-o {out}: there is no folder {out.parent}")


def _tell(result: Validation, out: Path | None, as_json: bool, quiet: bool) -> None:
    from wlanlens.validation.page import markdown, plain, to_dict

    if out is not None:
        _put(out, markdown(result) if out.suffix == ".md" else _json(to_dict(result)))
    if as_json:
        click.echo(_json(to_dict(result)), nl=False)
    elif not quiet:
        click.echo(plain(result), nl=False)
    for fault in result.faults():
        click.echo(f"fails: {fault}", err=True)
