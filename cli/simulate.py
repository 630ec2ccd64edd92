"""`wlanlens simulate`: write the captures of a synthetic world, with the truth beside them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click


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
@click.option("--tap", "taps", metavar="POINT", multiple=True, help="Write only this capture; may be given again.")
@click.option("--parameters", "explain", is_flag=True, help="Say what the scenario is and which parameters it has.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def command(
    name: str | None,
    path: Path | None,
    out: Path | None,
    seed: int | None,
    settings: tuple[str, ...],
    taps: tuple[str, ...],
    explain: bool,
    quiet: bool,
) -> int:
    """Simulate a scenario: sender.pcap, air.pcap (radiotap), receiver.pcap, truth.json, truth tables and scenario.json."""
    import wlanlens as wl
    from wlanlens.scenario import parameters_of

    given: dict[str, Any] = _read(path) if path is not None else {}
    name = name or given.pop("scenario", None)
    given.pop("scenario", None)
    if name is None:
        raise click.UsageError("which scenario? --scenario NAME; `wlanlens list scenarios` names them")
    if explain:
        click.echo(parameters_of(name))
        return 0
    file_seed = given.pop("seed", 1)
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise click.UsageError(f"--set {setting}: KEY=VALUE is wanted")
        given[key.strip()] = value.strip()
    folder = out or Path(f"{name}.simulated")
    bar = sys.stderr.isatty() and not quiet

    def progress(share: float) -> None:
        click.echo(f"\r{100 * share:3.0f} %", nl=False, err=True)

    run = wl.simulate(
        name,
        folder,
        seed=file_seed if seed is None else seed,
        taps=taps or None,
        progress=progress if bar else None,
        **given,
    )
    if bar:
        click.echo("\r     \r", nl=False, err=True)
    if not quiet:
        for point, capture in run.captures.items():
            click.echo(f"{point:8}  {capture}")
        click.echo(f"truth     {folder / 'truth.json'}: {len(run.truth)} to be found")
    return 0


def _read(path: Path) -> dict[str, Any]:
    import tomllib

    from wlanlens.scenario import ScenarioError

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScenarioError(f"no TOML: {error}", path=str(path), next='for example scenario = "clean_link"') from None
