"""`wlanlens list`: what stands on a shelf."""

from __future__ import annotations

import click

SHELVES = {
    "formats": "parsers",
    "detectors": "detectors",
    "scenarios": "scenarios",
    "plots": "plots",
    "models": "models",
    "papers": "papers",
}


@click.command("list")
@click.argument("what", type=click.Choice(list(SHELVES)))
def command(what: str) -> None:
    """Name the formats that can be read, the detectors, scenarios, plots, closed-form models or published experiments."""
    import wlanlens as wl

    units = wl.list_units(SHELVES[what])
    width = max((len(name) for name, _ in units), default=0)
    for name, summary in units:
        click.echo(f"{name:{width}}  {summary}")
