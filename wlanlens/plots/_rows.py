"""The rows of one direction of one connection, as NumPy arrays ready to draw.

The figures and the report draw from this and from nothing else, so that they cannot disagree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wlanlens.errors import WlanlensError
from wlanlens.plots._palette import TRIGGERS

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
"""`segments.transmission` but retransmission; the position is the code in `FlowRows.mark`."""

NEEDS = ("needed", "spurious", "unknown")
RETRANSMISSION = 16
"""Marks from here on are retransmissions: 16 + 3 * position of the trigger + position of the need."""

NONE = -1
"""No value, in the integer columns."""


class FlowKey(NamedTuple):
    """One direction of one connection in one capture."""

    capture: str
    flow: int
    direction: str

    @classmethod
    def of(cls, trace: Trace, capture: str | None, flow: int, direction: str) -> FlowKey:
        """The key of a flow whose capture need not be said where there is only one."""
        if capture is None:
            names = pc.unique(trace.table("segments")["capture"]).to_pylist()
            if len(names) > 1:
                raise WlanlensError(f"{len(names)} captures hold segments", next="say which: capture=" + repr(names[0]))
            capture = names[0] if names else ""
        return cls(capture, flow, direction)


@dataclass(frozen=True)
class FlowRows:
    """Segments that carry this direction's data, and the ACKs for them, in the order of time."""

    key: FlowKey
    t_ns: NDArray[np.int64]
    packet: NDArray[np.int64]
    is_ack: NDArray[np.bool_]
    kind: NDArray[np.uint8]
    mark: NDArray[np.uint8]
    """How the bytes were sent: a position in COPIES, or RETRANSMISSION and above."""
    seq: NDArray[np.int64]
    """Relative sequence number of the first byte, of an ACK the number acknowledged."""
    size: NDArray[np.int64]
    """Bytes of sequence space, of an ACK the window it offers (NONE: unknown)."""
    flight: NDArray[np.int64]
    rtt_ns: NDArray[np.int64]
    rto_ns: NDArray[np.int64]
    sack_row: NDArray[np.int64]
    """Row of each SACK block below."""
    sack_left: NDArray[np.int64]
    sack_right: NDArray[np.int64]
    undrawable: int
    """Segments of the connection without a time or a sequence number."""

    def __len__(self) -> int:
        return len(self.t_ns)

    @property
    def is_retransmission(self) -> NDArray[np.bool_]:
        """Rows that TCP sent again."""
        return self.mark >= RETRANSMISSION

    def take(self, rows: NDArray[np.int64]) -> FlowRows:
        """Only these rows, given in rising order; SACK blocks of other rows go too."""
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
    """(transmission or trigger, need) of a mark; need is empty for anything but a retransmission."""
    if mark < RETRANSMISSION:
        return COPIES[mark], ""
    trigger, need = divmod(mark - RETRANSMISSION, len(NEEDS))
    return list(TRIGGERS)[trigger], NEEDS[need]


def flow_rows(trace: Trace, key: FlowKey) -> FlowRows:
    """Read one direction's rows from `segments`, and its SACK blocks from `packets` where the trace has them."""
    segments = of_flow(trace.table("segments"), key)
    ours = _equals(segments["direction"], key.direction)
    kind = _codes(segments["kind"], KINDS, 0)
    length, _ = _ints(segments["len"])

    # SYN and FIN take one byte of sequence space (RFC 9293 section 3.4).
    space = length + np.isin(kind, [KINDS.index(name) for name in ("syn", "synack", "fin")])
    drawn = (space > 0) | np.isin(kind, [KINDS.index(name) for name in ("window_probe", "rst")])
    timed, seq_known, ack_known = (_known(segments[name]) for name in ("t_ns", "rel_seq", "rel_ack"))
    ack = ~ours & ack_known & timed
    keep = np.flatnonzero(ours & seq_known & timed & drawn | ack)
    keep = keep[np.argsort(_ints(segments["t_ns"])[0][keep], kind="stable")]
    # On a row with payload the sender's columns tell of its own direction, on a pure ACK of the one acknowledged.
    about_us = np.where(ours, space > 0, space == 0)[keep]

    def about(name: str, rows: NDArray[np.bool_]) -> NDArray[np.int64]:
        """A column's values on these rows; a column is wide only as long as it is read."""
        values, known = _ints(segments[name])
        return np.where(known[keep] & rows, values[keep], NONE)

    is_ack = ack[keep]
    rows = FlowRows(
        key=key,
        t_ns=_ints(segments["t_ns"])[0][keep],
        packet=_ints(segments["packet"])[0][keep],
        is_ack=is_ack,
        kind=kind[keep],
        mark=np.where(is_ack, 0, _marks(segments)[keep]).astype(np.uint8),
        seq=np.where(is_ack, _ints(segments["rel_ack"])[0][keep], _ints(segments["rel_seq"])[0][keep]),
        size=np.where(is_ack, about("peer_window_bytes", about_us), space[keep]),
        flight=about("flight_bytes", about_us),
        rtt_ns=about("rtt_ns", ~ours[keep]),
        rto_ns=about("rto_ns", about_us),
        sack_row=np.empty(0, np.int64),
        sack_left=np.empty(0, np.int64),
        sack_right=np.empty(0, np.int64),
        undrawable=int(np.count_nonzero(~timed | (ours & ~seq_known & (space > 0)))),
    )
    return _with_sack(trace, rows)


