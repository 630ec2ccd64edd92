"""The frames of a capture as NumPy arrays ready to draw: time, stations, rate, signal and retries.

Figures and the report both draw from these rows only, so that they agree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wlanlens import tables
from wlanlens.plots._rows import NONE
from wlanlens.tables.columns import coded, filled, integers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wlanlens.trace import Trace

DATA, MANAGEMENT, SIGNALLING = 0, 1, 2
"""Kinds of frames: data, management, and data frames without data (power save)."""

NO_SIGNAL = 127
"""Unknown signal: no radio reports this level."""

_COLUMNS = ("packet", "t_ns", "subtype", "ta", "ra", "retry", "rate_mbps", "signal_dbm", "noise_dbm", "mpdu_bytes")
_GROUP = "13579bdfBDF"


@dataclass(frozen=True)
class AirRows:
    """Undamaged data and management frames with a transmitter address, in order of time."""

    t_ns: NDArray[np.int64]
    packet: NDArray[np.int64]
    pair: NDArray[np.int64]
    """Position in `pairs`."""
    kind: NDArray[np.int64]
    subtype: NDArray[np.int64]
    """Position in `subtypes`."""
    retry: NDArray[np.bool_]
    dropped: NDArray[np.bool_]
    """The last transmission of an exchange that was dropped."""
    rate_kbps: NDArray[np.int64]
    """NONE for unknown."""
    signal_dbm: NDArray[np.int64]
    """NO_SIGNAL for unknown."""
    noise_dbm: NDArray[np.int64]
    """NO_SIGNAL for unknown."""
    size: NDArray[np.int64]
    pairs: tuple[tuple[str, str], ...]
    """(transmitter, receiver), most frames first."""
    subtypes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.t_ns)

    def take(self, rows: NDArray[Any]) -> AirRows:
        """Only these rows."""
        return replace(self, **{name: getattr(self, name)[rows] for name in PER_ROW})


PER_ROW = (
    "t_ns",
    "packet",
    "pair",
    "kind",
    "subtype",
    "retry",
    "dropped",
    "rate_kbps",
    "signal_dbm",
    "noise_dbm",
    "size",
)


def air_rows(trace: Trace, *, flow: int | None = None, direction: str | None = None) -> AirRows:
    """Read the frames; with `flow` (and `direction`) only those of one TCP connection."""
    frames = _drawable(trace.table("frames"))
    if flow is not None and frames.num_rows:
        frames = frames.filter(pc.is_in(frames["packet"], _packets_of(trace, flow, direction)))
    batch = _one(_in_order(frames))
    names = tables.enum_values("frames", "subtype")
    subtype = coded(batch.column("subtype"), names).astype(np.int64)
    pair, pairs = _pairs(batch)
    rate = np.nan_to_num(filled(batch.column("rate_mbps"), -1), nan=-1)
    return AirRows(
        t_ns=integers(batch.column("t_ns")),
        packet=integers(batch.column("packet")),
        pair=pair,
        kind=np.array([*(_kind(name) for name in names), MANAGEMENT])[subtype],
        subtype=subtype,
        retry=filled(batch.column("retry"), False),
        dropped=_dropped(trace, integers(batch.column("packet"))),
        rate_kbps=np.where(rate > 0, np.rint(np.clip(rate, 0, 1e6) * 1e3), NONE).astype(np.int64),
        signal_dbm=integers(batch.column("signal_dbm"), NO_SIGNAL),
        noise_dbm=integers(batch.column("noise_dbm"), NO_SIGNAL),
        size=integers(batch.column("mpdu_bytes")),
        pairs=pairs,
        subtypes=names,
    )


def is_group(address: str) -> bool:
    """Whether an address is a group address (IEEE 802.11-2020 clause 9.2.2)."""
    return address[1:2] != "" and address[1:2] in _GROUP


def _kind(subtype: str) -> int:
    if "null" in subtype or subtype.startswith(("cf_", "qos_cf_")):
        return SIGNALLING
    return DATA if subtype.startswith(("data", "qos_data")) else MANAGEMENT


def _drawable(frames: pa.Table) -> pa.Table:
    """Without damaged frames and frames without a transmitter; the report's frames are selected already."""
    wanted = pc.and_(pc.is_valid(frames["ta"]), pc.is_valid(frames["t_ns"]))
    if "fcs_ok" in frames.column_names:
        wanted = pc.and_(wanted, pc.fill_null(frames["fcs_ok"], True))
    if "type" in frames.column_names:
        wanted = pc.and_(wanted, pc.fill_null(pc.not_equal(frames["type"].cast(pa.string()), "control"), False))
    return frames.select(_COLUMNS).filter(wanted)


def _in_order(frames: pa.Table) -> pa.Table:
    """The rows by time; those of one capture are nearly always in order already."""
    t_ns = integers(frames["t_ns"])
    return frames.sort_by("t_ns") if (t_ns[1:] < t_ns[:-1]).any() else frames


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
    """Each row's pair, and the pairs, most frames first."""
    ends = [batch.column(name) for name in ("ta", "ra")]
    known = [[*column.dictionary.to_pylist(), "?"] for column in ends]
    at = [integers(column.indices, len(names) - 1) for column, names in zip(ends, known, strict=True)]
    keys, which, counts = np.unique(at[0] * len(known[1]) + at[1], return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    named = ((known[0][key // len(known[1])], known[1][key % len(known[1])]) for key in keys[order].tolist())
    return rank[which], tuple(named)


def _dropped(trace: Trace, packets: NDArray[np.int64]) -> NDArray[np.bool_]:
    if not trace.has("exchanges"):
        return np.zeros(len(packets), np.bool_)
    exchanges = trace.table("exchanges").select(["last_packet", "outcome"])
    dropped = exchanges.filter(pc.equal(exchanges["outcome"].cast(pa.string()), "dropped"))
    return np.isin(packets, integers(dropped["last_packet"], -1))
