"""Tables: their schemas, the values of enums, and columns as NumPy arrays."""

from wlanlens.tables.fields import CAPTURE_DOC, capture_field
from wlanlens.tables.pandas_frames import to_pandas
from wlanlens.tables.schemas import (
    SchemaError,
    axis_columns,
    brief_columns,
    core_schemas,
    empty,
    enum_values,
    names,
    schema,
    schemas,
    validate,
    with_capture,
)
from wlanlens.tables.vocabulary import (
    ARRIVALS,
    CATEGORIES,
    FULL_PATH,
    LINK,
    LOSS_LOCATIONS,
    OUTCOMES,
    POINT_LABELS,
    POINTS,
    PURPOSES,
    SPURIOUS_KINDS,
    STAGES,
)

__all__ = [
    "ARRIVALS",
    "CAPTURE_DOC",
    "CATEGORIES",
    "FULL_PATH",
    "LINK",
    "LOSS_LOCATIONS",
    "OUTCOMES",
    "POINTS",
    "POINT_LABELS",
    "PURPOSES",
    "SPURIOUS_KINDS",
    "STAGES",
    "SchemaError",
    "axis_columns",
    "brief_columns",
    "capture_field",
    "core_schemas",
    "empty",
    "enum_values",
    "names",
    "schema",
    "schemas",
    "to_pandas",
    "validate",
    "with_capture",
]
