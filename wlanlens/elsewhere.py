"""What another capture tells of a segment: whether a retransmission was needed, by what had arrived at the receiver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.journeys import Journeys

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture import Capture

Array = np.ndarray[Any, Any]

#: Longest segment: a super-segment of BIG TCP.
_LONGEST = 1 << 20


def needless(
    captures: Sequence[Capture], segments: Sequence[pa.Table], packets: Sequence[pa.Table], journeys: Journeys
) -> list[pa.Table]:
    """The tables `segments` with `needless` decided by the capture nearest the receiver of the data, where there is one.

    A retransmission was needless when all its bytes had left in earlier copies that the other tap saw, and it was needed
    when the other tap saw none of some of them and the receiver had not acknowledged them. A tap that missed packets is
    found out by ACKs of what it never saw: then nothing is said.
    """
    out = list(segments)
    for here in range(len(captures)):
        rows = _Rows(segments[here], packets[here])
        if not rows.resent.any():
            continue
        verdict, known = np.zeros(len(rows.flow), bool), np.zeros(len(rows.flow), bool)
        for there in range(len(captures)):
            if there == here or captures[there].vantage in ("usb",):
                continue
            row_there = np.full(len(rows.row), -1, np.int64)
            of_here = journeys.of[here][rows.row]
            row_there[of_here >= 0] = journeys.rows[of_here[of_here >= 0], there]
            _judge(rows, row_there, _Receiver(segments[there], packets[there]), verdict, known)
        if known.any():
            out[here] = _written(segments[here], verdict, known)
    return out


class _Rows:
    """The segments of one capture that occupy sequence space."""

    def __init__(self, segments: pa.Table, packets: pa.Table) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        number = packets.column("packet").to_numpy()
        self.flow: Array = segments.column("flow").to_numpy().astype(np.int64)
        self.back: Array = np.asarray(pc.equal(segments.column("direction").cast(pa.string()), "b2a"), bool)
        kind = segments.column("kind").cast(pa.string())
        control = np.asarray(pc.is_in(kind, pa.array(["syn", "synack", "fin"])), bool)
        self.length: Array = segments.column("len").to_numpy().astype(np.int64) + control
        self.start: Array = segments.column("rel_seq").fill_null(0).to_numpy()
        # The row of `packets`: of a record with several the first.
        self.row: Array = np.searchsorted(number, segments.column("packet").to_numpy())
        transmission = segments.column("transmission").cast(pa.string())
        copies = pa.array(["capture_duplicate", "network_duplicate", "mac_copy"])
        self.sent: Array = (self.length > 0) & ~np.asarray(pc.is_in(transmission, copies), bool)
        self.resent: Array = np.asarray(pc.equal(transmission, "retransmission"), bool) & self.sent
        self.t_ns: Array = packets.column("t_ns").fill_null(0).to_numpy()[self.row]
        self.raw: Array = packets.column("tcp_seq").fill_null(0).to_numpy().astype(np.int64)[self.row]


class _Receiver:
    """What the other tap saw the receiver acknowledge."""

    def __init__(self, segments: pa.Table, packets: pa.Table) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        acks = np.asarray(packets.column("tcp_ack").is_valid(), bool) & np.asarray(
            packets.column("flow").is_valid(), bool
        )
        rows = np.flatnonzero(acks)
        taken = packets.select(["flow", "direction", "tcp_ack", "t_ns"]).take(pa.array(rows))
        back = np.asarray(pc.equal(taken.column("direction").cast(pa.string()), "b2a"), bool)
        # ACKs of a direction travel in the other one.
        key = 2 * taken.column("flow").to_numpy().astype(np.int64) + ~back
        order = np.argsort(key, kind="stable")
        self.key, self.row = key[order], rows[order]
        self.ack = taken.column("tcp_ack").to_numpy().astype(np.int64)[order]
        self.t_ns: Array = packets.column("t_ns").fill_null(0).to_numpy()
        self.seq: Array = packets.column("tcp_seq").fill_null(0).to_numpy().astype(np.int64)
        del segments

    def acked(self, flow: int, back: bool, raw_end: int, before_row: int) -> bool:
        """Whether the receiver had acknowledged up to `raw_end` before a row of its capture."""
        low, high = np.searchsorted(self.key, [2 * flow + back, 2 * flow + back + 1])
        high = low + int(np.searchsorted(self.row[low:high], before_row))
        # Cumulative ACKs rise: the last few tell, whatever overtook whatever.
        last = self.ack[max(low, high - 64) : high]
        ahead = (last - raw_end + (1 << 31)) % (1 << 32) - (1 << 31)
        return bool((ahead >= 0).any())


def _judge(rows: _Rows, row_there: Array, receiver: _Receiver, verdict: Array, known: Array) -> None:
    """Decide the retransmissions that travel from here to there."""
    key = 2 * rows.flow + rows.back
    sent = np.flatnonzero(rows.sent)
    onward = _onward(rows, row_there, receiver, key, sent)
    shift = _shift(rows, row_there, receiver, key, sent)
    order = sent[np.lexsort((sent, rows.start[sent], key[sent]))]
    starts, keys = rows.start[order], key[order]
    for r in np.flatnonzero(rows.resent & ~known):
        if not onward.get(int(key[r]), False):
            continue
        low, high = np.searchsorted(keys, [key[r], key[r] + 1])
        begin, end = int(rows.start[r]), int(rows.start[r] + rows.length[r])
        first = low + int(np.searchsorted(starts[low:high], begin - _LONGEST))
        last = low + int(np.searchsorted(starts[low:high], end))
        earlier = order[first:last]
        earlier = earlier[(earlier < r) & (rows.start[earlier] + rows.length[earlier] > begin)]
        arrived = earlier[row_there[earlier] >= 0]
        known[r] = True
        if _covers(rows.start[arrived], rows.start[arrived] + rows.length[arrived], begin, end):
            verdict[r] = True
        elif not len(earlier):
            # The first copy never passed this tap: what became of it is not known here.
            known[r] = False
        else:
            raw_end = int(rows.raw[r] + rows.length[r] + shift.get(int(key[r]), 0)) % (1 << 32)
            at = int(row_there[r])
            if at < 0:
                at = int(np.searchsorted(receiver.t_ns, rows.t_ns[r]))
            # Acknowledged and never seen: that tap missed it.
            if receiver.acked(int(rows.flow[r]), bool(rows.back[r]), raw_end, at):
                verdict[r] = True


def _onward(rows: _Rows, row_there: Array, receiver: _Receiver, key: Array, sent: Array) -> dict[int, bool]:
    """By direction of a connection: whether its packets pass here first."""
    both = sent[row_there[sent] >= 0]
    later = receiver.t_ns[row_there[both]] - rows.t_ns[both]
    return {int(k): bool(np.median(later[key[both] == k]) > 0) for k in np.unique(key[both])}


def _shift(rows: _Rows, row_there: Array, receiver: _Receiver, key: Array, sent: Array) -> dict[int, int]:
    """By direction of a connection: what its sequence numbers have more there, where a firewall rewrites them."""
    both = sent[row_there[sent] >= 0]
    more = (receiver.seq[row_there[both]] - rows.raw[both]) % (1 << 32)
    return {int(k): int(np.median(more[key[both] == k])) for k in np.unique(key[both][more != 0])}


def _covers(starts: Array, ends: Array, begin: int, end: int) -> bool:
    """Whether some ranges together hold all of one."""
    for k in np.argsort(starts, kind="stable"):
        if starts[k] > begin:
            return False
        begin = max(begin, int(ends[k]))
        if begin >= end:
            return True
    return begin >= end


def _written(segments: pa.Table, verdict: Array, known: Array) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    out = segments
    decided = pa.array(known)
    was = out.column("needless_by").cast(pa.string())
    for name, values in (
        ("needless", pc.if_else(decided, pa.array(verdict), out.column("needless"))),
        ("needless_by", pc.if_else(decided, pa.scalar("other_capture"), was)),
    ):
        at = out.column_names.index(name)
        field = out.schema.field(at)
        one = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        coded = one.dictionary_encode().cast(field.type) if pa.types.is_dictionary(field.type) else one
        out = out.set_column(at, field, coded)
    return out
