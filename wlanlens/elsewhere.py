"""What the other captures tell of a segment: whether a retransmission was needed, and whether a timer was right to expire,
by what had arrived at the receiver."""

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

#: What became of a packet behind the capture in which it is looked at.
_ARRIVED, _LOST, _UNKNOWN, _OUTSIDE = 1, 0, -1, -2


class Elsewhere:
    """Facts of each capture, corrected by the others.

    A retransmission was needless when all its bytes had arrived in earlier copies, and it was needed when some had not, as
    the last capture on their way tells: a tap near the receiver by having them, a sniffer by the acknowledgments of the
    MAC. A tap that missed packets is found out by neighbours that it missed (`lost` of `links`), and by ACKs of what it
    never saw: then nothing is said, or that it was needless.
    """

    def __init__(
        self, captures: Sequence[Capture], packets: Sequence[pa.Table], journeys: Journeys, links: pa.Table
    ) -> None:
        self._captures, self._packets, self._journeys = captures, packets, journeys
        self._fate = _fates(captures, journeys, links)
        self._receivers: dict[int, _Receiver] = {}
        #: By capture and direction of a connection: what its sequence numbers have more at the far end.
        self._shifts: dict[int, dict[int, int]] = {}

    def needless(self, segments: Sequence[pa.Table]) -> list[pa.Table]:
        """The tables `segments` with `needless` decided where the other captures do."""
        out = list(segments)
        for here in range(len(self._captures)):
            rows = _Rows(segments[here], self._packets[here])
            far = self._far(here)
            if far < 0 or not rows.resent.any():
                continue
            verdict, known = self._judge(here, far, rows)
            if known.any():
                out[here] = _written(segments[here], {"needless": verdict, "needless_by": "other_capture"}, known)
        return out

    def kinds(self, timeouts: Sequence[pa.Table], segments: Sequence[pa.Table]) -> list[pa.Table]:
        """The tables `timeouts` with `kind` corrected; `segments` are those that `needless` made.

        An expiry was genuine when its resend was needed. When it was not, the ACKs had been lost if the receiver had sent
        some that covered the segment before the expiry and none of these came; else data or ACKs were late.
        """
        out = list(timeouts)
        for here, table in enumerate(timeouts):
            far = self._far(here)
            if far < 0 or not table.num_rows:
                continue
            needless, decided, end = _resends(table, segments[here], self._packets[here])
            kind = np.asarray(table.column("kind").cast("string").to_pylist(), object)
            by = np.asarray(table.column("kind_by").cast("string").to_pylist(), object)
            evidence = table.column("evidence_packet").to_pylist()
            change = decided & np.where(needless, np.isin(kind, ("genuine", "undecided")), kind != "genuine")
            for i in np.flatnonzero(change).tolist():
                lost = needless[i] and self._acks_lost(here, far, table, i, int(end[i]))
                kind[i] = "ack_lost" if lost else "spurious" if needless[i] else "genuine"
                by[i], evidence[i] = ("other_capture" if needless[i] else None), None
            if change.any():
                out[here] = _replaced(
                    table, {"kind": kind.tolist(), "kind_by": by.tolist(), "evidence_packet": evidence}
                )
        return out

    def _far(self, here: int) -> int:
        """The capture at the other end of the way; -1 where there is none that could tell."""
        ends = self._journeys.ends
        if ends is None:
            return -1
        others = [end for end in ends if end != here]
        # A capture between the ends sees both ways: the receiver's end tells.
        by_point = sorted(others, key=lambda j: self._captures[j].vantage != "receiver")
        return by_point[0] if by_point else -1

    def _receiver(self, there: int) -> _Receiver:
        if there not in self._receivers:
            self._receivers[there] = _Receiver(self._packets[there])
        return self._receivers[there]

    def _judge(self, here: int, far: int, rows: _Rows) -> tuple[Array, Array]:
        """Whether each resend was needless, and where that is known."""
        verdict, known = np.zeros(len(rows.flow), bool), np.zeros(len(rows.flow), bool)
        journey = self._journeys.of[here][rows.row]
        fate = np.where(journey >= 0, self._fate[journey], _UNKNOWN)
        there = np.where(journey >= 0, self._journeys.rows[journey, far], -1)
        receiver = self._receiver(far)
        key = 2 * rows.flow + rows.back
        sent = np.flatnonzero(rows.sent)
        onward = _onward(rows, there, receiver, key, sent)
        shift = self._shifts[here] = _shift(rows, there, receiver, key, sent)
        order = sent[np.lexsort((sent, rows.start[sent], key[sent]))]
        starts, keys = rows.start[order], key[order]
        for r in np.flatnonzero(rows.resent):
            if not onward.get(int(key[r]), False):
                continue
            low, high = np.searchsorted(keys, [key[r], key[r] + 1])
            begin, end = int(rows.start[r]), int(rows.start[r] + rows.length[r])
            first = low + int(np.searchsorted(starts[low:high], begin - _LONGEST))
            last = low + int(np.searchsorted(starts[low:high], end))
            earlier = order[first:last]
            earlier = earlier[(earlier < r) & (rows.start[earlier] + rows.length[earlier] > begin)]
            if not len(earlier):
                # The first copy never passed this tap: what became of it is not known here.
                continue
            arrived = earlier[fate[earlier] == _ARRIVED]
            if _covers(rows.start[arrived], rows.start[arrived] + rows.length[arrived], begin, end):
                verdict[r] = known[r] = True
                continue
            raw_end = int(rows.raw[r] + rows.length[r] + shift.get(int(key[r]), 0)) % (1 << 32)
            at = int(there[r]) if there[r] >= 0 else int(np.searchsorted(receiver.t_ns, rows.t_ns[r]))
            # Acknowledged before this copy came: that tap missed the one before.
            verdict[r] = receiver.acked(int(rows.flow[r]), bool(rows.back[r]), raw_end, at)
            # Where the far capture begins with a SYN, that before it did not come: it is answered at once.
            lost = (fate[earlier] >= 0) | ((fate[earlier] == _OUTSIDE) & (begin == 0) & (there[r] >= 0))
            known[r] = verdict[r] or lost.all()
        return verdict, known

    def _acks_lost(self, here: int, far: int, timeouts: pa.Table, i: int, raw_end: int) -> bool:
        """Whether the receiver had acknowledged a segment before its timer expired, and nothing of that came, though a later
        ACK did: without one they may be under way still."""
        if timeouts.column("progress_ns")[i].as_py() is None:
            return False
        flow = int(timeouts.column("flow")[i].as_py())
        back = timeouts.column("direction")[i].as_py() == "b2a"
        raw_end = (raw_end + self._shifts.get(here, {}).get(2 * flow + back, 0)) % (1 << 32)
        rows = self._receiver(far).covering(flow, back, raw_end, int(timeouts.column("t_ns")[i].as_py()))
        journey = self._journeys.of[far][rows]
        journey = journey[journey >= 0]
        return bool(len(journey)) and bool((self._journeys.rows[journey, here] < 0).all())


