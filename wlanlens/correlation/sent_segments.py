"""The segments of one capture as the copies of bytes that TCP sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.correlation.receiver_acks import ReceiverAcks
from wlanlens.correlation.stream_order import streams
from wlanlens.tables.columns import coded, filled, integers, numbered, ordered_by

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]


class SentSegments:
    """The segments of one capture. `key` is twice the connection, plus 1 for b2a; `stream` is its index in `keys`."""

    def __init__(self, segments: pa.Table, packets: pa.Table) -> None:
        self.key: Array = streams(segments)
        self.keys, self.stream = numbered(self.key)
        control = coded(segments.column("kind"), ["syn", "synack", "fin"]) >= 0
        self.length: Array = integers(segments.column("len")) + control
        self.start: Array = filled(segments.column("rel_seq"))
        # The row of `packets`: the first one of a record with several packets.
        self.row: Array = _rows_of(segments.column("packet").to_numpy(), packets.column("packet").to_numpy())
        copies = ("retransmission", "capture_duplicate", "network_duplicate", "mac_copy")
        transmission = coded(segments.column("transmission"), copies)
        #: Segments that occupy sequence space and were sent by TCP.
        self.sent: Array = (self.length > 0) & (transmission < 1)
        self.retransmitted: Array = self.sent & (transmission == 0)
        self.t_ns: Array = filled(packets.column("t_ns")).take(self.row)
        self.raw: Array = filled(packets.column("tcp_seq")).take(self.row).astype(np.int64)


def _rows_of(wanted: Array, numbers: Array) -> Array:
    """The first row with each of some packet numbers; numbers do not decrease."""
    if np.array_equal(wanted, numbers) and (numbers[1:] > numbers[:-1]).all():
        # Every record is one TCP packet.
        return np.arange(len(numbers))
    return np.searchsorted(numbers, wanted)


def direction_and_shift(rows: SentSegments, there: Array, receiver: ReceiverAcks) -> tuple[Array, Array]:
    """For each stream: whether its packets pass this capture first, and the difference of sequence numbers at the far end.

    Both are medians over the packets that both captures have.
    """
    shift = np.zeros(len(rows.keys), np.int64)
    both = np.flatnonzero(rows.sent & (there >= 0))
    key = rows.stream.take(both)
    far = there.take(both)
    delay = receiver.t_ns.take(far) - rows.t_ns.take(both)
    # Wire arithmetic, modulo 2^32.
    difference = receiver.seq.take(far) - rows.raw.take(both).astype(np.uint32)
    needed = np.zeros(len(rows.keys), bool)
    needed[rows.stream[rows.retransmitted]] = True
    total, late = (np.bincount(of, minlength=len(rows.keys)) for of in (key, key[delay > 0]))
    # The two values in the middle, both after or both before the packet, decide without a sort.
    onward = needed & ((total - 1) // 2 >= total - late) & (total > 0)
    needed &= (total // 2 >= total - late) & ~onward
    for values, out in ((delay, onward), (difference, shift)):
        which, middle = _medians(key[needed[key]], values[needed[key]])
        out[which] = middle > 0 if out is onward else middle
        needed = np.zeros(len(rows.keys), bool)
        needed[key[difference != 0]] = True
    return onward, shift


def _medians(key: Array, values: Array) -> tuple[Array, Array]:
    """The median of the values of each key."""
    order = ordered_by(key, values)
    which, begin = np.unique(key[order], return_index=True)
    last = np.append(begin[1:], len(order)) - 1
    low, high = (values[order[at]].astype(np.int64) for at in ((begin + last) // 2, (begin + last + 1) // 2))
    return which, (low + high) / 2
