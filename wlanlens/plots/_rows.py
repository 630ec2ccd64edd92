"""The rows of one direction of one connection, as NumPy arrays ready to draw.

Figures and the report both draw from these rows only, so that they agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wlanlens.errors import WlanlensError
from wlanlens.plots._palette import TRIGGERS
from wlanlens.tables.columns import coded, filled, integers, known

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wlanlens.trace import Trace

KINDS = (
    "data",
    "ack",
    "dupack",
    "window_update",
    "keepalive",
    "keepalive_ack",
    "window_probe",
    "syn",
    "synack",
    "fin",
    "rst",
)
"""`segments.kind`; the position is the code in `FlowRows.kind`."""

COPIES = ("first", "reordered", "network_duplicate", "capture_duplicate", "mac_copy")
"""Values of `segments.transmission` other than retransmission; the position is the code in `FlowRows.mark`."""

NEEDS = ("needed", "spurious", "unknown")
RETRANSMISSION = 16
"""Marks from here on are retransmissions: 16 + 3 * position in TRIGGERS + position in NEEDS."""

NONE = -1
"""No value, in integer columns."""


class FlowKey(NamedTuple):
    """One direction of one connection in one capture."""

    capture: str
    flow: int
    direction: str

    @classmethod
    def of(cls, trace: Trace, capture: str | None, flow: int, direction: str) -> FlowKey:
        """The key of a flow; `capture` may be None where only one capture has segments."""
        if capture is None:
            names = pc.unique(trace.table("segments")["capture"]).to_pylist()
            if len(names) > 1:
                raise WlanlensError(
                    f"{len(names)} captures hold segments", next="choose one, for example capture=" + repr(names[0])
                )
            capture = names[0] if names else ""
        return cls(capture, flow, direction)


@dataclass(frozen=True)
class FlowRows:
    """The data segments of this direction and the ACKs for them, in order of time."""

    key: FlowKey
    t_ns: NDArray[np.int64]
    packet: NDArray[np.int64]
    is_ack: NDArray[np.bool_]
    kind: NDArray[np.uint8]
    mark: NDArray[np.uint8]
    """How the bytes were sent: a position in COPIES, or RETRANSMISSION and above."""
    seq: NDArray[np.int64]
    """Relative sequence number of the first byte; of an ACK the acknowledgment number."""
    size: NDArray[np.int64]
    """Bytes of sequence space; of an ACK the advertised window (NONE: unknown)."""
    flight: NDArray[np.int64]
    rtt_ns: NDArray[np.int64]
    rto_ns: NDArray[np.int64]
    sack_row: NDArray[np.int64]
    """Row of each SACK block."""
    sack_left: NDArray[np.int64]
    sack_right: NDArray[np.int64]
    undrawable: int
    """Segments of the connection without a time or a sequence number."""

    def __len__(self) -> int:
        return len(self.t_ns)

    @property
    def is_retransmission(self) -> NDArray[np.bool_]:
        """Rows that TCP retransmitted."""
        return self.mark >= RETRANSMISSION

    def take(self, rows: NDArray[np.int64]) -> FlowRows:
        """Only these rows, given in ascending order, with their SACK blocks."""
        place = np.full(len(self), NONE, np.int64)
        place[rows] = np.arange(len(rows))
        kept = place[self.sack_row] != NONE
        return FlowRows(
            key=self.key,
            sack_row=place[self.sack_row][kept],
            sack_left=self.sack_left[kept],
            sack_right=self.sack_right[kept],
            undrawable=self.undrawable,
            **{name: getattr(self, name)[rows] for name in PER_ROW},
        )


PER_ROW = ("t_ns", "packet", "is_ack", "kind", "mark", "seq", "size", "flight", "rtt_ns", "rto_ns")


def mark_name(mark: int) -> tuple[str, str]:
    """(transmission or trigger, need) of a mark; need is empty except for retransmissions."""
    if mark < RETRANSMISSION:
        return COPIES[mark], ""
    trigger, need = divmod(mark - RETRANSMISSION, len(NEEDS))
    return list(TRIGGERS)[trigger], NEEDS[need]


def flow_rows(trace: Trace, key: FlowKey) -> FlowRows:
    """The rows of one direction from `segments`, with SACK blocks from `packets` where the trace has them."""
    segments = of_flow(trace.table("segments"), key)
    ours = coded(segments["direction"], (key.direction,)) == 0
    kind = coded(segments["kind"], KINDS, 0).astype(np.uint8)
    length = integers(segments["len"])

    # SYN and FIN take one byte of sequence space (RFC 9293 section 3.4).
    space = length + np.isin(kind, [KINDS.index(name) for name in ("syn", "synack", "fin")])
    drawn = (space > 0) | np.isin(kind, [KINDS.index(name) for name in ("window_probe", "rst")])
    timed, seq_known, ack_known = (known(segments[name]) for name in ("t_ns", "rel_seq", "rel_ack"))
    ack = ~ours & ack_known & timed
    keep = np.flatnonzero(ours & seq_known & timed & drawn | ack)
    keep = keep[np.argsort(integers(segments["t_ns"])[keep], kind="stable")]
    # The sender's columns describe the row's own direction on data, and the acknowledged direction on a pure ACK.
    of_sender = np.where(ours, space > 0, space == 0)[keep]

    def values(name: str, rows: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The values of a column on these rows, NONE elsewhere."""
        column = segments[name]
        return np.where(known(column)[keep] & rows, integers(column)[keep], NONE)

    is_ack = ack[keep]
    rows = FlowRows(
        key=key,
        t_ns=integers(segments["t_ns"])[keep],
        packet=integers(segments["packet"])[keep],
        is_ack=is_ack,
        kind=kind[keep],
        mark=np.where(is_ack, 0, _marks(segments)[keep]).astype(np.uint8),
        seq=np.where(is_ack, integers(segments["rel_ack"])[keep], integers(segments["rel_seq"])[keep]),
        size=np.where(is_ack, values("peer_window_bytes", of_sender), space[keep]),
        flight=values("flight_bytes", of_sender),
        rtt_ns=values("rtt_ns", ~ours[keep]),
        rto_ns=values("rto_ns", of_sender),
        sack_row=np.empty(0, np.int64),
        sack_left=np.empty(0, np.int64),
        sack_right=np.empty(0, np.int64),
        undrawable=int(np.count_nonzero(~timed | (ours & ~seq_known & (space > 0)))),
    )
    return _with_sack(trace, rows)