def _fates(captures: Sequence[Capture], journeys: Journeys, links: pa.Table) -> Array:
    """What became of each journey."""
    import pyarrow as pa
    import pyarrow.compute as pc

    fate, lost = (np.asarray(links.column(name).cast(pa.string()).to_pylist(), object) for name in ("fate", "lost"))
    state = np.full(len(fate), _UNKNOWN, np.int8)
    state[fate == "arrived"], state[fate == "outside"] = _ARRIVED, _OUTSIDE
    state[(fate == "not_seen") & (lost != "unknown") & (lost != None)] = _LOST  # noqa: E711 - of each element
    last = {captures[j].vantage for j in journeys.ends or ()} - {"sender", "usb"}
    if last == {"air"}:
        # The air is the end: what was on it has arrived when that was acknowledged.
        heard = np.asarray(pc.is_valid(links.column("air_packet")), bool)
        acked = np.asarray(links.column("acked").cast(pa.int8()).fill_null(_UNKNOWN).to_numpy(), np.int8)
        state[heard] = acked[heard]
    return state


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
    """What the far tap saw the receiver acknowledge."""

    def __init__(self, packets: pa.Table) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        acks = np.asarray(packets.column("tcp_ack").is_valid(), bool) & np.asarray(
            packets.column("flow").is_valid(), bool
        )
        rows = np.flatnonzero(acks)
        taken = packets.select(["flow", "direction", "tcp_ack"]).take(pa.array(rows))
        back = np.asarray(pc.equal(taken.column("direction").cast(pa.string()), "b2a"), bool)
        # ACKs of a direction travel in the other one.
        key = 2 * taken.column("flow").to_numpy().astype(np.int64) + ~back
        order = np.argsort(key, kind="stable")
        self.key, self.row = key[order], rows[order]
        self.ack = taken.column("tcp_ack").to_numpy().astype(np.int64)[order]
        self.t_ns: Array = packets.column("t_ns").fill_null(0).to_numpy()
        self.seq: Array = packets.column("tcp_seq").fill_null(0).to_numpy().astype(np.int64)

    def _of(self, flow: int, back: bool) -> tuple[int, int]:
        low, high = np.searchsorted(self.key, [2 * flow + back, 2 * flow + back + 1])
        return int(low), int(high)

    def acked(self, flow: int, back: bool, raw_end: int, before_row: int) -> bool:
        """Whether the receiver had acknowledged up to `raw_end` before a row of its capture."""
        low, high = self._of(flow, back)
        high = low + int(np.searchsorted(self.row[low:high], before_row))
        # Cumulative ACKs rise: the last few tell, whatever overtook whatever.
        return bool((_ahead(self.ack[max(low, high - 64) : high], raw_end) >= 0).any())

    def covering(self, flow: int, back: bool, raw_end: int, before_ns: int) -> Array:
        """Rows of ACKs up to `raw_end` or beyond that passed before a time."""
        low, high = self._of(flow, back)
        part = self.row[low:high]
        return np.asarray(part[(self.t_ns[part] < before_ns) & (_ahead(self.ack[low:high], raw_end) >= 0)])


