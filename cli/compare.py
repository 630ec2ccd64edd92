"""`wlanlens compare`: before and after, or several variants, side by side."""

from __future__ import annotations

import glob
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .console import results
from .fail_on import share

if TYPE_CHECKING:
    from rich.console import Console

    from wlanlens.pipeline.compare.comparison import Comparison

#: Width of the output where standard output is not a terminal.
WIDTH = 120


@click.command("compare")
@click.argument("given", nargs=-1, metavar="A B...", type=click.Path(path_type=bytes))
@click.option(
    "--side",
    "sides",
    metavar="NAME=DIR,DIR...",
    multiple=True,
    help="A side with several runs; a DIR may be a pattern such as 'old/*', or a folder of runs (repeatable).",
)
@click.option("--port", type=click.IntRange(1, 65535), metavar="N", help="Compare only connections with this port.")
@click.option(
    "-o", "--out", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Write an HTML page."
)
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
@click.option("--quiet", is_flag=True, help="Print errors only.")
@click.option(
    "--fail-on",
    metavar="worse>10%",
    help="Exit with status 1 if the median goodput of a side is lower than the first side's by more than this share of it; "
    "with several runs on both sides, only if that is more than chance. A side without any data transfer is worse.",
)
def command(
    given: tuple[bytes, ...],
    sides: tuple[str, ...],
    port: int | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
    fail_on: str | None,
) -> int:
    """Compare analysed directories: A with B and each further one.

    Goodput, time, ledger and findings of the transfers, first in words. Each argument is a side: an analysed directory, a
    folder of them (several runs of one side), or a capture, which is analysed to a temporary folder. With two or more runs
    on both sides, a rank test says whether a difference is more than chance; 4 runs a side is the least that can show it.
    """
    import wlanlens as wl
    from wlanlens.simulation.temporary_folder import temporary_folder

    limit = share(fail_on, "worse") if fail_on is not None else None
    if fail_on is not None and limit is None:
        raise click.UsageError(f"--fail-on {fail_on}: expected worse>PERCENT%, for example worse>10%")
    if out is not None:
        _check_page(out)
    wanted: dict[str, list[bytes]] = {}
    for name, path in zip(_names(given), given, strict=True):
        wanted.setdefault(name, []).append(path)
    for text in sides:
        name, runs = _side(text)
        wanted.setdefault(name, []).extend(runs)
    if len(wanted) < 2:
        raise click.UsageError("there is only one side: give two analysed directories, or --side twice")
    with ExitStack() as stack:
        place = None
        if any(os.path.exists(path) and not os.path.isdir(path) for runs in wanted.values() for path in runs):
            place = stack.enter_context(temporary_folder("compare"))
        compared = wl.compare(
            {name: [_analysed(path, place, quiet=quiet) for path in runs] for name, runs in wanted.items()}, port=port
        )
    if out is not None:
        from wlanlens.pipeline.compare import page

        page.write(out, compared)
    if as_json:
        from . import json_output

        json_output.show(compared.to_dict())
    elif not quiet:
        _show(compared, out)
    if limit is None:
        return 0
    _say_unsure(compared, limit)
    return int(bool(compared.worse(limit)))


def _names(given: tuple[bytes, ...]) -> list[str]:
    """The names of sides: those of their directories or captures; whole paths where two have one name."""
    texts = [os.fsencode(path).decode("utf-8", "backslashreplace") for path in given]
    short = [Path(text.rstrip("/") or text).name.removesuffix(".wlanlens") or text for text in texts]
    names = [name if short.count(name) == 1 else text for name, text in zip(short, texts, strict=True)]
    return [name if names.count(name) == 1 else f"{name} ({i})" for i, name in enumerate(names, 1)]


def _side(text: str) -> tuple[str, list[bytes]]:
    """NAME=DIR,DIR...: a DIR that does not exist is a pattern."""
    name, equals, listed = text.partition("=")
    if not equals or not name.strip() or not listed:
        raise click.UsageError(f"--side {text}: expected NAME=DIR,DIR...")
    runs: list[str] = []
    # A path may have a comma.
    for part in [listed] if os.path.exists(listed) else listed.split(","):
        found = [part] if os.path.exists(part) else sorted(glob.glob(part))
        if not found:
            raise click.UsageError(f"--side {name}: there is no {part}")
        runs += found
    return name.strip(), [os.fsencode(run) for run in runs]


def _analysed(path: bytes, place: Path | None, *, quiet: bool) -> str:
    """A directory as it is; a capture is analysed to a folder of its own in `place`."""
    import wlanlens as wl
    from wlanlens.formatting import printable

    if place is None or os.path.isdir(path) or not os.path.exists(path):
        return os.fsdecode(path)
    if not quiet:
        click.echo(
            f"wlanlens: {printable(path)} is analysed to a temporary folder; `wlanlens analyze` would keep its report",
            err=True,
        )
    return str(wl.analyze(path, out=place / str(len(list(place.iterdir()))), report=False).out)


def _check_page(out: Path) -> None:
    if not out.parent.is_dir():
        raise click.UsageError(f"-o {out}: there is no directory {out.parent}")
    if os.path.lexists(out):
        from wlanlens.report import comparison as page

        if not page.is_ours(out):
            raise click.UsageError(f"-o {out}: it exists and is no page of `wlanlens compare`")


def _say_unsure(compared: Comparison, limit: float) -> None:
    """What --fail-on could not decide: silence would look like health."""
    from wlanlens.formatting import printable

    first = compared.sides[0].name
    for found in compared.goodput.differences:
        if -found.change > limit * compared.goodput.median(first) and found.p_value is not None and not found.sure:
            why = "which may be chance" if found.sure is False else "but so few runs cannot tell whether by chance"
            click.echo(f"wlanlens: {printable(found.side)} is worse than --fail-on allows, {why}", err=True)


def _show(compared: Comparison, page: Path | None) -> None:
    from rich.text import Text

    from wlanlens.formatting import printable

    with results(None if "COLUMNS" in os.environ else WIDTH) as console:
        for sentence in compared.sentences:
            console.print(Text(printable(sentence, limit=5000), style="bold"))
        for remark in compared.remarks:
            console.print(Text(printable(remark, limit=5000), style="dim" if sys.stdout.isatty() else ""))
        console.print()
        _table(console, compared)
        if page is not None:
            console.print()
            console.print(Text(f"Page  {printable(str(page), limit=5000)}"))


def _table(console: Console, compared: Comparison) -> None:
    from rich.table import Table
    from rich.text import Text

    from wlanlens.formatting import printable
    from wlanlens.pipeline.compare.page import finding_rows, ledger_rows, speed_rows

    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    full = [side for side in compared.sides if side.runs]
    grid.add_column("")
    for side in full:
        runs = f" ({len(side.runs)} runs)" if len(side.runs) > 1 else ""
        grid.add_column(Text(printable(side.name, limit=40) + runs), justify="right", overflow="fold")
        if side is not full[0]:
            grid.add_column("change", justify="right")
    for row in [*speed_rows(compared), *ledger_rows(compared), *finding_rows(compared)]:
        cells = [Text(row.title, style="bold" if row.head else "")]
        for i, cell in enumerate(row.cells):
            cells.append(Text("\n".join(filter(None, (cell.value, cell.spread)))))
            if i:
                style = {"better": "green", "worse": "bold red"}.get(cell.verdict, "")
                cells.append(Text("\n".join(filter(None, (cell.change, cell.sure))), style=style))
        grid.add_row(*cells)
    console.print(grid)
