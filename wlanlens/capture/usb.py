"""The USB bus as detectors and figures ask for it: the transfers of each endpoint as vectors, and what a bus can carry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.formatting import count, size

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, np.dtype[np.int64]]

#: A frame of the bus, ns (USB 2.0 section 5.3.3).
FRAME_NS = 1_000_000
#: Bytes of a full-speed bulk packet, and how many of them fit in a frame (USB 2.0 section 5.8.4, table 5-9).
FULL_SPEED_PACKET_BYTES, FULL_SPEED_PACKETS = 64, 19
#: What a bus of each speed can carry in a frame of 1 ms (high speed: table 5-10, 13 packets of 512 bytes in each of 8).
FULL_SPEED_BYTES_PER_MS = FULL_SPEED_PACKETS * FULL_SPEED_PACKET_BYTES
HIGH_SPEED_BYTES_PER_MS = 8 * 13 * 512

#: Columns that say which endpoint it is.
_WHO = ("capture", "interface", "bus", "device", "endpoint", "direction")


@dataclass(frozen=True)
class Endpoint:
    """One endpoint of one device in one direction."""

    capture: str
    interface: int
    bus: int
    device: int
    endpoint: int
    direction: str

    def __str__(self) -> str:
        return f"USB bus {self.bus} device {self.device} endpoint {self.endpoint} {self.direction}"


@dataclass(frozen=True)
class Transfers:
    """The transfers of one endpoint whose submission and completion were both captured, in order of completion.

    Attributes
    ----------
    who : Endpoint
        The endpoint.
    packet : array
        Row's record.
    t_submit_ns, t_complete_ns : array
        On the trace's axis.
    size_bytes : array
        Bytes transferred; 0 where that is not known.
    queue_depth : array
        Outstanding just after submission; 0 where that is not known.
    """

    who: Endpoint
    packet: Array
    t_submit_ns: Array
    t_complete_ns: Array
    size_bytes: Array
    queue_depth: Array

    def __len__(self) -> int:
        return len(self.packet)

    @property
    def t_begin_ns(self) -> Array:
        """When each was first the endpoint's oldest: its submission, or the completion before it."""
        begin = self.t_submit_ns.copy()
        begin[1:] = np.maximum(begin[1:], np.maximum.accumulate(self.t_complete_ns)[:-1])
        return np.minimum(begin, self.t_complete_ns)


def bulk(table: pa.Table) -> Iterator[Transfers]:
    """The bulk endpoints of the table `urbs`, in order of their first transfer."""
    import pyarrow.compute as pc

    whole = pc.and_(pc.is_valid(table["t_submit_ns"]), pc.is_valid(table["t_complete_ns"]))
    kept = table.filter(pc.and_(whole, pc.fill_null(_is(table["transfer"], "bulk"), False)))
    if not kept.num_rows:
        return
    codes = [_codes(kept[name]) for name in _WHO]
    key = np.zeros(kept.num_rows, np.int64)
    for code, words in codes:
        key = key * len(words) + code
        # Numbered anew each time, so that the product stays small.
        key = np.unique(key, return_inverse=True)[1].astype(np.int64)
    columns = {
        name: _ints(kept[source])
        for name, source in (
            ("packet", "packet"),
            ("t_submit_ns", "t_submit_ns"),
            ("t_complete_ns", "t_complete_ns"),
            ("size_bytes", "done_bytes"),
            ("queue_depth", "queue_depth"),
        )
    }
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    parts = np.split(order, first[1:])
    for rows in sorted(parts, key=lambda rows: int(rows[0])):
        who = Endpoint(*(words[code[rows[0]]] for code, words in codes))
        yield Transfers(who, **{name: values[rows] for name, values in columns.items()})


def words(table: pa.Table) -> str:
    """What the transfers of `urbs` moved, and which endpoint most; empty without any."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not table.num_rows:
        return ""
    who = {name: table[name] for name in _WHO}
    plain = {n: c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for n, c in who.items()}
    moved = pc.fill_null(table["done_bytes"].cast(pa.int64()), 0)
    sums = pa.table({**plain, "moved": moved}).group_by(list(_WHO), use_threads=False).aggregate([("moved", "sum")])
    rows = sorted(sums.to_pylist(), key=lambda row: (-row["moved_sum"], *(str(row[name]) for name in _WHO)))
    most = Endpoint(*(rows[0][name] for name in _WHO))
    said = f"{count(table.num_rows, 'USB transfer')} of {count(len(rows), 'endpoint')}"
    total = sum(row["moved_sum"] for row in rows)
    if not total:
        return f"{said} that moved nothing."
    return f"{said} moved {size(total)}; {most} moved most, {size(rows[0]['moved_sum'])}."


def per_frame(t_ns: Array, size_bytes: Array) -> tuple[Array, Array]:
    """Frames of 1 ms in which something was completed, rising, and the bytes completed in each."""
    frame, at = np.unique(t_ns // FRAME_NS, return_inverse=True)
    return frame, np.bincount(at, weights=size_bytes, minlength=len(frame)).astype(np.int64)


def outstanding(transfers: Transfers) -> tuple[Array, Array]:
    """Times at which the number of outstanding transfers changes, and the number from then on."""
    t_ns = np.concatenate((transfers.t_submit_ns, transfers.t_complete_ns))
    step = np.concatenate((np.ones(len(transfers), np.int64), np.full(len(transfers), -1)))
    order = np.lexsort((step, t_ns))
    # Of one instant completions come first; a transfer that completed in the instant of its submission would be less than none.
    return t_ns[order], np.maximum(np.cumsum(step[order]), 0)


def _is(column: pa.ChunkedArray, word: str) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.equal(column.cast(pa.string()), word)


def _ints(column: pa.ChunkedArray) -> Array:
    import pyarrow as pa

    filled: Array = column.cast(pa.int64()).fill_null(0).to_numpy()
    return filled


def _codes(column: pa.ChunkedArray) -> tuple[Array, list[Any]]:
    """A number for each value, and the values."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    encoded = column.dictionary_encode().unify_dictionaries()
    words = encoded.chunk(0).dictionary.to_pylist()
    return np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in encoded.chunks]).astype(
        np.int64
    ), words
