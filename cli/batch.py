"""`wlanlens batch`: analyse many traces; print causes over all of them and the worst."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from . import cluster, keys
from . import config as settings
from .console import results
from .meter import TerminalLine
from .names import DETECTOR
from .paths import OutputDirectory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.text import Text

    import wlanlens as wl
    from wlanlens.pipeline.batch.batch import BatchProgress
    from wlanlens.report.fleet_page import Cause

#: Traces of each kind that the terminal lists; the page has all.
SHOWN = 10


@click.command("batch")
@click.argument("sources", nargs=-1, required=True, metavar="FOLDER|GLOB|MANIFEST...")
@click.option("-o", "--out", metavar="DIR", type=OutputDirectory(), required=True, help="Output directory.")
@click.option(
    "--pattern",
    metavar="TEXT",
    help="Which files are one trace, for example '{trace}.{point}.pcap' (default: each file).",
)
@click.option(
    "-j", "--jobs", metavar="N", type=click.IntRange(1, 1024), help="Analyses at a time (default: one per core)."
)
@click.option("--shard", metavar="K/N", help="Only the K-th of N shards of the traces, for job arrays: 3/64.")
@click.option(
    "--timeout-s",
    metavar="S",
    type=click.FloatRange(0.1),
    default=3600.0,
    show_default=True,
    help="Most time of one analysis.",
)
@click.option(
    "--memory-mb",
    metavar="MB",
    type=click.IntRange(64),
    default=2048,
    show_default=True,
    help="Most memory of one analysis.",
)
@click.option("--no-report", is_flag=True, help="Do not write report.html of each trace.")
@click.option("--only", metavar="CODE", type=DETECTOR, multiple=True, help="Run only this detector (repeatable).")
@click.option("--nat", is_flag=True, help="Addresses or ports are translated between the captures of a trace.")
@click.option("--retry", is_flag=True, help="Try again what could not be analysed before.")
@click.option("--strict", is_flag=True, help="Exit with status 1 if a trace could not be analysed.")
@cluster.options
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.option("--quiet", is_flag=True, help="Print errors only.")
@settings.option
@keys.options
def command(
    sources: tuple[str, ...],
    out: str,
    shard: str | None,
    no_report: bool,
    only: tuple[str, ...],
    strict: bool,
    scheduler: str | None,
    tls_ca: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    as_json: bool,
    quiet: bool,
    config: str | None,
    key_file: bytes | None,
    key: tuple[str, ...],
    **options: Any,
) -> int:
    """Analyse many traces; write DIR/runs/NAME/ for each, DIR/runs.parquet and the page DIR/index.html.

    A trace is a capture, or several that belong together: by --pattern, or in a MANIFEST (.csv or .tsv) whose first line
    names the columns trace, capture and, if wanted, point. A trace that cannot be analysed is a row of runs.parquet with its
    reason: unreadable, timeout, killed or refused.

    The same command again analyses what is missing or has changed: a run is kept if names, sizes and times of modification of
    its captures, the options and the version are the same.

    Exit status: 0 every trace has its row; 1 with --strict, if one was not analysed; 3 none was analysed.
    """
    import os

    import wlanlens as wl
    from wlanlens.formatting import printable

    certificates = cluster.security(tls_ca, tls_cert, tls_key)
    known = keys.given(None, key, quiet=quiet)
    if scheduler is not None:
        cluster.warn_of_open(scheduler)
    meter = None if quiet or not sys.stderr.isatty() else Meter()
    last: list[BatchProgress] = []

    def progress(at: BatchProgress) -> None:
        last[:] = [at]
        if meter is not None:
            meter(at)

    try:
        batch = wl.batch(
            sources,
            out,
            shard=shard,
            report=not no_report,
            only=only or None,
            keys=known,
            thresholds=settings.given(config),
            key_file=None if key_file is None else os.fsdecode(key_file),
            scheduler=scheduler,
            security=certificates,
            progress=progress,
            **options,
        )
    except BaseException:
        if meter is not None:
            meter.clear()
        if last and not quiet:
            at = last[0]
            where = printable(out)
            click.echo(
                f"wlanlens: stopped: {at.done:,} of {at.total:,} traces are finished and kept in {where}", err=True
            )
        raise
    if meter is not None:
        meter.clear()
    if as_json:
        _print_json(batch)
    elif not quiet:
        _show(batch)
    done = batch.counts.get("done", 0)
    if not done and batch.runs.num_rows:
        return 3
    return 1 if strict and done < batch.runs.num_rows else 0


class Meter(TerminalLine):
    """Progress in one line on the terminal: traces, rate and remaining time."""

    def __init__(self) -> None:
        super().__init__()
        self._start, self._shown_at = time.monotonic(), 0.0

    def __call__(self, at: BatchProgress) -> None:
        from wlanlens.formatting import duration

        now = time.monotonic()
        if now - self._shown_at < 0.2:
            return
        self._shown_at = now
        passed_s, new = now - self._start, at.done - at.before
        rate = (
            f", {new / passed_s:.1f}/s, {duration(passed_s * (1 - at.share) / at.share)} left"
            if new and at.share
            else ""
        )
        failed = f", {at.failed:,} not analysed" if at.failed else ""
        self.show(f"{at.done:,} of {at.total:,} traces{rate}{failed}")


def _print_json(batch: wl.Batch) -> None:
    from wlanlens.report.fleet_page import causes, worst_first

    from . import json_output

    rows = worst_first(batch.runs.to_pylist())
    printed = {
        "out": str(batch.out),
        "page": str(batch.page),
        "traces": len(rows),
        "new": batch.new,
        "files_left_out": batch.left_out,
        "traces_of_other_shards": batch.missing,
        "statuses": batch.counts,
        "causes_s": {cause.name: cause.ns / 1e9 for cause in causes(rows)},
        "runs": rows,
    }
    json_output.show(printed)


def _show(batch: wl.Batch) -> None:
    """The summary on the terminal: what was found over all traces, the worst of them, and what was not analysed."""
    from rich.text import Text

    from wlanlens.formatting import count, printable
    from wlanlens.report.fleet_page import WORDS, causes, headline, worst_first

    rows = worst_first(batch.runs.to_pylist())
    found = causes(rows)
    told = ", ".join(f"{number:,} {WORDS[status]}" for status, number in batch.counts.items())
    kept = batch.runs.num_rows - batch.new
    with results() as console:
        console.print(Text(headline(rows, found), style="bold"))
        _grid(console, "Causes by seconds, over all connections", _causes(found), 2)
        worst = [row for row in rows if row["lost_s"]]
        _grid(console, f"Worst traces ({min(SHOWN, len(worst))} of {len(worst):,})", _worst(worst), 2)
        failed = [row for row in rows if row["status"] != "done"]
        _grid(console, f"Not analysed ({min(SHOWN, len(failed))} of {len(failed):,})", _failed(failed), 0)
        console.print()
        console.print(Text(f"{told}" + (f"; {kept:,} of them finished before" if kept > 0 else "")))
        if batch.left_out:
            console.print(Text(f"{count(batch.left_out, 'other file')} left out"))
        if batch.missing:
            console.print(Text(f"{count(batch.missing, 'trace')} of other shards are not finished"))
        console.print(Text(f"Page  {printable(str(batch.page), 5000)}"), soft_wrap=True)


def _grid(console: Console, title: str, lines: list[tuple[Text | str, ...]], numbers: int) -> None:
    """Print lines in columns, the first `numbers` of them flush right; nothing without lines."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    if not lines:
        return
    console.print()
    console.print(Text(title, style="bold"))
    made = Table.grid(padding=(0, 2))
    for column in range(len(lines[0])):
        made.add_column(justify="right" if column < numbers else "left", no_wrap=column < numbers)
    for line in lines:
        made.add_row(*line)
    console.print(Padding(made, (0, 0, 0, 2)))


