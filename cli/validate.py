"""`wlanlens validate`: simulate, analyse, and score every detector against what really happened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .meter import Meter

if TYPE_CHECKING:
    from wlanlens.validate import Judged, Validation


@click.command("validate")
@click.option(
    "--seeds", type=click.IntRange(1, 100_000), default=20, help="Seeds 1 to N of each scenario (default 20)."
)
@click.option("-s", "--scenario", "scenarios", metavar="NAME", multiple=True, help="Only this one; may be given again.")
@click.option("-d", "--detector", "detectors", metavar="CODE", multiple=True, help="Only this one; may be given again.")
@click.option("-j", "--jobs", type=click.IntRange(1, 1024), default=None, help="Runs at once (default: one a core).")
@click.option("--together", is_flag=True, help="Judge the captures of a run together as well, on one time axis.")
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
    out: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Simulate every scenario over many seeds, analyse each capture, and score the findings against the truth.

    Detectors see the captures only. Exit status 1 when one misses a floor: precision and recall 0.95, times within
    10 ms, silence at its look-alikes, nothing above info on a clean link. Ctrl-C shows the runs done so far.
    """
    from wlanlens.validate import summary, validate

    if out is not None:
        _check_out(out)
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
    return 1 if result.faults() else 0


def _check_out(out: Path) -> None:
    if out.suffix not in (".md", ".json"):
        raise click.UsageError(f"-o {out}: FILE.md or FILE.json is wanted")
    if not out.parent.is_dir():
        raise click.UsageError(f"-o {out}: there is no folder {out.parent}")


def _tell(result: Validation, out: Path | None, as_json: bool, quiet: bool) -> None:
    from wlanlens.validation_page import markdown, plain, to_dict

    if out is not None:
        text = markdown(result) if out.suffix == ".md" else json.dumps(to_dict(result), indent=1) + "\n"
        partial = out.with_name(out.name + ".partial")
        partial.write_text(text, encoding="utf-8")
        partial.replace(out)
    if as_json:
        click.echo(json.dumps(to_dict(result), indent=1))
    elif not quiet:
        click.echo(plain(result), nl=False)
    for fault in result.faults():
        click.echo(f"fails: {fault}", err=True)
