"""docs/tables.md, from the schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wlanlens.tables.schemas import schemas

if TYPE_CHECKING:
    import pyarrow as pa


def _type_name(field: pa.Field) -> str:
    import pyarrow as pa

    if pa.types.is_dictionary(field.type):
        return "enum" if (field.metadata or {}).get(b"values") else "string (dictionary)"
    return str(field.type).replace(" not null", "")


def markdown() -> str:
    """docs/tables.md: every table, every column."""
    lines = [
        "# Tables",
        "",
        "Made by `make docs` from the schemas; a test fails when it is stale. Times `t_ns` count nanoseconds since the",
        "trace's start. What was not captured is null, never 0.",
    ]
    for name, table in schemas().items():
        lines += ["", f"## {name}", "", (table.metadata or {}).get(b"doc", b"").decode(), ""]
        lines += ["| column | type | unit | null | what |", "|---|---|---|---|---|"]
        for field in table:
            meta = {k.decode(): v.decode() for k, v in (field.metadata or {}).items()}
            values = f" One of: {', '.join(meta['values'].split())}." if "values" in meta else ""
            null = "yes" if field.nullable else ""
            lines.append(
                f"| `{field.name}` | {_type_name(field)} | {meta.get('unit', '')} | {null} | {meta['doc']}{values} |"
            )
    return "\n".join(lines) + "\n"
