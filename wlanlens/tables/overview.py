"""The tables of a trace as a mapping that says what is in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from wlanlens.formatting import html_table
from wlanlens.tables.schemas import schemas

if TYPE_CHECKING:
    import pyarrow as pa


class Tables(Mapping[str, "pa.Table"]):
    """The tables of a trace by name. A table is read when it is taken out.

    Parameters
    ----------
    held : mapping of str to pyarrow.Table
        The tables.
    """

    def __init__(self, held: Mapping[str, pa.Table]) -> None:
        self._held = held

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, name: object) -> bool:
        return name in self._held

    def __getitem__(self, name: str) -> pa.Table:
        return self._held[name]

    def __repr__(self) -> str:
        return f"<Tables: {', '.join(self)}>"

    def _repr_html_(self) -> str:
        rows_of = getattr(self._held, "rows", None)
        rows = []
        for name in self:
            schema = schemas().get(name)
            text = ((schema.metadata or {}) if schema is not None else {}).get(b"doc", b"").decode()
            number = f"{rows_of(name):,}" if rows_of is not None else ""
            rows.append((name, number, len(schema) if schema is not None else "", text))
        return html_table("Tables", ("table", "rows", "columns", "one row is"), rows)
