"""Building blocks of schemas: fields with their sentence and unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_CAPTURE = "Name of the capture that the row was read from; with `packet` it identifies a row for ever."


def field(name: str, kind: pa.DataType, doc: str, *, unit: str = "", null: bool = False, values: str = "") -> pa.Field:
    import pyarrow as pa

    metadata = {"doc": doc, **({"unit": unit} if unit else {}), **({"values": values} if values else {})}
    return pa.field(name, kind, nullable=null, metadata=metadata)


def enum() -> pa.DataType:
    import pyarrow as pa

    return pa.dictionary(pa.int8(), pa.string())


def capture_field() -> pa.Field:
    """The column `capture`, first of every table of a trace."""
    import pyarrow as pa

    return field("capture", pa.dictionary(pa.int32(), pa.string()), _CAPTURE)