def _marks(segments: pa.Table) -> NDArray[np.uint8]:
    """How each segment's bytes were sent, as one code."""
    names = ("retransmission", *COPIES)
    how = _codes(segments["transmission"], names, names.index("first")).astype(np.int64)
    trigger = _codes(segments["trigger"], tuple(TRIGGERS), list(TRIGGERS).index("undecided")).astype(np.int64)
    known = _known(segments["spurious"])
    value = pc.fill_null(segments["spurious"], False).to_numpy()
    need = np.where(known, np.where(value, NEEDS.index("spurious"), NEEDS.index("needed")), NEEDS.index("unknown"))
    return np.where(how == 0, RETRANSMISSION + len(NEEDS) * trigger + need, how - 1).astype(np.uint8)


def _with_sack(trace: Trace, rows: FlowRows) -> FlowRows:
    """Add the SACK blocks, brought from wire numbers to the relative ones of the ACK that carries them."""
    if not trace.has("packets") or not rows.is_ack.any():
        return rows
    packets = trace.table("packets").select(["capture", "flow", "packet", "tcp_ack", "tcp_sack"])
    packets = of_flow(packets, rows.key, extra=pc.is_valid(packets["tcp_sack"]))
    if packets.num_rows == 0:
        return rows
    number, _ = _ints(packets["packet"])
    wire_ack, ack_known = _ints(packets["tcp_ack"])
    ack_rows = np.flatnonzero(rows.is_ack)
    by_packet = ack_rows[np.argsort(rows.packet[ack_rows], kind="stable")]
    at = np.searchsorted(rows.packet[by_packet], number)
    row = by_packet[np.minimum(at, len(by_packet) - 1)]
    found = ack_known & (rows.packet[row] == number)

    blocks = packets["tcp_sack"].combine_chunks()
    if isinstance(blocks, pa.ChunkedArray):
        blocks = pa.concat_arrays(blocks.chunks)
    parent = pc.list_parent_indices(blocks).to_numpy(zero_copy_only=False)
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
    """Left and right edges of flattened SACK blocks, whether the pair is a struct or a fixed-size list."""
    if pa.types.is_struct(blocks.type):
        left, right = (blocks.field(i) for i in (0, 1))
        return left.to_numpy(zero_copy_only=False).astype(np.int64), right.to_numpy(zero_copy_only=False).astype(
            np.int64
        )
    flat = pc.list_flatten(blocks).to_numpy(zero_copy_only=False).astype(np.int64)
    return flat[0::2], flat[1::2]


def _wrapped(difference: NDArray[np.int64]) -> NDArray[np.int64]:
    """A difference of sequence numbers, modulo 2^32, as a signed number (RFC 9293 section 3.4)."""
    return (difference + 2**31) % 2**32 - 2**31


def of_flow(table: pa.Table, key: FlowKey, extra: Any = None) -> pa.Table:
    """The rows of one connection."""
    mask = pc.equal(table["flow"], key.flow)
    table = table.filter(mask if extra is None else pc.and_(mask, extra))
    # Strings are compared on what is left: on a million rows that alone takes longer than all else.
    return table.filter(pc.equal(table["capture"], key.capture)) if "capture" in table.column_names else table


def _equals(column: pa.ChunkedArray, value: str) -> NDArray[np.bool_]:
    out: NDArray[np.bool_] = pc.fill_null(pc.equal(column, value), False).to_numpy()
    return out


def _ints(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """(values with 0 for null, whether known)."""
    return pc.fill_null(column, 0).to_numpy().astype(np.int64, copy=False), _known(column)


def _known(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    known: NDArray[np.bool_] = pc.is_valid(column).to_numpy()
    return known


def _codes(column: pa.ChunkedArray, names: tuple[str, ...], default: int) -> NDArray[np.uint8]:
    """Position of each string in `names`; `default` for null and for anything else."""
    out = []
    for chunk in column.chunks:
        coded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        lookup = [names.index(v) if v in names else default for v in coded.dictionary.to_pylist()] + [default]
        index = pc.fill_null(coded.indices.cast(pa.int64()), len(lookup) - 1).to_numpy(zero_copy_only=False)
        out.append(np.array(lookup, np.uint8)[index])
    return np.concatenate(out) if out else np.empty(0, np.uint8)
