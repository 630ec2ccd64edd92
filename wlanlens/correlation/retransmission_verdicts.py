"""What the other captures tell of a segment: whether a retransmission was needed, and whether a timer was right to expire,
by what had arrived at the receiver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.correlation.packet_index import Journeys
from wlanlens.correlation.receiver_acks import Receiver
from wlanlens.correlation.segment_overlap import Copies
from wlanlens.tables import ARRIVALS, LOST
from wlanlens.tables.columns import coded, filled, narrow, numbered
from wlanlens.tables.columns import known as valid

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture

Array = np.ndarray[Any, Any]

#: What became of a packet behind the capture in which it is looked at.
_ARRIVED, _LOST, _UNKNOWN, _OUTSIDE = 1, 0, -1, -2


class Elsewhere:
    """Facts of each capture, corrected by the others.

    A retransmission was spurious when all its bytes had arrived in earlier copies, and it was needed when some had not, as
    the last capture on their way tells: a tap near the receiver by having them, a sniffer by the acknowledgments of the
    MAC. A tap that missed packets is found out by neighbours that it missed (`lost` of `links`), and by ACKs of what it
    never saw: then nothing is said, or that it was spurious.
    """

    def __init__(
        self, captures: Sequence[Capture], packets: Sequence[pa.Table], journeys: Journeys, links: pa.Table
    ) -> None:
        self._captures, self._packets, self._journeys = captures, packets, journeys
        self._fate = _fates(captures, journeys, links)
        self._receivers: dict[int, Receiver] = {}
        #: By capture and direction of a connection: what its sequence numbers have more at the far end, if anything.
        self._shifts: dict[int, dict[int, int]] = {}

    def spurious(self, segments: Sequence[pa.Table]) -> list[pa.Table]:
        """The tables `segments` with `spurious` decided where the other captures do."""
        out = list(segments)
        for here in range(len(self._captures)):
            rows = _Rows(segments[here], self._packets[here])
            far = self._far(here)
            if far < 0 or not rows.resent.any():
                continue
            verdict, known = self._judge(here, far, rows)
            if known.any():
                out[here] = _written(segments[here], {"spurious": verdict, "spurious_evidence": "other_capture"}, known)
        return out

    def kinds(self, timeouts: Sequence[pa.Table], segments: Sequence[pa.Table]) -> list[pa.Table]:
        """The tables `timeouts` with `kind` corrected; `segments` are those that `spurious` made.

        An expiry was genuine when its resend was needed. When it was not, the ACKs had been lost if the receiver had sent
        some that covered the segment before the expiry and none of these came; else data or ACKs were late.
        """
        out = list(timeouts)
        for here, table in enumerate(timeouts):
            far = self._far(here)
            if far < 0 or not table.num_rows:
                continue
            spurious, decided, end = _resends(table, segments[here], self._packets[here])
            kind = np.asarray(table.column("kind").cast("string").to_pylist(), object)
            by = np.asarray(table.column("kind_evidence").cast("string").to_pylist(), object)
            evidence = table.column("evidence_packet").to_pylist()
            change = decided & np.where(spurious, np.isin(kind, ("genuine", "undecided")), kind != "genuine")
            for i in np.flatnonzero(change).tolist():
                lost = spurious[i] and self._acks_lost(here, far, table, i, int(end[i]))
                kind[i] = "ack_lost" if lost else "spurious" if spurious[i] else "genuine"
                by[i], evidence[i] = ("other_capture" if spurious[i] else None), None
            if change.any():
                out[here] = _replaced(
                    table, {"kind": kind.tolist(), "kind_evidence": by.tolist(), "evidence_packet": evidence}
                )
        return out

    def _far(self, here: int) -> int:
        """The capture at the other end of the way; -1 where there is none that could tell."""
        ends = self._journeys.ends
        if ends is None:
            return -1
        others = [end for end in ends if end != here]
        # A capture between the ends sees both ways: the receiver's end tells.
        by_point = sorted(others, key=lambda j: self._captures[j].point != "receiver")
        return by_point[0] if by_point else -1

    def _receiver(self, there: int) -> Receiver:
        if there not in self._receivers:
            self._receivers[there] = Receiver(self._packets[there])
        return self._receivers[there]

    def _judge(self, here: int, far: int, rows: _Rows) -> tuple[Array, Array]:
        """Whether each resend was spurious, and where that is known."""
        verdict, known = np.zeros(len(rows.key), bool), np.zeros(len(rows.key), bool)
        journey = self._journeys.of[here][rows.row]
        fate = np.where(journey >= 0, self._fate[journey], _UNKNOWN)
        there = np.where(journey >= 0, self._journeys.rows[journey, far], -1)
        receiver = self._receiver(far)
        onward, shift = _apart(rows, there, receiver)
        self._shifts[here] = {int(rows.keys[k]): int(shift[k]) for k in np.flatnonzero(shift)}
        resent = np.flatnonzero(rows.resent & onward[rows.stream])
        copies = Copies(rows.key, rows.start, rows.length, np.flatnonzero(rows.sent), resent)
        arrived = copies.cover(fate == _ARRIVED)
        # Where the far capture begins with a SYN, that before it did not come: it is answered at once.
        answered = (rows.start[resent] == 0) & (there[resent] >= 0)
        told = copies.all_are(fate >= 0) | (answered & copies.all_are((fate >= 0) | (fate == _OUTSIDE)))
        raw_end = (rows.raw[resent] + rows.length[resent] + shift[rows.stream[resent]]) % (1 << 32)
        passed = np.where(there[resent] >= 0, there[resent], np.searchsorted(receiver.t_ns, rows.t_ns[resent]))
        # Acknowledged before this copy came: that tap missed the one before.
        acked = receiver.acked(rows.key[resent], raw_end, passed)
        # Where the first copy never passed this tap, what became of it is not known here.
        verdict[resent] = copies.any & (arrived | acked)
        known[resent] = copies.any & (arrived | acked | told)
        return verdict, known

    def _acks_lost(self, here: int, far: int, timeouts: pa.Table, i: int, raw_end: int) -> bool:
        """Whether the receiver had acknowledged a segment before its timer expired, and nothing of that came, though a later
        ACK did: without one they may be under way still."""
        if timeouts.column("progress_ns")[i].as_py() is None:
            return False
        key = 2 * int(timeouts.column("flow")[i].as_py()) + (timeouts.column("direction")[i].as_py() == "b2a")
        raw_end = (raw_end + self._shifts.get(here, {}).get(key, 0)) % (1 << 32)
        rows = self._receiver(far).covering(key, raw_end, int(timeouts.column("t_ns")[i].as_py()))
        journey = self._journeys.of[far][rows]
        journey = journey[journey >= 0]
        return bool(len(journey)) and bool((self._journeys.rows[journey, here] < 0).all())


def _fates(captures: Sequence[Capture], journeys: Journeys, links: pa.Table) -> Array:
    """What became of each journey."""
    fate, lost = coded(links.column("fate"), ARRIVALS), coded(links.column("lost"), LOST)
    state = np.full(len(fate), _UNKNOWN, np.int8)
    state[fate == ARRIVALS.index("arrived")], state[fate == ARRIVALS.index("outside")] = _ARRIVED, _OUTSIDE
    state[(fate == ARRIVALS.index("not_seen")) & (lost >= 0) & (lost != LOST.index("unknown"))] = _LOST
    last = {captures[j].point for j in journeys.ends or ()} - {"sender", "usb"}
    if last == {"air"}:
        # The air is the end: what was on it has arrived when that was acknowledged.
        heard = valid(links.column("air_packet"))
        acked = np.where(valid(links.column("acked")), filled(links.column("acked"), False), _UNKNOWN)
        state[heard] = acked[heard]
    return state


class _Rows:
    """The segments of one capture; `key` is twice the connection, and 1 for the way back, `stream` its place in `keys`."""

    def __init__(self, segments: pa.Table, packets: pa.Table) -> None:
        back = coded(segments.column("direction"), ["b2a"]) == 0
        self.key: Array = 2 * segments.column("flow").to_numpy().astype(np.int64) + back
        self.keys, self.stream = numbered(self.key)
        control = coded(segments.column("kind"), ["syn", "synack", "fin"]) >= 0
        self.length: Array = segments.column("len").to_numpy().astype(np.int64) + control
        self.start: Array = filled(segments.column("rel_seq"))
        # The row of `packets`: of a record with several the first.
        self.row: Array = np.searchsorted(packets.column("packet").to_numpy(), segments.column("packet").to_numpy())
        copies = ("retransmission", "capture_duplicate", "network_duplicate", "mac_copy")
        transmission = coded(segments.column("transmission"), copies)
        #: Those that occupy sequence space, and were sent.
        self.sent: Array = (self.length > 0) & (transmission < 1)
        self.resent: Array = self.sent & (transmission == 0)
        self.t_ns: Array = filled(packets.column("t_ns"))[self.row]
        self.raw: Array = filled(packets.column("tcp_seq")).astype(np.int64)[self.row]


def _apart(rows: _Rows, there: Array, receiver: Receiver) -> tuple[Array, Array]:
    """Of each direction of a connection whether its packets pass here first, and what its sequence numbers have more there,
    where a firewall rewrites them; by the medians of those that both have."""
    onward, shift = np.zeros(len(rows.keys), bool), np.zeros(len(rows.keys), np.int64)
    both = np.flatnonzero(rows.sent & (there >= 0))
    key = rows.stream[both]
    late = receiver.t_ns[there[both]] - rows.t_ns[both]
    more = (receiver.seq[there[both]] - rows.raw[both]) % (1 << 32)
    for values, wanted, out in ((late, rows.stream[rows.resent], onward), (more, key[more != 0], shift)):
        asked = np.zeros(len(rows.keys), bool)
        asked[wanted] = True
        which, middle = _medians(key[asked[key]], values[asked[key]])
        out[which] = middle > 0 if out is onward else middle
    return onward, shift


def _medians(key: Array, values: Array) -> tuple[Array, Array]:
    """The median of the values of each key."""
    order = np.lexsort((values, narrow(key)))
    which, begin = np.unique(key[order], return_index=True)
    last = np.append(begin[1:], len(order)) - 1
    low, high = (values[order[at]] for at in ((begin + last) // 2, (begin + last + 1) // 2))
    return which, (low + high) / 2


def _resends(timeouts: pa.Table, segments: pa.Table, packets: pa.Table) -> tuple[Array, Array, Array]:
    """Of each expiry whether its resend was spurious, whether another capture said so, and where the segment ends, as on the
    wire."""
    elsewhere = coded(segments.column("spurious_evidence"), ["other_capture"]) == 0
    spurious = filled(segments.column("spurious"), False)
    number = segments.column("packet").to_numpy()
    wanted = timeouts.column("packet").to_numpy()
    at = np.minimum(np.searchsorted(number, wanted), max(0, len(number) - 1))
    found = (number[at] == wanted) if len(number) else np.zeros(len(wanted), bool)
    row = np.minimum(np.searchsorted(packets.column("packet").to_numpy(), wanted), max(0, packets.num_rows - 1))
    raw = packets.column("tcp_seq").fill_null(0).to_numpy().astype(np.int64)[row] if packets.num_rows else wanted * 0
    length = timeouts.column("len").to_numpy().astype(np.int64)
    decided = found & elsewhere[at] if len(number) else found
    return (spurious[at] if len(number) else found), decided, (raw + length) % (1 << 32)


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
