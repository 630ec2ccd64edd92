"""Transfers of USB endpoints as vectors, and the capacity of a bus."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.tables.columns import Array, encoded, enum_mask, integers, known, narrow, rows_where

if TYPE_CHECKING:
    import pyarrow as pa

#: A frame of the bus, ns (USB 2.0 section 5.3.3).
FRAME_NS = 1_000_000
#: Bytes of a full-speed bulk packet, and packets in a frame (USB 2.0 section 5.8.4, table 5-9).
FULL_SPEED_PACKET_BYTES, FULL_SPEED_PACKETS = 64, 19
#: Bytes that a bus carries in a frame (high speed: table 5-10, 8 microframes of 13 packets of 512 bytes).
FULL_SPEED_BYTES_PER_MS = FULL_SPEED_PACKETS * FULL_SPEED_PACKET_BYTES
HIGH_SPEED_BYTES_PER_MS = 8 * 13 * 512

#: Columns that identify an endpoint.
ENDPOINT_COLUMNS = ("capture", "interface", "bus", "device", "endpoint", "direction")

#: Keys of endpoints are numbered again above this, so that the next product fits in 63 bits.
_MOST_KEYS = 1 << 31


@dataclass(frozen=True)
class Endpoint:
    """One endpoint of one device in one direction."""

    capture: str
    interface: int
    bus: int
    device: int
    endpoint: int
    direction: str

    def is_on_bus_of(self, other: Endpoint) -> bool:
        """Whether both share the time of one bus."""
        return (self.capture, self.interface, self.bus) == (other.capture, other.interface, other.bus)

    def __str__(self) -> str:
        return f"USB bus {self.bus} device {self.device} endpoint {self.endpoint} {self.direction}"


@dataclass(frozen=True)
class Transfers:
    """Transfers of one endpoint with both submission and completion captured, in order of completion.

    Attributes
    ----------
    endpoint : Endpoint
    packet : array
        Packet number of each transfer.
    t_submit_ns, t_complete_ns : array
        On the trace's time axis.
    size_bytes : array
        Bytes transferred; 0 where unknown.
    queue_depth : array
        Transfers outstanding just after submission; 0 where unknown.
    """

    endpoint: Endpoint
    packet: Array
    t_submit_ns: Array
    t_complete_ns: Array
    size_bytes: Array
    queue_depth: Array

    def __len__(self) -> int:
        return len(self.packet)

    @property
    def t_begin_ns(self) -> Array:
        """When each transfer became the oldest outstanding: its submission or the completion before it, whichever is later."""
        begin = self.t_submit_ns.copy()
        begin[1:] = np.maximum(begin[1:], np.maximum.accumulate(self.t_complete_ns)[:-1])
        return np.minimum(begin, self.t_complete_ns)


def bulk(table: pa.Table) -> Iterator[Transfers]:
    """Yield the bulk endpoints of the table `urbs`, in order of their first transfer."""
    whole = known(table["t_submit_ns"]) & known(table["t_complete_ns"])
    kept = rows_where(table, whole & enum_mask(table["transfer"], ["bulk"]))
    if not kept.num_rows:
        return
    codes = [_codes(kept[name]) for name in ENDPOINT_COLUMNS]
    key, most = np.zeros(kept.num_rows, np.int64), 1
    for code, words in codes:
        key, most = key * len(words) + code, most * len(words)
        if most > _MOST_KEYS:
            # Renumber, so that the product stays small.
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            most = int(key.max()) + 1
    columns = {
        name: integers(kept[source])
        for name, source in (
            ("packet", "packet"),
            ("t_submit_ns", "t_submit_ns"),
            ("t_complete_ns", "t_complete_ns"),
            ("size_bytes", "done_bytes"),
            ("queue_depth", "queue_depth"),
        )
    }
    order = np.argsort(narrow(key), kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    parts = np.split(order, first[1:])
    for rows in sorted(parts, key=lambda rows: int(rows[0])):
        endpoint = Endpoint(*(words[code[rows[0]]] for code, words in codes))
        yield Transfers(endpoint, **{name: values[rows] for name, values in columns.items()})


def per_frame(t_ns: Array, size_bytes: Array) -> tuple[Array, Array]:
    """Frames of the bus with a completion, rising, and the bytes completed in each."""
    frame, at = np.unique(t_ns // FRAME_NS, return_inverse=True)
    return frame, np.bincount(at, weights=size_bytes, minlength=len(frame)).astype(np.int64)


def outstanding(transfers: Transfers) -> tuple[Array, Array]:
    """Times at which the number of outstanding transfers changes, and the number from then on."""
    t_ns = np.concatenate((transfers.t_submit_ns, transfers.t_complete_ns))
    step = np.concatenate((np.ones(len(transfers), np.int64), np.full(len(transfers), -1)))
    order = np.lexsort((step, t_ns))
    # At one time completions count first; a transfer that completes when it is submitted would make the count negative.
    return t_ns[order], np.maximum(np.cumsum(step[order]), 0)


def _codes(column: pa.ChunkedArray) -> tuple[Array, list[Any]]:
    """A code for each row, and the value of each code."""
    whole = encoded(column)
    return integers(whole.indices), whole.dictionary.to_pylist()
