"""`wlanlens reproduce`: repeat published experiments; print measured and published values."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .console import results
from .meter import TerminalLine
from .names import Name
from .start import reached

if TYPE_CHECKING:
    from rich.console import Console

    from wlanlens.reproduction.runner import Outcome

#: Width of the output where standard output is not a terminal.
WIDTH = 170

#: From this width on the mechanism has its own column; below, it is printed under the quantity.
OWN_COLUMN = 130


class Paper(Name):
    """A study, or one experiment."""

    def known(self) -> dict[str, str]:
        from wlanlens.reproduction import runner

        return {**runner.STUDIES, **{e.name: e.summary for e in runner.select()}}

    def where(self) -> str:
        return "`wlanlens reproduce --list` lists them"


PAPER = Paper("study or experiment")


@click.command("reproduce")
@click.argument("paper", required=False, type=PAPER)
@click.option(
    "-o",
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("reproduce.html"),
    show_default=True,
    help="The HTML page to write.",
)
@click.option(
    "--seeds", type=click.IntRange(1, 10_000), metavar="N", default=1, help="Run each experiment with at least N seeds."
)
@click.option(
    "--jobs", type=click.IntRange(1, 1024), metavar="N", help="Simulations in parallel (default: one per core)."
)
@click.option("--list", "listing", is_flag=True, help="List the studies and their experiments.")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def command(paper: str | None, out: Path, seeds: int, jobs: int | None, listing: bool, as_json: bool) -> int:
    """Repeat the experiments of PAPER in the simulator and write one HTML page.

    PAPER is a study or the name of one experiment; default: all. Each row has the published value, the accepted band,
    the class (E exact, Q band, S inequality, N not asserted; "computed" or "by hand" without simulation), the measured
    value, the verdict and the mechanism. Exit status 1 when an asserted row fails. Ctrl-C keeps the results so far.
    """
    from wlanlens.reproduction import runner

    chosen = runner.select(paper)
    if listing:
        return _list(chosen)
    if not out.parent.is_dir():
        raise click.UsageError(f"-o {out}: there is no directory {out.parent}")
    # Fail now, not after minutes of simulation.
    runner.check_page(out)
    meter = Meter(len(chosen)) if sys.stderr.isatty() else None
    lab = runner.Lab(least_seeds=seeds, workers=jobs, progress=meter.runs if meter else None)
    done: list[Outcome] = []
    interrupted: BaseException | None = None
    try:
        if meter is not None and chosen:
            meter.next(chosen[0].name)
        for outcome in runner.run(chosen, lab):
            done.append(outcome)
            if meter is not None and len(done) < len(chosen):
                meter.next(chosen[len(done)].name)
    except BaseException as stop:
        if not done:
            raise
        reached()
        interrupted = stop
    finally:
        if meter is not None:
            meter.clear()
    missing = chosen[len(done) :]
    unwritten: OSError | None = None
    try:
        runner.write_page(out, done, missing)
    except OSError as error:
        unwritten = error
    if as_json:
        _print_json(done, [e.name for e in missing], None if unwritten else out)
    else:
        _show(done, runner.sentence(done, missing), None if unwritten else out)
    if interrupted or unwritten:
        raise interrupted or unwritten  # type: ignore[misc]
    return int(any(outcome.fails for outcome in done))


def _list(chosen: Sequence[object]) -> int:
    from wlanlens.reproduction.runner import STUDIES, Experiment

    width = max((len(e.name) for e in chosen if isinstance(e, Experiment)), default=0)
    for study, title in STUDIES.items():
        here = [e for e in chosen if isinstance(e, Experiment) and e.study == study]
        if here:
            click.echo(f"{study}: {title}")
        for e in here:
            click.echo(f"  {e.name:{width}}  {e.summary}")
    return 0


def _print_json(done: Sequence[Outcome], missing: list[str], page: Path | None) -> None:
    from wlanlens.reproduction import runner

    from . import json_output

    printed = {
        "counts": dict(runner.counts(done)),
        "counts_by_origin": {origin: dict(runner.counts(done, [origin])) for origin in runner.ORIGINS},
        "experiments": [runner.as_dict(outcome) for outcome in done],
        "missing": missing,
        "page": None if page is None else str(page),
    }
    json_output.show(printed)


def _show(done: Sequence[Outcome], sentence: str, page: Path | None) -> None:
    from rich.text import Text

    from wlanlens.formatting import printable
    from wlanlens.reproduction.runner import STUDIES

    with results(WIDTH) as console:
        for study, title in STUDIES.items():
            here = [o for o in done if o.experiment.study == study]
            if here:
                console.print(Text(f"{study}: {title}", style="bold"))
            for outcome in here:
                _table(console, outcome)
        console.print(Text(sentence, style="bold"))
        if page is not None:
            console.print(Text(f"Page  {printable(str(page), limit=5000)}"))


def _table(console: Console, outcome: Outcome) -> None:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from wlanlens.formatting import printable
    from wlanlens.reproduction import runner

    e = outcome.experiment
    console.print()
    console.print(Text(f"{e.name}: {e.summary} ({e.source})"))
    if outcome.trouble:
        console.print(Text(f"  could not be run: {printable(outcome.trouble)}", style="bold red"))
    if outcome.result.rows:
        own_column = console.width >= OWN_COLUMN
        grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for head, ratio in (("quantity", 3), ("published", 2), ("band", 2)):
            grid.add_column(head, ratio=ratio, overflow="fold")
        grid.add_column("class")
        grid.add_column("measured", ratio=2, overflow="fold")
        grid.add_column("verdict", no_wrap=True)
        if own_column:
            grid.add_column("mechanism", ratio=4, overflow="fold")
        styles = {"holds": "green", "fails": "bold red", "not asserted": "dim"}
        for row in outcome.result.rows:
            what, because = Text(printable(row.what)), Text(printable(row.because), style="" if own_column else "dim")
            if not own_column and row.because:
                what = Text.assemble(what, "\n", because)
            cells = (row.published, runner.band(row), runner.kind(row), runner.measured(row))
            verdict = Text("FAILS" if row.verdict == "fails" else row.verdict, style=styles[row.verdict])
            grid.add_row(what, *(Text(printable(cell)) for cell in cells), verdict, *([because] if own_column else []))
        console.print(Padding(grid, (0, 0, 0, 2)))
    console.print()


class Meter(TerminalLine):
    """One line on the terminal: the current experiment, and how many of its simulations are done."""

    def __init__(self, experiments: int) -> None:
        super().__init__()
        self._experiments, self._number, self._name = experiments, 0, ""

    def next(self, name: str) -> None:
        """The next experiment starts."""
        self._number, self._name = self._number + 1, name
        self.runs(0)

    def runs(self, done: int) -> None:
        """This many simulations of the current experiment are done."""
        count = f", {done} run{'' if done == 1 else 's'} done" if done else ""
        self.show(f"{self._number} of {self._experiments}: {self._name}{count}")
