"""The frames of a capture as NumPy arrays ready to draw: who sent to whom, when, how fast, how strong, sent again or not.

The figures and the report draw from this and from nothing else, so that they cannot disagree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wlanlens import tables
from wlanlens.plots._rows import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wlanlens.trace import Trace

DATA, MANAGEMENT, SIGNALLING = 0, 1, 2
"""What a frame is: data, management, or data without data (power save)."""

NO_SIGNAL = 127
"""No signal was captured: a level that no radio hears."""

_COLUMNS = ("packet", "t_ns", "subtype", "ta", "ra", "retry", "rate_mbps", "signal_dbm", "mpdu_bytes")
_GROUP = "13579bdfBDF"


@dataclass(frozen=True)
class AirRows:
    """Undamaged data and management frames with a transmitter, in the order of time."""

    t_ns: NDArray[np.int64]
    packet: NDArray[np.int64]
    pair: NDArray[np.int64]
    """Position in `pairs`."""
    kind: NDArray[np.int64]
    subtype: NDArray[np.int64]
    """Position in `subtypes`."""
    retry: NDArray[np.bool_]
    given_up: NDArray[np.bool_]
    """The last attempt of an exchange that came to nothing."""
    rate_kbps: NDArray[np.int64]
    """NONE where the capture does not tell."""
    signal_dbm: NDArray[np.int64]
    """NO_SIGNAL where the capture does not tell."""
    size: NDArray[np.int64]
    pairs: tuple[tuple[str, str], ...]
    """(transmitter, receiver), those with most frames first."""
    subtypes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.t_ns)

    def take(self, rows: NDArray[Any]) -> AirRows:
        """Only these rows."""
        return replace(self, **{name: getattr(self, name)[rows] for name in PER_ROW})


PER_ROW = ("t_ns", "packet", "pair", "kind", "subtype", "retry", "given_up", "rate_kbps", "signal_dbm", "size")


def air_rows(trace: Trace, *, flow: int | None = None, direction: str | None = None) -> AirRows:
    """Read the frames; those of one TCP connection where `flow` (and `direction`) say so."""
    frames = _drawable(trace.table("frames"))
    if flow is not None and frames.num_rows:
        frames = frames.filter(pc.is_in(frames["packet"], _packets_of(trace, flow, direction)))
    batch = _one(frames.sort_by("t_ns"))
    names = tables.enum_values("frames", "subtype")
    subtype = _coded(batch.column("subtype"), {name: i for i, name in enumerate(names)}, -1)
    pair, pairs = _pairs(batch)
    rate = np.nan_to_num(batch.column("rate_mbps").fill_null(-1).to_numpy(zero_copy_only=False), nan=-1)
    return AirRows(
        t_ns=_ints(batch.column("t_ns"), 0),
        packet=_ints(batch.column("packet"), 0),
        pair=pair,
        kind=np.array([*(_kind(name) for name in names), MANAGEMENT])[subtype],
        subtype=subtype,
        retry=_ints(batch.column("retry").cast(pa.int8()), 0) == 1,
        given_up=_given_up(trace, _ints(batch.column("packet"), 0)),
        rate_kbps=np.where(rate > 0, np.rint(np.clip(rate, 0, 1e6) * 1e3), NONE).astype(np.int64),
        signal_dbm=_ints(batch.column("signal_dbm"), NO_SIGNAL),
        size=_ints(batch.column("mpdu_bytes"), 0),
        pairs=pairs,
        subtypes=names,
    )


def is_group(address: str) -> bool:
    """Whether an address is a group's (IEEE 802.11-2020 clause 9.2.2)."""
    return address[1:2] != "" and address[1:2] in _GROUP


def _kind(subtype: str) -> int:
    if "null" in subtype or subtype.startswith(("cf_", "qos_cf_")):
        return SIGNALLING
    return DATA if subtype.startswith(("data", "qos_data")) else MANAGEMENT


def _drawable(frames: pa.Table) -> pa.Table:
    """Without damaged frames and such as name no transmitter; a report's frames are chosen already."""
    wanted = pc.and_(pc.is_valid(frames["ta"]), pc.is_valid(frames["t_ns"]))
    if "fcs_ok" in frames.column_names:
        wanted = pc.and_(wanted, pc.fill_null(frames["fcs_ok"], True))
    if "type" in frames.column_names:
        wanted = pc.and_(wanted, pc.fill_null(pc.not_equal(frames["type"].cast(pa.string()), "control"), False))
    return frames.select(_COLUMNS).filter(wanted)


def _packets_of(trace: Trace, flow: int, direction: str | None) -> pa.Array:
    """Records that hold a packet of the connection."""
    packets = trace.table("segments").select(["packet", "flow", "direction"])
    packets = packets.filter(pc.equal(packets["flow"], flow))
    if direction is not None:
        packets = packets.filter(pc.equal(packets["direction"].cast(pa.string()), direction))
    return packets["packet"].combine_chunks()


def _one(table: pa.Table) -> pa.RecordBatch:
    """A table as one batch."""
    whole = table.unify_dictionaries().combine_chunks().to_batches()
    return whole[0] if whole else pa.RecordBatch.from_pylist([], schema=table.schema)


def _pairs(batch: pa.RecordBatch) -> tuple[NDArray[np.int64], tuple[tuple[str, str], ...]]:
    """Each row's pair, and the pairs, those with most frames first."""
    ends = [batch.column(name) for name in ("ta", "ra")]
    known = [[*column.dictionary.to_pylist(), "?"] for column in ends]
    at = [_ints(column.indices.cast(pa.int64()), len(names) - 1) for column, names in zip(ends, known, strict=True)]
    keys, which, counts = np.unique(at[0] * len(known[1]) + at[1], return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    named = ((known[0][key // len(known[1])], known[1][key % len(known[1])]) for key in keys[order].tolist())
    return rank[which], tuple(named)


def _given_up(trace: Trace, packets: NDArray[np.int64]) -> NDArray[np.bool_]:
    if not trace.has("exchanges"):
        return np.zeros(len(packets), np.bool_)
    exchanges = trace.table("exchanges").select(["last_packet", "outcome"])
    dropped = exchanges.filter(pc.equal(exchanges["outcome"].cast(pa.string()), "dropped"))
    return np.isin(packets, _ints(dropped["last_packet"].combine_chunks(), -1))


def _ints(column: Any, null: int) -> NDArray[np.int64]:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    values: NDArray[np.int64] = np.asarray(column.cast(pa.int64()).fill_null(null).to_numpy(zero_copy_only=False))
    return values


def _coded(column: Any, codes: dict[str, int], null: int) -> NDArray[np.int64]:
    lookup = np.array([*(codes.get(value, null) for value in column.dictionary.to_pylist()), null], np.int64)
    return lookup[_ints(column.indices.cast(pa.int64()), len(lookup) - 1)]
