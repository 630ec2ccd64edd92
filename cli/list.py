"""`wlanlens list`: the units of a shelf."""

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
    """List what wlanlens has of one kind, with one line each.

    Kinds: formats of captures that it reads, detectors, simulated scenarios, plots, closed-form models, and published
    experiments.
    """
    import wlanlens as wl

    units = wl.list_units(SHELVES[what])
    width = max((len(name) for name, _ in units), default=0)
    for name, summary in units:
        click.echo(f"{name:{width}}  {summary}")
