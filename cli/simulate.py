"""`wlanlens simulate`: write the captures of a synthetic world and their truth."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wlanlens.formatting import count, printable

from .meter import Meter
from .names import SCENARIO, complete_setting
from .paths import OutputDirectory

if TYPE_CHECKING:
    from wlanlens.simulation.parameter_sweep import Job

#: A scenario file has a few lines; a longer file is something else.
TOML_BYTES = 1 << 20


@click.command("simulate")
@click.option(
    "-s", "--scenario", "name", metavar="NAME", type=SCENARIO, help="Scenario; `wlanlens list scenarios` lists them."
)
@click.option(
    "-f",
    "--file",
    "path",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="TOML file with scenario and parameters.",
)
@click.option(
    "-o",
    "--out",
    metavar="DIR",
    type=OutputDirectory(path_type=Path),
    help="Output directory (default: NAME.simulated).",
)
@click.option(
    "--seed", metavar="N", type=int, default=None, help="Random seed (default 1); the same seed gives the same bytes."
)
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    shell_complete=complete_setting,
    multiple=True,
    help="Set a parameter (repeatable).",
)
@click.option(
    "--tap", "taps", metavar="POINT", multiple=True, help="Write only the capture of this point (repeatable), or none."
)
@click.option("--no-truth", is_flag=True, help="Write the captures only, without truth.json and truth tables.")
@click.option(
    "--sweep",
    "swept",
    metavar="KEY=VALUES",
    shell_complete=complete_setting,
    multiple=True,
    help="One run per value: KEY=A,B,C or KEY=A..B:STEP (repeatable).",
)
@click.option("--seeds", metavar="LIST", help="One run per seed: 1..50 or 1,2,7.")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(1, 1024),
    metavar="N",
    default=None,
    help="Runs in parallel (default: one per core).",
)
@click.option("--parameters", "explain", is_flag=True, help="Describe the scenario and its parameters.")
@click.option("--quiet", is_flag=True, help="Print errors only.")
def command(
    name: str | None,
    path: Path | None,
    out: Path | None,
    seed: int | None,
    settings: tuple[str, ...],
    taps: tuple[str, ...],
    no_truth: bool,
    swept: tuple[str, ...],
    seeds: str | None,
    jobs: int | None,
    explain: bool,
    quiet: bool,
) -> int:
    """Simulate a scenario: write a capture per point, truth.json, truth tables and scenario.json.

    With --sweep or --seeds: one folder per run (--tap none leaves them out), runs.parquet and runs.csv with one row per
    run, and the true findings and ledgers of all runs as Parquet datasets, truth and truth_ledger; `wlanlens query` reads
    these. Ctrl-C keeps the finished runs; the same command continues from there.
    """
    import wlanlens as wl
    from wlanlens.simulation import parameter_sweep
    from wlanlens.simulation.scenario import find, parameters_of

    given: dict[str, Any] = _read(path) if path is not None else {}
    name = name or given.pop("scenario", None)
    given.pop("scenario", None)
    if name is None:
        raise click.UsageError("no scenario given: use --scenario NAME; `wlanlens list scenarios` lists them")
    if explain:
        click.echo(parameters_of(name))
        return 0
    file_seed = given.pop("seed", 1)
    given |= pairs("--set", settings)
    if "seed" in given:
        raise click.UsageError("the seed is no parameter: use --seed N")
    folder = out or Path(f"{name}.simulated")
    chosen = () if taps == ("none",) else taps or None
    if swept or seeds is not None:
        if seed is not None and seeds is not None:
            raise click.UsageError("give --seed or --seeds, not both")
        if no_truth:
            raise click.UsageError("--no-truth needs a single run: the table of several runs is made from their truth")
        given_lists = pairs("--sweep", swept, "KEY=VALUES, for example KEY=1,2,5 or KEY=1..9:2")
        lists = {key: parameter_sweep.values(text) for key, text in given_lists.items()}
        of_seeds = parameter_sweep.seeds(seeds) if seeds is not None else [file_seed if seed is None else seed]
        return _sweep(parameter_sweep.plan(name, folder, lists, of_seeds, given, chosen), folder, jobs, quiet)
    bar = sys.stderr.isatty() and not quiet

    def progress(share: float) -> None:
        click.echo(f"\r{100 * share:3.0f} %", nl=False, err=True)

    run = wl.simulate(
        find(name).make(given),
        folder,
        seed=file_seed if seed is None else seed,
        taps=chosen,
        truth=not no_truth,
        progress=progress if bar else None,
    )
    if bar:
        click.echo("\r     \r", nl=False, err=True)
    if not quiet:
        for point, capture in run.captures.items():
            click.echo(f"{point:8}  {capture}")
        if not no_truth:
            click.echo(f"truth     {folder / 'truth.json'}: {count(len(run.truth), 'expected finding')}")
    return 0


def pairs(option: str, given: tuple[str, ...], form: str = "KEY=VALUE") -> dict[str, str]:
    """KEY=VALUE options by key. `form`: what the message says is expected."""
    out = {}
    for pair in given:
        key, equals, value = pair.partition("=")
        if not equals:
            raise click.UsageError(f"{option} {pair}: expected {form}")
        out[key.strip()] = value.strip()
    return out


def _sweep(jobs: list[Job], folder: Path, workers: int | None, quiet: bool) -> int:
    from wlanlens.simulation import parameter_sweep

    meter = Meter(len(jobs), quiet=quiet)
    try:
        new = parameter_sweep.run_all(jobs, workers=workers, progress=meter)
    except BaseException:
        meter.clear()
        if meter.done:
            click.echo(
                f"wlanlens: stopped: {meter.done} of {len(jobs)} runs are finished and kept in {folder}", err=True
            )
        raise
    meter.clear()
    if not quiet:
        click.echo(f"{len(jobs)} runs, {new} of them new: {folder / parameter_sweep.TABLE}")
    return 0


def _read(path: Path) -> dict[str, Any]:
    import tomllib

    from wlanlens.simulation.parameters import ScenarioError

    with path.open("rb") as file:
        raw = file.read(TOML_BYTES + 1)
    try:
        if len(raw) > TOML_BYTES:
            raise ValueError(f"it is longer than {TOML_BYTES} bytes")
        return tomllib.loads(raw.decode())
    except (ValueError, RecursionError) as error:
        raise ScenarioError(
            f"not a scenario in TOML: {error}", path=printable(str(path)), next='for example scenario = "clean_link"'
        ) from None