def _marks(segments: pa.Table) -> NDArray[np.uint8]:
    """How the bytes of each segment were sent, as one code."""
    names = ("retransmission", *COPIES)
    how = coded(segments["transmission"], names, names.index("first")).astype(np.int64)
    trigger = coded(segments["trigger"], tuple(TRIGGERS), list(TRIGGERS).index("undecided")).astype(np.int64)
    spurious = filled(segments["spurious"], False)
    need = np.where(
        known(segments["spurious"]),
        np.where(spurious, NEEDS.index("spurious"), NEEDS.index("needed")),
        NEEDS.index("unknown"),
    )
    return np.where(how == 0, RETRANSMISSION + len(NEEDS) * trigger + need, how - 1).astype(np.uint8)


def _with_sack(trace: Trace, rows: FlowRows) -> FlowRows:
    """Add the SACK blocks, with sequence numbers relative to those of their ACK."""
    if not trace.has("packets") or not rows.is_ack.any():
        return rows
    packets = of_flow(trace.table("packets").select(["capture", "flow", "packet", "tcp_ack", "tcp_sack"]), rows.key)
    packets = packets.filter(pc.is_valid(packets["tcp_sack"]))
    if packets.num_rows == 0:
        return rows
    number, wire_ack = integers(packets["packet"]), integers(packets["tcp_ack"])
    ack_rows = np.flatnonzero(rows.is_ack)
    by_packet = ack_rows[np.argsort(rows.packet[ack_rows], kind="stable")]
    at = np.searchsorted(rows.packet[by_packet], number)
    row = by_packet[np.minimum(at, len(by_packet) - 1)]
    found = known(packets["tcp_ack"]) & (rows.packet[row] == number)

    blocks = packets["tcp_sack"].combine_chunks()
    if isinstance(blocks, pa.ChunkedArray):
        blocks = pa.concat_arrays(blocks.chunks)
    parent = integers(pc.list_parent_indices(blocks))
    left, right = _edges(pc.list_flatten(blocks))
    keep = found[parent]
    parent, left, right = parent[keep], left[keep], right[keep]
    base, relative = wire_ack[parent], rows.seq[row[parent]]
    order = np.argsort(row[parent], kind="stable")
    return FlowRows(
        **{name: getattr(rows, name) for name in PER_ROW},
        key=rows.key,
        sack_row=row[parent][order],
        sack_left=(relative + _wrapped(left - base))[order],
        sack_right=(relative + _wrapped(right - base))[order],
        undrawable=rows.undrawable,
    )


def _edges(blocks: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Left and right edges of flattened SACK blocks; a pair is a struct or a list of fixed size."""
    if pa.types.is_struct(blocks.type):
        return integers(blocks.field(0)), integers(blocks.field(1))
    flat = integers(pc.list_flatten(blocks))
    return flat[0::2], flat[1::2]


def _wrapped(difference: NDArray[np.int64]) -> NDArray[np.int64]:
    """A difference of sequence numbers, modulo 2^32, as a signed number (RFC 9293 section 3.4)."""
    return (difference + 2**31) % 2**32 - 2**31


def of_flow(table: pa.Table, key: FlowKey) -> pa.Table:
    """The rows of one connection: a slice without a copy if the table is ordered by connection, as the report's are."""
    flow = None if table["flow"].null_count else np.asarray(table["flow"])
    if flow is not None and not (flow[1:] < flow[:-1]).any():
        first, end = np.searchsorted(flow, [key.flow, key.flow + 1])
        table = table.slice(first, end - first)
    else:
        table = table.filter(pc.equal(table["flow"], key.flow))
    if "capture" not in table.column_names:
        return table
    mine = coded(table["capture"], (key.capture,)) == 0
    # A filter copies every column.
    return table if mine.all() else table.filter(pa.array(mine))
