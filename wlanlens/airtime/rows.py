"""The columns of `frames` and `exchanges` that the sums need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wlanlens import tables
from wlanlens.airtime.purposes import ANSWERED, BY_SUBTYPE, BY_TYPE, CODE
from wlanlens.tables import PURPOSES
from wlanlens.tables.columns import Array, coded, filled, integers, known, looked_up

if TYPE_CHECKING:
    import pyarrow as pa

#: A frame without a time.
NO_TIME = np.iinfo(np.int64).min
#: `exchanges.outcome`; the position is the code.
OUTCOMES = ("delivered", "dropped", "unknown")
#: Result of one transmission.
ARRIVED, FAILED, UNSEEN = 0, 1, 2
_DIRECTIONS = ("a2b", "b2a")
_GROUP_DIGITS = frozenset("13579bdfBDF")


def read_frames(batch: pa.RecordBatch) -> dict[str, Array]:
    """The columns of `frames` that the sums need.

    `airtime_ns` is -1 for unknown. `base` is the purpose of the frame if its transmission succeeds; `waits` is true
    where the exchange must show whether it did.
    """
    subtypes, types = tables.enum_values("frames", "subtype"), tables.enum_values("frames", "type")
    by_type = np.array([CODE[BY_TYPE.get(name, "unknown")] for name in types] + [CODE["unknown"]], np.int8)
    base = by_type[coded(batch.column("type"), types, len(types))]
    by_subtype = np.array([CODE.get(BY_SUBTYPE.get(name, ""), -1) for name in subtypes] + [-1], np.int8)
    special = by_subtype[coded(batch.column("subtype"), subtypes, len(subtypes))]
    base = np.where(special >= 0, special, base)
    group = group_addressed(batch.column("ra"))
    base[(base == CODE["delivered"]) & group] = CODE["group"]
    damaged = ~filled(batch.column("fcs_ok"), True)
    base[damaged] = CODE["damaged"]
    waits: Array = np.zeros(len(PURPOSES), bool)
    waits[[CODE[name] for name in ANSWERED]] = True
    return {
        "packet": integers(batch.column("packet")),
        "t_ns": filled(batch.column("t_ns"), NO_TIME),
        "airtime_ns": nanoseconds(batch.column("airtime_us")),
        "base": base,
        "waits": waits[base] & known(batch.column("ta")) & ~group,
        "retry": filled(batch.column("retry"), False),
        "damaged": damaged,
        "encrypted": (coded(batch.column("carries"), ("protected",)) == 0) & ~damaged,
    }


def transmissions(exchanges: pa.RecordBatch) -> tuple[Array, Array, Array]:
    """(packet, result, outcome of its exchange) of every transmission.

    In a delivered exchange the last transmission arrived and the others failed; in a dropped one all failed.
    """
    lists = exchanges.column("packets")
    packets = integers(lists.flatten())
    lengths = integers(lists.value_lengths())
    outcome = coded(exchanges.column("outcome"), OUTCOMES, len(OUTCOMES) - 1)
    result = np.full(len(packets), FAILED, np.int8)
    some = lengths > 0
    result[np.cumsum(lengths)[some] - 1] = outcome[some]
    return packets, result, np.repeat(outcome, lengths)


def connections(exchanges: pa.RecordBatch) -> Array:
    """Key of the connection and direction of each row: twice the flow number, plus one for b2a. Every row must have a flow."""
    return 2 * integers(exchanges.column("flow")) + coded(exchanges.column("direction"), _DIRECTIONS, 0)


def connection(key: int) -> tuple[int, str]:
    """(flow, direction) of a key of `connections`."""
    return key // 2, _DIRECTIONS[key % 2]


def nanoseconds(column: pa.Array) -> Array:
    """Microseconds as whole nanoseconds; -1 for null."""
    micros = filled(column, -1e-3)
    # fmax ignores NaN.
    whole: Array = np.rint(np.minimum(np.fmax(micros, -1e-3), 1e9) * 1e3).astype(np.int64)
    return whole


def group_addressed(column: pa.Array) -> Array:
    """Whether each address is a group address: the lowest bit of its first byte (IEEE 802.11-2020 clause 9.2.2)."""
    return looked_up(column, [v is not None and v[1:2] in _GROUP_DIGITS for v in column.dictionary.to_pylist()], False)