def _ahead(ack: Array, raw_end: int) -> Array:
    """By how much sequence numbers are ahead of one, modulo 2^32."""
    return np.asarray((ack - raw_end + (1 << 31)) % (1 << 32) - (1 << 31))


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


def _resends(timeouts: pa.Table, segments: pa.Table, packets: pa.Table) -> tuple[Array, Array, Array]:
    """Of each expiry whether its resend was needless, whether another capture said so, and where the segment ends, as on the
    wire."""
    by = np.asarray(segments.column("needless_by").cast("string").to_pylist(), object)
    needless = np.asarray(segments.column("needless").fill_null(False).to_numpy(zero_copy_only=False), bool)
    number = segments.column("packet").to_numpy()
    wanted = timeouts.column("packet").to_numpy()
    at = np.minimum(np.searchsorted(number, wanted), max(0, len(number) - 1))
    found = (number[at] == wanted) if len(number) else np.zeros(len(wanted), bool)
    row = np.minimum(np.searchsorted(packets.column("packet").to_numpy(), wanted), max(0, packets.num_rows - 1))
    raw = packets.column("tcp_seq").fill_null(0).to_numpy().astype(np.int64)[row] if packets.num_rows else wanted * 0
    length = timeouts.column("len").to_numpy().astype(np.int64)
    decided = found & (by[at] == "other_capture") if len(number) else found
    return (needless[at] if len(number) else found), decided, (raw + length) % (1 << 32)


def _written(table: pa.Table, values: dict[str, Any], which: Array) -> pa.Table:
    """A table with columns that have new values in some rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    decided = pa.array(which)
    out = table
    for name, new in values.items():
        old = out.column(name)
        plain = old.cast(old.type.value_type) if pa.types.is_dictionary(old.type) else old
        fresh = pa.scalar(new) if isinstance(new, str) else pa.array(new)
        out = _set(out, name, pc.if_else(decided, fresh, plain))
    return out


def _replaced(table: pa.Table, values: dict[str, list[Any]]) -> pa.Table:
    """A table with other columns."""
    import pyarrow as pa

    for name, new in values.items():
        kind = table.schema.field(name).type
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        table = _set(table, name, pa.chunked_array([pa.array(new, plain)]))
    return table


def _set(table: pa.Table, name: str, values: Any) -> pa.Table:
    import pyarrow as pa

    at = table.column_names.index(name)
    field = table.schema.field(at)
    one = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    coded = one.dictionary_encode().cast(field.type) if pa.types.is_dictionary(field.type) else one
    return table.set_column(at, field, coded)
