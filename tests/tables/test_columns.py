"""Columns of tables as vectors."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from wlanlens.tables.columns import (
    NULL,
    ColumnVector,
    coded,
    find,
    integers,
    integers_at,
    known,
    ordered_by,
    picked,
    rows_where,
    texts,
    vector,
)

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


@pytest.mark.parametrize("text", ["", "0", "1", "0000", "1111", "0110", "1011", "110111010", "0101", "1110001111100"])
def test_rows_where_are_those_of_a_filter_and_the_longest_run_is_not_copied(text: str) -> None:
    mask = np.array([c == "1" for c in text], bool)
    table = pa.table({"n": np.arange(len(text))})
    found = rows_where(table, mask)
    assert found.equals(table.filter(pa.array(mask, pa.bool_())))
    begin, count = table.column("n").chunk(0).buffers()[1].address if len(text) else 0, table.column("n")
    held = {begin + 8 * k for k in range(len(count))}
    shared = [c for c in found.column("n").chunks if len(c) and c.buffers()[1].address + 8 * c.offset in held]
    assert sum(map(len, shared)) == max((len(run) for run in text.split("0")), default=0)


def test_a_vector_of_whole_numbers_has_null_in_place() -> None:
    for kind in (pa.uint8(), pa.int16(), pa.uint32(), pa.uint64(), pa.int64()):
        column = pa.chunked_array([pa.array([1, None], kind), pa.array([], kind), pa.array([None, 7], kind)])
        assert vector(column).tolist() == [1, NULL, NULL, 7]
    assert not len(vector(pa.chunked_array([], pa.int32())))


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int32(), pa.int64(), pa.uint64()])
@pytest.mark.parametrize("cut", [0, 1, 7, 8, 9, 30])
def test_whole_numbers_are_read_from_any_part_of_a_buffer(kind: pa.DataType, cut: int) -> None:
    """Nulls are bits, and a slice may begin inside a byte."""
    values = [None if n % 3 == 1 else n for n in range(40)]
    whole = pa.array(values, kind)
    column = pa.chunked_array([whole.slice(cut), whole.slice(3, 0), whole.slice(2, 9), pa.nulls(2, kind)], kind)
    expected = [*values[cut:], *values[2:11], None, None]
    assert integers(column, -5).tolist() == [-5 if v is None else v for v in expected]
    assert known(column).tolist() == [v is not None for v in expected]
    assert integers(whole.slice(cut)).tolist() == [v or 0 for v in values[cut:]]


def test_texts_have_null_as_the_given_word() -> None:
    column = pa.chunked_array([pa.array(["a", None]).dictionary_encode(), pa.array(["b", "a"]).dictionary_encode()])
    assert texts(column, "none").tolist() == ["a", "none", "b", "a"]


@pytest.mark.parametrize("least", [0, -5, -(2**62)])
@pytest.mark.parametrize("groups", [1, 7, 100_000])
def test_rows_are_ordered_by_group_then_value(least: int, groups: int) -> None:
    draw = np.random.default_rng(5)
    group, values = draw.integers(0, groups, 500), draw.integers(-9, 9, 500)
    values[::50] = least
    for some in (values, np.sort(values), np.full(500, 3)):
        assert ordered_by(group, some).tolist() == np.lexsort((some, group)).tolist()
    assert ordered_by(group[:0], values[:0]).tolist() == []


def test_rows_of_a_matrix_are_picked_column_by_column() -> None:
    matrix = np.asfortranarray(np.arange(12).reshape(4, 3))
    assert picked(matrix, np.array([3, 0, 3])).tolist() == matrix[[3, 0, 3]].tolist()
    assert picked(matrix, np.zeros(0, np.int64)).shape == (0, 3)


@pytest.mark.parametrize("count", [3, 127, 128, 300, 40_000])
def test_a_text_has_its_position_among_any_number_of_names(count: int) -> None:
    names = [f"10.0.{i >> 8}.{i & 255}" for i in range(count)]
    column = pa.array([*names, None, "10.1.0.0"]).dictionary_encode()
    assert coded(column, names).tolist() == [*range(count), -1, -1]


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
@pytest.mark.parametrize(
    "numbers", [[], [5], [3, 4, 5, 6], [3, 4, 6, 7], [0, 1, 2], [6, 3, 5, 4], [3, 4, 4, 6], [3, 3, 5], [9, 4, 9]]
)
def test_find_gives_the_first_place_of_each_number(numbers: list[int], kind: type) -> None:
    wanted = [9, 0, 3, 4, 5, 6, 7, 8, 2]
    expected = [numbers.index(one) if one in numbers else -1 for one in wanted]
    assert find(np.array(numbers, kind), np.array(wanted, kind)).tolist() == expected
    assert find(np.array(numbers, kind), np.array([NULL, 4])).tolist()[0] == -1


def test_some_rows_of_chunks_are_those_of_the_whole_column() -> None:
    parts = [[1, None, 3], [], [None], [2**32 - 1, 5]]
    column = pa.chunked_array(
        [pa.array(part, pa.uint32()) for part in parts] + [pa.array([7, 8, None], pa.uint32())[1:]]
    )
    at = np.array([6, 4, 0, 1, 7, 5, 3, 0])
    assert integers_at(column, at, NULL).tolist() == integers(column, NULL)[at].tolist()
    assert not len(integers_at(column, at[:0], NULL))
