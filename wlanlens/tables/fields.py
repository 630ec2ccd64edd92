"""Building blocks of schemas: fields with a sentence and a unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

#: The sentence of the column `capture`, which the core puts in front of every table.
CAPTURE_DOC = "Name of the capture of this row; with `packet` it identifies the row permanently."


def field(name: str, kind: pa.DataType, doc: str, *, unit: str = "", null: bool = False, values: str = "") -> pa.Field:
    """A column; `values` are those of an enum, separated by spaces."""
    import pyarrow as pa

    metadata = {"doc": doc, **({"unit": unit} if unit else {}), **({"values": values} if values else {})}
    return pa.field(name, kind, nullable=null, metadata=metadata)


def enum() -> pa.DataType:
    """The type of a column with few values, each a word."""
    import pyarrow as pa

    return pa.dictionary(pa.int8(), pa.string())


def capture_field() -> pa.Field:
    """The column `capture`, the first of every table of a trace."""
    import pyarrow as pa

    return field("capture", pa.dictionary(pa.int32(), pa.string()), CAPTURE_DOC)
