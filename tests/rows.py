"""Tables for tests: rows by name, every column that is not given null, 0 or its first enum value."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from wlanlens import tables


def table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """A valid table `name` with these rows."""
    schema = tables.schema(name)
    return pa.Table.from_pylist([{**_defaults(name), **row} for row in rows], schema=schema)


def _defaults(name: str) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for field in tables.schema(name):
        if field.name == "capture":
            out[field.name] = "test.pcap"
        elif field.nullable:
            out[field.name] = None
        elif pa.types.is_dictionary(field.type):
            values = tables.enum_values(name, field.name)
            out[field.name] = values[0] if values else ""
        elif pa.types.is_string(field.type):
            out[field.name] = ""
        elif pa.types.is_list(field.type):
            out[field.name] = []
        elif pa.types.is_boolean(field.type):
            out[field.name] = False
        else:
            out[field.name] = 0
    return out


def intervals(states: list[tuple[str, int]], *, flow: int = 0, start_ns: int = 0) -> list[dict[str, Any]]:
    """Rows of `intervals` that follow each other: (state, length in ns)."""
    out, at = [], start_ns
    for state, length in states:
        out.append({"flow": flow, "t_start_ns": at, "t_end_ns": at + length, "state": state})
        at += length
    return out


def columns(name: str, given: dict[str, Any]) -> pa.Table:
    """A valid table `name` of these columns (vectors of one length); the others are null, 0 or their first value."""
    length = len(next(iter(given.values())))
    made = []
    for field in tables.schema(name):
        if field.name in given:
            values = given[field.name]
            if pa.types.is_dictionary(field.type):
                array = pa.array(list(values), field.type.value_type).dictionary_encode().cast(field.type)
            elif isinstance(values, pa.Array):
                array = values.cast(field.type)
            else:
                array = pa.array(values, field.type, from_pandas=field.nullable)
        else:
            default = _defaults(name)[field.name]
            array = pa.array([default] * length, field.type) if default else pa.nulls(length, field.type)
            if not default and not field.nullable:
                array = pa.array([default] * length, field.type)
        made.append(array)
    return pa.Table.from_arrays(made, schema=tables.schema(name))
