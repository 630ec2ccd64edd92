"""`wlanlens query`: SQL on the tables of an analysed directory."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from wlanlens.pipeline.result_dir import Stored

#: Limits for DuckDB: predictable on a small machine.
MEMORY, THREADS = "512MB", 2

#: Rows printed as a table; csv and json have no limit.
ROWS = 200


@click.command("query")
@click.argument("directory", metavar="DIR", type=click.Path())
@click.argument("sql", metavar="SQL")
@click.option(
    "--format",
    "style",
    type=click.Choice(["table", "csv", "json"]),
    default="table",
    show_default=True,
    help="Output format.",
)
def command(directory: str, sql: str, style: str) -> None:
    """Run SQL on the tables of an analysed DIR.

    \b
    Example:
      wlanlens query DIR "SELECT kind, count(*) FROM timeouts GROUP BY kind"

    Tables and columns: docs/tables.md, or "SHOW TABLES" and "DESCRIBE timeouts". The table format prints at most 200 rows.
    """
    import duckdb

    import wlanlens as wl
    from wlanlens.pipeline.result_dir import Stored

    stored = Stored(directory)
    try:
        with connect(stored) as connection:
            cursor = connection.execute(sql)
            names = [column[0] for column in cursor.description or ()]
            _print(names, _rows(cursor), style)
    except duckdb.Error as error:
        raise wl.WlanlensError(f"DuckDB: {error}") from error


def connect(stored: Stored) -> Any:
    """An in-memory database with a view of each table. It can read the checked Parquet files and nothing else."""
    import duckdb

    paths = {name: [str(p.resolve()) for p in parts] for name, parts in stored.tables.checked().items()}
    connection = duckdb.connect(":memory:", config={"memory_limit": MEMORY, "threads": THREADS})
    connection.execute("SET allow_community_extensions = false")
    for setting in ("autoinstall_known_extensions", "autoload_known_extensions", "python_enable_replacements"):
        connection.execute(f"SET {setting} = false")
    every = [path for parts in paths.values() for path in parts]
    connection.execute(f"SET allowed_paths = [{', '.join(map(_quoted, every))}]")
    connection.execute("SET temp_directory = ''")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    for name, parts in paths.items():
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet([{', '.join(map(_quoted, parts))}])")  # noqa: S608
    return connection


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _rows(cursor: Any) -> Iterator[tuple[Any, ...]]:
    while chunk := cursor.fetchmany(1000):
        yield from chunk


def _print(names: list[str], rows: Iterator[tuple[Any, ...]], style: str) -> None:
    if style == "json":
        for row in rows:
            click.echo(json.dumps(dict(zip(names, row, strict=True)), default=str))
    elif style == "csv":
        writer = csv.writer(sys.stdout)
        writer.writerow([cell(name) for name in names])
        for row in rows:
            writer.writerow([cell(value) for value in row])
    else:
        _table(names, rows)


def cell(value: Any) -> str:
    """A cell of CSV: its text is inert in a spreadsheet and on a terminal."""
    from wlanlens.formatting import printable

    if value is None:
        return ""
    if not isinstance(value, str):
        return printable(str(value), limit=10_000)
    text = printable(value, limit=10_000)
    return "'" + text if value[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _table(names: list[str], rows: Iterator[tuple[Any, ...]]) -> None:
    from itertools import islice

    from wlanlens.formatting import printable

    shown = [[printable("" if value is None else str(value), limit=200) for value in row] for row in islice(rows, ROWS)]
    heads = [printable(name) for name in names]
    widths = [max(map(len, column)) for column in zip(heads, *shown, strict=True)] if heads else []
    for line in (heads, ["-" * width for width in widths], *shown):
        click.echo("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
    more = sum(1 for _ in rows)
    if more:
        click.echo(f"... {more} more rows; --format csv prints all")
