"""`wlanlens list`: the units of a shelf."""

from __future__ import annotations

from typing import Any

import click

from .names import Name

SHELVES = {
    "formats": "parsers",
    "detectors": "detectors",
    "scenarios": "scenarios",
    "plots": "plots",
    "models": "models",
    "papers": "papers",
}


@click.command("list")
@click.argument("what", metavar="KIND", type=Name("kind", SHELVES))
@click.option(
    "--json", "as_json", is_flag=True, help="Print them as JSON, with their tables, thresholds and parameters."
)
def command(what: str, as_json: bool) -> None:
    """List what wlanlens has of one KIND, with one line each.

    Kinds: formats of captures that it reads, detectors, simulated scenarios, plots, closed-form models, and published
    experiments (papers).
    """
    from wlanlens import registry

    from . import json_output

    units = registry.units(SHELVES[what])
    if as_json:
        json_output.show({"kind": what, "units": [describe(unit) for unit in units.values()]})
        return
    width = max(map(len, units), default=0)
    for name, unit in units.items():
        click.echo(f"{name:{width}}  {unit.summary}")


def describe(unit: Any) -> dict[str, Any]:
    """A unit as an object: name, summary, and what else its kind has."""
    parameters = getattr(unit, "parameters", {})
    return {
        "name": unit.name,
        "summary": unit.summary,
        "needs": list(getattr(unit, "needs", ())),
        "tables": list(getattr(unit, "tables", ())),
        "thresholds": dict(getattr(unit, "thresholds", {})),
        "parameters": {
            name: {"default": field.default, "text": field.metadata.get("doc", "")}
            for name, field in parameters.items()
        },
    }
