"""Batches of `frames` and `exchanges` as NumPy columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import tables
from wlanlens.airtime.purposes import ANSWERED, BY_SUBTYPE, BY_TYPE, CODE
from wlanlens.tables import PURPOSES

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, np.dtype[Any]]

#: A frame without a time.
NO_TIME = np.iinfo(np.int64).min
#: `exchanges.outcome`; the position is the code.
OUTCOMES = ("delivered", "dropped", "unknown")
#: What became of one attempt.
ARRIVED, FAILED, UNSEEN = 0, 1, 2
_DIRECTIONS = ("a2b", "b2a")
_GROUP_DIGITS = frozenset("13579bdfBDF")


def read_frames(batch: pa.RecordBatch) -> dict[str, Array]:
    """The columns of `frames` that the sums need.

    `airtime_ns` is -1 where it is not known. `base` is the purpose if nothing goes wrong; `waits` says that an exchange
    may tell otherwise.
    """
    subtypes, types = tables.enum_values("frames", "subtype"), tables.enum_values("frames", "type")
    by_type = np.array([CODE[BY_TYPE.get(name, "unknown")] for name in types] + [CODE["unknown"]], np.int8)
    base = by_type[codes(batch.column("type"), types, len(types))]
    by_subtype = np.array([CODE.get(BY_SUBTYPE.get(name, ""), -1) for name in subtypes] + [-1], np.int8)
    special = by_subtype[codes(batch.column("subtype"), subtypes, len(subtypes))]
    base = np.where(special >= 0, special, base)
    group = group_addressed(batch.column("ra"))
    base[(base == CODE["delivered"]) & group] = CODE["group"]
    damaged = ~truths(batch.column("fcs_ok"), null=True)
    base[damaged] = CODE["damaged"]
    waits: Array = np.zeros(len(PURPOSES), bool)
    waits[[CODE[name] for name in ANSWERED]] = True
    return {
        "packet": integers(batch.column("packet")),
        "t_ns": _filled(batch.column("t_ns"), NO_TIME),
        "airtime_ns": nanoseconds(batch.column("airtime_us")),
        "base": base,
        "waits": waits[base] & known(batch.column("ta")) & ~group,
        "retry": truths(batch.column("retry"), null=False),
        "damaged": damaged,
        "encrypted": (codes(batch.column("carries"), ("protected",), 1) == 0) & ~damaged,
    }


def attempts(exchanges: pa.RecordBatch) -> tuple[Array, Array, Array]:
    """(packet, fate, outcome of its exchange) of every attempt.

    Of a delivered exchange the last attempt arrived and the others failed; a dropped one failed throughout.
    """
    lists = exchanges.column("packets")
    packets = lists.flatten().to_numpy(zero_copy_only=False).astype(np.int64)
    lengths = integers(lists.value_lengths())
    outcome = codes(exchanges.column("outcome"), OUTCOMES, len(OUTCOMES) - 1).astype(np.int8)
    fate = np.full(len(packets), FAILED, np.int8)
    some = lengths > 0
    fate[np.cumsum(lengths)[some] - 1] = outcome[some]
    return packets, fate, np.repeat(outcome, lengths)


def connections(exchanges: pa.RecordBatch) -> Array:
    """Twice the connection's number, plus one from b to a; every row must have one."""
    return 2 * integers(exchanges.column("flow")) + codes(exchanges.column("direction"), _DIRECTIONS, 0)


def connection(key: int) -> tuple[int, str]:
    """(flow, direction) of what `connections` gave."""
    return key // 2, _DIRECTIONS[key % 2]


def integers(column: pa.Array) -> Array:
    """Whole numbers, 0 for null."""
    return np.asarray(_filled(column, 0), np.int64)


def known(column: pa.Array) -> Array:
    """Which rows are not null."""
    if not column.null_count:
        return np.ones(len(column), bool)
    return np.asarray(column.is_valid(), bool)


def _filled(column: pa.Array, null: Any) -> Array:
    filled = column.fill_null(null) if column.null_count else column
    return np.asarray(filled.to_numpy(zero_copy_only=False))


def nanoseconds(column: pa.Array) -> Array:
    """Microseconds as whole nanoseconds; -1 for null."""
    micros = _filled(column, -1e-3)
    # fmax passes over NaN.
    whole: Array = np.rint(np.minimum(np.fmax(micros, -1e-3), 1e9) * 1e3).astype(np.int64)
    return whole


def truths(column: pa.Array, *, null: bool) -> Array:
    """A column of truths."""
    return _filled(column, null)


def codes(column: pa.Array, names: Sequence[str], default: int) -> Array:
    """Position of each string in `names`; `default` for null and for anything else."""
    at = {name: i for i, name in enumerate(names)}
    return by_value(column, [at.get(v, default) for v in values(column)], default)


def group_addressed(column: pa.Array) -> Array:
    """Whether each address is a group's: the lowest bit of its first byte (IEEE 802.11-2020 clause 9.2.2)."""
    return by_value(column, [v is not None and v[1:2] in _GROUP_DIGITS for v in values(column)], False)


def values(column: pa.Array) -> list[Any]:
    """The dictionary of a dictionary-encoded column."""
    found: list[Any] = column.dictionary.to_pylist()
    return found


def by_value(column: pa.Array, looked_up: Sequence[Any], null: Any) -> Array:
    """Each row's entry of a list that goes with the column's dictionary."""
    import pyarrow as pa

    table = np.array([*looked_up, null])
    if not column.null_count:
        return np.asarray(table[column.indices.to_numpy()])
    return np.asarray(table[_filled(column.indices.cast(pa.int64()), len(looked_up))])
