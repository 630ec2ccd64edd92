"""`wlanlens collect`: the small tables of many runs in one place each."""

from __future__ import annotations

import click

from .paths import OutputDirectory


@click.command("collect")
@click.argument("directories", nargs=-1, required=True, metavar="DIR...", type=click.Path())
@click.option("-o", "--out", metavar="FLEET", type=OutputDirectory(), required=True, help="Output directory.")
@click.option("--quiet", is_flag=True, help="Print errors only.")
def command(directories: tuple[str, ...], out: str, quiet: bool) -> None:
    """Collect the runs of DIR: directories of `wlanlens batch`, analysed directories, or folders with such.

    FLEET gets one Parquet file for each small table, with the column run, and runs.parquet with one row per run. Tables with
    a row per packet stay where they are; the column tables of runs has their folder.

    \b
    Example:
      wlanlens query FLEET "SELECT run, sum(cost_s) FROM findings GROUP BY run ORDER BY 2 DESC"
    """
    import wlanlens as wl
    from wlanlens.formatting import count, printable

    fleet = wl.collect(directories, out)
    if quiet:
        return
    runs = fleet.runs
    statuses = runs.column("status").to_pylist()
    failed = len(statuses) - statuses.count("done")
    not_read = f", {failed:,} of them without tables" if failed else ""
    click.echo(f"{count(runs.num_rows, 'run')}{not_read}: {printable(str(fleet.path), 5000)}")
