"""`wlanlens query`: SQL on the tables of an analysed directory."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import count
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wlanlens.capture.reader_thread import call

if TYPE_CHECKING:
    import pyarrow as pa

#: A text in SQL.
_LITERAL = re.compile(r"'((?:[^']|'')*)'")

#: DuckDB's names for nanoseconds with a time zone.
_ZONED = ("TIMESTAMPTZ_NS", "TIMESTAMP_NS WITH TIME ZONE")

#: Limits for DuckDB: predictable on a small machine.
MEMORY, THREADS = "512MB", 2

#: Rows printed as a table; csv and json have no limit.
ROWS = 200

#: Rows taken from DuckDB at a time.
BATCH_ROWS = 10_000


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
    """Run SQL on the tables of an analysed DIR, of a fleet that `wlanlens collect` made, or of a sweep of `wlanlens simulate`.

    \b
    Example:
      wlanlens query DIR "SELECT kind, count(*) FROM timeouts GROUP BY kind"
      wlanlens query FLEET "SELECT cause, sum(cause_s) FROM runs GROUP BY cause"
    A table with a row per packet of one run of a fleet, from its folder in the column tables of runs:
      wlanlens query FLEET "SELECT count(*) FROM read_parquet('FOLDER/segments/*.parquet')"

    Times are UTC, as TIMESTAMP_NS: date_trunc('second', time), time + INTERVAL 1 SECOND, epoch_ns(time).

    Tables and columns: docs/tables.md, or "SHOW TABLES" and "DESCRIBE timeouts". The table format prints at most 200 rows.
    """
    import duckdb

    from wlanlens.errors import WlanlensError, WrongUse

    # The statement itself is wrong: its grammar, or a name or type in it.
    wrong = (duckdb.ParserException, duckdb.SyntaxException, duckdb.BinderException, duckdb.CatalogException)
    paths, folders = _files(directory, sql)
    try:
        # Not closed: a statement that a signal stopped still runs, and ends with the process.
        connection = connect(paths, folders)
        # In a thread of their own: Ctrl-C and SIGTERM reach this one.
        result = call(lambda: connection.sql(sql))
        if result is None:
            raise WrongUse("the statement has no rows", next="for example: SHOW TABLES")
        reader = call(lambda: result.to_arrow_reader(BATCH_ROWS))
        _print(reader.schema.names, _rows(reader), style)
    except duckdb.Error as error:
        said, _, more = str(error).partition("\n")
        hint = more.strip().partition("\n")[0]
        if isinstance(error, duckdb.PermissionException):
            hint = "only the tables of DIR can be read; SHOW TABLES lists them"
        kind = WrongUse if isinstance(error, wrong) else WlanlensError
        listing = "SHOW TABLES lists the tables, DESCRIBE timeouts the columns of one"
        raise kind(f"DuckDB: {said.rstrip('!.')}", next=hint or listing) from error


def _files(directory: str, sql: str) -> tuple[dict[str, list[Path]], list[str]]:
    """The checked files of each table, and the folders of runs that the statement names."""
    from wlanlens.pipeline.fleet.fleet import is_fleet, load_fleet
    from wlanlens.pipeline.result_dir import Stored
    from wlanlens.simulation import parameter_sweep

    if swept := parameter_sweep.tables(Path(directory)):
        return swept, []
    if not is_fleet(directory):
        stored = Stored(directory)
        stored.check()
        return stored.tables.checked(), []
    fleet = load_fleet(directory)
    named = {text.replace("''", "'") for text in _LITERAL.findall(sql) if "/" in text}
    known = set(fleet.runs.column("tables").to_pylist()) - {""} if named else set()
    return fleet.checked(), sorted(folder for text in named for folder in known if text.startswith(folder + "/"))


def connect(paths: dict[str, list[Path]], folders: Sequence[str] = ()) -> Any:
    """An in-memory database with a view of each table. It can read these Parquet files and folders, and nothing else."""
    import duckdb

    connection = duckdb.connect(":memory:", config={"memory_limit": MEMORY, "threads": THREADS})
    connection.execute("SET allow_community_extensions = false")
    for setting in ("autoinstall_known_extensions", "autoload_known_extensions", "python_enable_replacements"):
        connection.execute(f"SET {setting} = false")
    # DuckDB checks what it is given as well as the file that this names.
    every = {name for parts in paths.values() for part in parts for name in (str(part.resolve()), _path(part))}
    connection.execute(f"SET allowed_paths = [{', '.join(map(_quoted, sorted(every)))}]")
    if folders:
        connection.execute(f"SET allowed_directories = [{', '.join(map(_quoted, folders))}]")
    connection.execute("SET temp_directory = ''")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    for name, parts in paths.items():
        files = ", ".join(_quoted(_path(part)) for part in parts)
        # A folder such as `capture=lab` above is no column of the table.
        rows = f"read_parquet([{files}], hive_partitioning = false)"
        connection.execute(f"CREATE VIEW {name} AS SELECT {_columns(connection, rows)} FROM {rows}")  # noqa: S608
    return connection


def _columns(connection: Any, rows: str) -> str:
    """All columns of a table, its times as TIMESTAMP_NS.

    DuckDB can do nothing with nanoseconds of a time zone: no arithmetic, no date_trunc, not even extract. Ours are UTC.
    """
    described = connection.execute(f"DESCRIBE SELECT * FROM {rows}").fetchall()  # noqa: S608
    times = [f'"{name}"::TIMESTAMP_NS AS "{name}"' for name, kind, *_ in described if kind in _ZONED]
    return f"* REPLACE ({', '.join(times)})" if times else "*"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _path(path: Path) -> str:
    """A path for DuckDB, which takes *, ? and [ as wildcards."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(path.resolve()))


def _rows(reader: pa.RecordBatchReader) -> Iterator[tuple[Any, ...]]:
    while (batch := call(lambda: next(reader, None))) is not None:
        yield from zip(*(_values(column) for column in batch.columns), strict=True)


def _values(column: pa.Array) -> list[Any]:
    """The values of a column; times are text in UTC, since Python has no nanoseconds."""
    import pyarrow as pa

    if not pa.types.is_timestamp(column.type):
        return list(column.to_pylist())
    text = column.cast(pa.timestamp(column.type.unit)).cast(pa.string()).to_pylist()
    return [value and value + "Z" for value in text]


def _print(names: list[str], rows: Iterator[tuple[Any, ...]], style: str) -> None:
    if style == "json":
        keys = _unique(names)
        for row in rows:
            click.echo(json.dumps(dict(zip(keys, map(plain, row), strict=True)), default=str))
    elif style == "csv":
        from wlanlens.formatting import inert_cell

        writer = csv.writer(sys.stdout)
        writer.writerow([inert_cell(name) for name in names])
        for row in rows:
            writer.writerow([inert_cell(value) for value in row])
    else:
        _table(names, rows)


def _unique(names: list[str]) -> list[str]:
    """Column names, the second of one name with `_1` behind it, as DuckDB names the columns of a table."""
    keys: list[str] = []
    for name in names:
        numbered = (f"{name}_{n}" if n else name for n in count())
        keys.append(next(key for key in numbered if key not in keys))
    return keys


def plain(value: Any) -> Any:
    """A value as JSON has it: sums are whole numbers, and what is no number is null."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return value


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
