"""Schemas of all tables by name, from Rust and from Python, and checks."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

from wlanlens.errors import MissingTable, WlanlensError, did_you_mean
from wlanlens.tables.air_schemas import airtime, stations
from wlanlens.tables.fields import capture_field
from wlanlens.tables.judgement_schemas import judgements
from wlanlens.tables.link_schemas import links

if TYPE_CHECKING:
    import pyarrow as pa

#: Columns of wide tables shown by default: they fit a screen.
_BRIEF = {
    "frames": (
        "packet",
        "t_ns",
        "subtype",
        "ta",
        "ra",
        "seq",
        "retry",
        "rate_mbps",
        "signal_dbm",
        "airtime_us",
        "carries",
        "stop",
    ),
    "exchanges": (
        "ta",
        "ra",
        "seq",
        "first_packet",
        "last_packet",
        "attempts",
        "rates_mbps",
        "outcome",
        "airtime_us",
        "wasted_us",
        "carries",
        "flow",
    ),
    "stations": (
        "station",
        "role",
        "frames",
        "data_frames",
        "retry_frames",
        "dropped",
        "signal_median_dbm",
        "rates_mbps",
        "airtime_ns",
    ),
}


class SchemaError(WlanlensError):
    """A table whose columns differ from the schema of its name."""


@cache
def schemas() -> dict[str, pa.Schema]:
    """Every table's schema by name, the column `capture` included."""
    out = {name: with_capture(core) for name, core in core_schemas().items()}
    return {
        **out,
        "links": links(),
        "airtime": airtime(),
        "stations": stations(),
        **judgements(),
    }


def axis_columns(name: str) -> tuple[str, ...]:
    """The columns of a table that are times in ns since the start of the trace."""
    also = ("silent_from_ns", "progress_ns")
    return tuple(c for c in schema(name).names if (c.startswith("t_") and c.endswith("_ns")) or c in also)


@cache
def core_schemas() -> dict[str, pa.Schema]:
    """The schemas of the batches from Rust, without the column `capture`."""
    from wlanlens import _core

    return {name: _ordered(core) for name, core in _core.schemas().items()}


@cache
def core_names() -> tuple[str, ...]:
    """Their names, without pyarrow: its import takes longer than opening a capture."""
    from wlanlens import _core

    return tuple(_core.table_names())


def _ordered(core: pa.Schema) -> pa.Schema:
    """A schema with its metadata in one order: the core's order is another one in each process, and so would be the files."""
    import pyarrow as pa

    fields = [f.with_metadata(dict(sorted((f.metadata or {}).items()))) for f in core]
    return pa.schema(fields, metadata=dict(sorted((core.metadata or {}).items())))


def with_capture(core: pa.Schema) -> pa.Schema:
    """A schema with the column `capture` in front."""
    return core.insert(0, capture_field())


def names() -> tuple[str, ...]:
    """The names of all tables, in the order of their documentation."""
    return tuple(schemas())


def schema(name: str) -> pa.Schema:
    """The schema of a table.

    Raises
    ------
    MissingTable
        When no table has this name.
    """
    found = schemas().get(name)
    if found is None:
        raise MissingTable(
            f"there is no table {name!r}", next=did_you_mean(name, names(), f"the tables are {', '.join(names())}")
        )
    return found


def enum_values(name: str, column: str) -> tuple[str, ...]:
    """The values of an enum column, in order; empty for other columns."""
    metadata = schema(name).field(column).metadata or {}
    return tuple(metadata.get(b"values", b"").decode().split())


def brief_columns(name: str) -> tuple[str, ...]:
    """The columns of a wide table shown by default.

    Parameters
    ----------
    name : str
        The table.

    Returns
    -------
    tuple of str
        Empty for tables that fit a screen.
    """
    return _BRIEF.get(name, ())


def empty(name: str) -> pa.Table:
    """A table with no rows."""
    return schema(name).empty_table()


def _kind(kind: pa.DataType) -> pa.DataType:
    """A type without the details that Parquet loses: the width of dictionary keys, the names of list items."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _kind(kind.value_type)
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_kind(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, _kind(f.type)) for f in kind])
    return kind


def validate(table: pa.Table | pa.Schema, name: str) -> None:
    """Check that a table (or a schema) has the columns and types of the schema `name`.

    Raises
    ------
    SchemaError
        When a column is missing or twice there, has another type, or has nulls that the schema forbids.
    """
    compare(table, schema(name), name)


def compare(table: pa.Table | pa.Schema, want: pa.Schema, name: str) -> None:
    """Check that a table (or a schema) has the columns and types of a schema; raises as `validate`."""
    import pyarrow as pa

    got = table if isinstance(table, pa.Schema) else table.schema
    columns = Counter(got.names)
    twice = sorted(n for n in want.names if columns[n] > 1)
    if twice:
        raise SchemaError(f"table {name}: two columns of one name: {', '.join(twice)}")
    lacking = [n for n in want.names if n not in columns]
    if lacking:
        raise SchemaError(f"table {name}: missing columns: {', '.join(lacking)}")
    for field in want:
        have = got.field(field.name).type
        if have != field.type and _kind(have) != _kind(field.type):
            raise SchemaError(f"table {name}: column {field.name} is {have}, not {field.type}")
    if isinstance(table, pa.Table):
        _refuse_nulls(table, want, name)


def validate_values(batch: pa.RecordBatch, name: str) -> None:
    """Check the values of rows that a stranger may have written: nulls, enums, UTF-8 and offsets.

    Raises
    ------
    SchemaError
        A value is not one of its column.
    """
    import pyarrow as pa

    try:
        batch.validate(full=True)
    except pa.ArrowInvalid as error:
        raise SchemaError(f"table {name}: {' '.join(str(error).split())}") from error
    _refuse_nulls(batch, schema(name), name)
    for column, kind in zip(batch.columns, batch.schema, strict=True):
        allowed = enum_values(name, kind.name)
        if allowed and pa.types.is_dictionary(column.type):
            unknown = set(column.dictionary.to_pylist()) - {*allowed, None}
            if unknown:
                raise SchemaError(f"table {name}: column {kind.name} has the unknown value {str(min(unknown))[:40]!r}")


def _refuse_nulls(rows: pa.Table | pa.RecordBatch, want: pa.Schema, name: str) -> None:
    for column in rows.schema.names:
        if column in want.names and not want.field(column).nullable and rows.column(column).null_count:
            raise SchemaError(f"table {name}: column {column} has nulls")
