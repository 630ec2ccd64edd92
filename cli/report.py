"""`wlanlens report`: write the report of an analysed directory again."""

from __future__ import annotations

import click


@click.command("report")
@click.argument("directory", metavar="DIR", type=click.Path())
def command(directory: str) -> None:
    """Write report.html of an analysed DIR again, without reading the captures."""
    import wlanlens as wl
    from wlanlens.formatting import printable

    click.echo(printable(str(wl.rewrite_report(directory)), limit=5000))
