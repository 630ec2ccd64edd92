"""Tables as pandas DataFrames in which a whole number that may be null stays a whole number."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def to_pandas(table: pa.Table) -> pd.DataFrame:
    """A table as a pandas DataFrame.

    Parameters
    ----------
    table : pyarrow.Table
        Any table of wlanlens, or columns of one.

    Returns
    -------
    pandas.DataFrame
        Integers and booleans that may be null have pandas' nullable types (`Int64`, `UInt32`, `boolean` ...), so that 5 does
        not become 5.0; enums and addresses are categories; times are `datetime64[ns, UTC]`. pyarrow's own `to_pandas`
        makes floats and objects of the first.
    """
    import pandas as pd
    import pyarrow as pa

    nullable = {
        pa.bool_(): pd.BooleanDtype(),
        pa.int8(): pd.Int8Dtype(),
        pa.int16(): pd.Int16Dtype(),
        pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.uint8(): pd.UInt8Dtype(),
        pa.uint16(): pd.UInt16Dtype(),
        pa.uint32(): pd.UInt32Dtype(),
        pa.uint64(): pd.UInt64Dtype(),
    }
    never = [field.name for field in table.schema if not field.nullable]
    always = table.select(never).to_pandas()
    others = table.drop_columns(never).to_pandas(types_mapper=nullable.get)
    both = pd.concat([always, others], axis="columns")
    frame: pd.DataFrame = both[table.column_names]
    return frame
