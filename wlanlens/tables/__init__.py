"""Tables: their schemas, the values of enums, and columns as NumPy arrays."""

from wlanlens.tables.fields import capture_field
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
    LINK,
    LOST,
    PLACES,
    POINTS,
    PURPOSES,
    STAGE_MEANINGS,
    STAGES,
)

__all__ = [
    "ARRIVALS",
    "CATEGORIES",
    "LINK",
    "LOST",
    "PLACES",
    "POINTS",
    "PURPOSES",
    "STAGES",
    "STAGE_MEANINGS",
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
    "validate",
    "with_capture",
]
