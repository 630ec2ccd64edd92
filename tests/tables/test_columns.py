"""Columns of tables as vectors."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from wlanlens.tables.columns import NULL, ColumnVector

#: Rows of the first chunk: with this many, three rows are read without converting the whole column.
MANY = 100

COLUMNS = {
    "whole": pa.chunked_array([pa.array([None, *range(MANY)], pa.uint32()), pa.array([7, None], pa.uint32())]),
    "float": pa.chunked_array([pa.array([None, *map(float, range(MANY))]), pa.array([0.5, None])]),
    "boolean": pa.chunked_array([pa.array([None, *([True] * MANY)]), pa.array([False, None])]),
    "text": pa.chunked_array([pa.array([None, *(["data"] * MANY)]), pa.array(["ack", None])]).dictionary_encode(),
}


def plain(values: np.ndarray) -> list[object]:
    """The values with None for null."""
    return [None if v is None or v == NULL or v != v else v for v in values.tolist()]


@pytest.mark.parametrize("name", COLUMNS)
def test_a_few_rows_read_alone_are_those_of_the_whole_column(name: str) -> None:
    order = np.random.default_rng(1).permutation(len(COLUMNS[name]))
    which = np.array([0, 3, MANY + 1])
    alone = ColumnVector(COLUMNS[name], order).take(which)
    whole = ColumnVector(COLUMNS[name], order)
    expected = [COLUMNS[name].to_pylist()[at] for at in order]
    if name == "boolean":
        expected = [-1 if value is None else int(value) for value in expected]
    assert plain(whole.take(None)) == expected
    assert plain(alone) == plain(whole.take(which)) == [expected[at] for at in which]
    assert whole.known().tolist() == [COLUMNS[name][int(at)].is_valid for at in order]


def test_text_is_compared_in_order() -> None:
    order = np.arange(len(COLUMNS["text"]))[::-1]
    column = ColumnVector(COLUMNS["text"], order)
    assert np.flatnonzero(column.among(("ack",))).tolist() == [1]
    assert column.among(("data",)).sum() == MANY
