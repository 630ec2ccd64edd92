"""`wlanlens simulate`: write the captures of a synthetic world, with the truth beside them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wlanlens.formatting import printable

from .meter import Meter

if TYPE_CHECKING:
    from wlanlens.simulation.parameter_sweep import Job

#: A scenario file is a few lines; whatever is longer is another file.
TOML_BYTES = 1 << 20


@click.command("simulate")
@click.option("-s", "--scenario", "name", metavar="NAME", help="Which scenario; `wlanlens list scenarios` names them.")
@click.option(
    "-f", "--file", "path", metavar="FILE", type=click.Path(path_type=Path), help="Scenario and parameters from TOML."
)
@click.option(
    "-o", "--out", metavar="DIR", type=click.Path(path_type=Path), help="Where to write (default: NAME.simulated)."
)
@click.option("--seed", type=int, default=None, help="Random seed (default 1): the same seed gives the same bytes.")
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="Set a parameter; may be given again.")
@click.option(
    "--tap", "taps", metavar="POINT", multiple=True, help="Write only this capture, or none; may be given again."
)
@click.option("--no-truth", is_flag=True, help="Write the captures only, without truth.json and the truth's tables.")
@click.option(
    "--sweep",
    "swept",
    metavar="KEY=VALUES",
    multiple=True,
    help="A run for each: A,B,C or A..B:STEP; may be given again.",
)
@click.option("--seeds", metavar="LIST", help="A run for each: 1..50 or 1,2,7.")
@click.option("-j", "--jobs", type=click.IntRange(1, 1024), default=None, help="Runs at once (default: one a core).")
@click.option("--parameters", "explain", is_flag=True, help="Say what the scenario is and which parameters it has.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
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
    """Simulate a scenario: sender.pcap, air.pcap (radiotap), receiver.pcap, truth.json, truth tables and scenario.json.

    With --sweep or --seeds: a folder a run, or with --tap none only what is in all cases made of them: runs.parquet and
    runs.csv, a row a run. Ctrl-C keeps the runs that are done; the same command goes on from there.
    """
    import wlanlens as wl
    from wlanlens.simulation import parameter_sweep
    from wlanlens.simulation.scenario import parameters_of

    given: dict[str, Any] = _read(path) if path is not None else {}
    name = name or given.pop("scenario", None)
    given.pop("scenario", None)
    if name is None:
        raise click.UsageError("which scenario? --scenario NAME; `wlanlens list scenarios` names them")
    if explain:
        click.echo(parameters_of(name))
        return 0
    file_seed = given.pop("seed", 1)
    given |= _pairs("--set", settings)
    folder = out or Path(f"{name}.simulated")
    chosen = () if taps == ("none",) else taps or None
    if swept or seeds is not None:
        if seed is not None and seeds is not None:
            raise click.UsageError("--seed or --seeds, not both")
        if no_truth:
            raise click.UsageError("--no-truth is for one run: the table of many is made of their truth")
        lists = {key: parameter_sweep.values(text) for key, text in _pairs("--sweep", swept).items()}
        of_seeds = parameter_sweep.seeds(seeds) if seeds is not None else [file_seed if seed is None else seed]
        return _sweep(parameter_sweep.plan(name, folder, lists, of_seeds, given, chosen), folder, jobs, quiet)
    bar = sys.stderr.isatty() and not quiet

    def progress(share: float) -> None:
        click.echo(f"\r{100 * share:3.0f} %", nl=False, err=True)

    run = wl.simulate(
        name,
        folder,
        seed=file_seed if seed is None else seed,
        taps=chosen,
        truth=not no_truth,
        progress=progress if bar else None,
        **given,
    )
    if bar:
        click.echo("\r     \r", nl=False, err=True)
    if not quiet:
        for point, capture in run.captures.items():
            click.echo(f"{point:8}  {capture}")
        if not no_truth:
            click.echo(f"truth     {folder / 'truth.json'}: {len(run.truth)} to be found")
    return 0


def _pairs(option: str, given: tuple[str, ...]) -> dict[str, str]:
    out = {}
    for pair in given:
        key, equals, value = pair.partition("=")
        if not equals:
            raise click.UsageError(f"{option} {pair}: KEY=VALUE is wanted")
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
            click.echo(f"{meter.done} of {len(jobs)} runs are done and kept in {folder}", err=True)
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
            f"no scenario in TOML: {error}", path=printable(str(path)), next='for example scenario = "clean_link"'
        ) from None