def _causes(found: Sequence[Cause]) -> list[tuple[Text | str, ...]]:
    from rich.text import Text

    from wlanlens.formatting import count, hundredths, percent
    from wlanlens.ledger.ledger import PLAIN

    life_ns = sum(cause.ns for cause in found)
    return [
        (
            hundredths(cause.ns / 1e9),
            percent(cause.ns, life_ns),
            Text(PLAIN[cause.name], style="" if cause.healthy else "bold"),
            f"in {count(cause.traces, 'trace')}",
        )
        for cause in found
    ]


def _worst(rows: Sequence[dict[str, Any]]) -> list[tuple[Text | str, ...]]:
    from rich.text import Text

    from wlanlens.formatting import hundredths, percent, printable
    from wlanlens.ledger.ledger import PLAIN

    return [
        (
            hundredths(row["lost_s"]),
            percent(row["lost_s"], row["life_s"]),
            Text(printable(row["trace"], 60), style="bold"),
            f"{hundredths(row['cause_s'])} {PLAIN.get(row['cause'], '')}",
        )
        for row in rows[:SHOWN]
    ]


def _failed(rows: Sequence[dict[str, Any]]) -> list[tuple[Text | str, ...]]:
    from rich.text import Text

    from wlanlens.formatting import printable
    from wlanlens.report.fleet_page import WORDS

    return [
        (Text(WORDS[row["status"]], style="red"), printable(row["trace"], 60), printable(row["reason"]))
        for row in rows[:SHOWN]
    ]
