"""Which retransmissions were spurious, and which timeouts genuine, by what had arrived at the receiver's end of the path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.alignment.path_order import PathOrder
from wlanlens.correlation.packet_index import PacketIndex
from wlanlens.correlation.receiver_acks import ReceiverAcks
from wlanlens.correlation.segment_overlap import EarlierCopies
from wlanlens.tables import ARRIVALS, LOSS_LOCATIONS
from wlanlens.tables.columns import coded, filled, integers, known, narrow, numbered

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture

Array = np.ndarray[Any, Any]

#: What became of a packet after the capture in which it is judged.
_ARRIVED, _LOST, _UNKNOWN, _NOT_CAPTURING = 1, 0, -1, -2


class RetransmissionVerdicts:
    """Facts about retransmissions in each capture, corrected by the other captures.

    A retransmission was spurious when all its bytes had arrived in earlier copies, and necessary when some had not, by the
    last capture on their path: a tap near the receiver has them; a sniffer has their MAC acknowledgments. Neighbours that a
    capture missed (`loss_location` of `links`) and ACKs of data that it does not have show that a capture missed packets: then
    nothing is stated, or that the retransmission was spurious.
    """

    def __init__(
        self, captures: Sequence[Capture], packets: Sequence[pa.Table], index: PacketIndex, links: pa.Table
    ) -> None:
        self._captures, self._packets, self._index = captures, packets, index
        self._arrival = _arrivals(captures, index, links)
        self._receivers: dict[int, ReceiverAcks] = {}
        #: By capture and stream: the difference of sequence numbers at the far end, where a firewall rewrites them.
        self._shifts: dict[int, dict[int, int]] = {}
        #: By the captures that packets pass first and last: the time of the fastest one.
        self._least: dict[tuple[int, int], int] = {}

    def with_spurious(self, segments: Sequence[pa.Table]) -> list[pa.Table]:
        """The tables `segments` with `spurious` set where the other captures decide it."""
        out = list(segments)
        for here in range(len(self._captures)):
            rows = _Rows(segments[here], self._packets[here])
            far = self._far_end(here)
            if far < 0 or not rows.retransmitted.any():
                continue
            verdict, decided = self._judge(here, far, rows)
            if decided.any():
                values = {"spurious": verdict, "spurious_evidence": "other_capture"}
                out[here] = _with_values(segments[here], values, decided)
        return out

    def with_kinds(self, timeouts: Sequence[pa.Table], segments: Sequence[pa.Table]) -> list[pa.Table]:
        """The tables `timeouts` with `kind` corrected; `segments` are those of `with_spurious`.

        A timeout was genuine when its retransmission was necessary. Otherwise ACKs were lost if the receiver had sent ACKs of
        the segment before the timeout and none of them arrived; else data or ACKs were late. Undecided where those ACKs may still
        be under way.
        """
        out = list(timeouts)
        for here, table in enumerate(timeouts):
            far = self._far_end(here)
            if far < 0 or not table.num_rows:
                continue
            spurious, decided, end = _retransmissions_of(table, segments[here], self._packets[here])
            kind = np.asarray(table.column("kind").cast("string").to_pylist(), object)
            by = np.asarray(table.column("kind_evidence").cast("string").to_pylist(), object)
            evidence = table.column("evidence_packet").to_pylist()
            change = decided & np.where(spurious, kind != "ack_lost", kind != "genuine")
            for i in np.flatnonzero(change).tolist():
                now = self._kind_of_spurious(here, far, table, i, int(end[i])) if spurious[i] else "genuine"
                # That something was late may be known from one capture, which cannot see an ACK that was lost.
                if kind[i] != "spurious" or now == "ack_lost":
                    kind[i] = now
                    by[i], evidence[i] = ("other_capture" if now in ("ack_lost", "spurious") else None), None
            if change.any():
                columns = {"kind": kind.tolist(), "kind_evidence": by.tolist(), "evidence_packet": evidence}
                out[here] = _with_columns(table, columns)
        return out

    def _far_end(self, here: int) -> int:
        """The capture at the other end of the path; -1 without one."""
        ends = self._index.ends
        if ends is None:
            return -1
        others = [end for end in ends if end != here]
        # A capture between the ends has both as far ends: the receiver's end decides.
        by_point = sorted(others, key=lambda j: self._captures[j].point != PathOrder.HOSTS[1])
        return by_point[0] if by_point else -1

    def _receiver(self, there: int) -> ReceiverAcks:
        if there not in self._receivers:
            self._receivers[there] = ReceiverAcks(self._packets[there])
        return self._receivers[there]

    def _least_ns(self, of: int, to: int) -> int:
        """Time of the fastest packet from one capture to another; 0 if no packet is in both."""
        if (of, to) not in self._least:
            rows = self._index.rows
            both = rows[(rows[:, of] >= 0) & (rows[:, to] >= 0)]
            sent, seen = (filled(self._packets[j].column("t_ns"))[both[:, j]] for j in (of, to))
            took = seen - sent
            # Packets of the other direction took less than nothing.
            took = took[took > 0]
            self._least[of, to] = int(took.min()) if len(took) else 0
        return self._least[of, to]

    def _judge(self, here: int, far: int, rows: _Rows) -> tuple[Array, Array]:
        """Whether each retransmission was spurious, and where that is decided."""
        verdict, decided = np.zeros(len(rows.key), bool), np.zeros(len(rows.key), bool)
        packet = self._index.packet_of[here][rows.row]
        arrival = np.where(packet >= 0, self._arrival[packet], _UNKNOWN)
        there = np.where(packet >= 0, self._index.rows[packet, far], -1)
        receiver = self._receiver(far)
        onward, shift = _direction_and_shift(rows, there, receiver)
        self._shifts[here] = {int(rows.keys[k]): int(shift[k]) for k in np.flatnonzero(shift)}
        chosen = np.flatnonzero(rows.retransmitted & onward[rows.stream])
        copies = EarlierCopies(rows.key, rows.start, rows.length, np.flatnonzero(rows.sent), chosen)
        # A receiver drops a segment with an older timestamp than its latest, which its ACKs echo (RFC 7323 sections 4.3 and 5.3).
        kept = arrival == _ARRIVED
        earlier = copies.rows()
        earlier = earlier[kept[earlier] & (there[earlier] >= 0)]
        kept[earlier] = ~receiver.echoed_newer(rows.key[earlier], there[earlier])
        arrived = copies.cover(kept)
        # Where the far capture has the SYN itself, an earlier SYN did not arrive: a SYN is answered at once.
        answered = (rows.start[chosen] == 0) & (there[chosen] >= 0)
        all_known = copies.all_are(arrival >= 0) | (
            answered & copies.all_are((arrival >= 0) | (arrival == _NOT_CAPTURING))
        )
        raw_end = (rows.raw[chosen] + rows.length[chosen] + shift[rows.stream[chosen]]) % (1 << 32)
        passed = np.where(there[chosen] >= 0, there[chosen], np.searchsorted(receiver.t_ns, rows.t_ns[chosen]))
        # Acknowledged before this copy arrived: the far capture missed an earlier copy.
        acked = receiver.acked(rows.key[chosen], raw_end, passed)
        # Without an earlier copy in this capture, its arrival is not known.
        verdict[chosen] = copies.any & (arrived | acked)
        decided[chosen] = copies.any & (arrived | acked | all_known)
        return verdict, decided

    def _kind_of_spurious(self, here: int, far: int, timeouts: pa.Table, i: int, raw_end: int) -> str:
        """Kind of a timeout whose segment had arrived.

        ACKs that the fastest packet's time on the path would have brought in time were late if one of them arrived, and lost if
        none did but a later ACK did, or each of them is known to be lost. Without either they may still be under way. If all
        ACKs were sent too late to arrive in time, the data was late.
        """
        key = 2 * int(timeouts.column("flow")[i].as_py()) + (timeouts.column("direction")[i].as_py() == "b2a")
        raw_end = (raw_end + self._shifts.get(here, {}).get(key, 0)) % (1 << 32)
        rows = self._receiver(far).covering(key, raw_end, int(timeouts.column("t_ns")[i].as_py()))
        in_time = int(timeouts.column("t_ns")[i].as_py()) - self._least_ns(far, here)
        packet = self._index.packet_of[far][rows[self._receiver(far).t_ns[rows] < in_time]]
        packet = packet[packet >= 0]
        if not len(packet) or (self._index.rows[packet, here] >= 0).any():
            return "spurious"
        later = timeouts.column("progress_ns")[i].as_py() is not None
        return "ack_lost" if later or (self._arrival[packet] == _LOST).all() else "undecided"


def _arrivals(captures: Sequence[Capture], index: PacketIndex, links: pa.Table) -> Array:
    """Whether each packet arrived, was lost, or neither is known."""
    arrival, location = coded(links.column("arrival"), ARRIVALS), coded(links.column("loss_location"), LOSS_LOCATIONS)
    state = np.full(len(arrival), _UNKNOWN, np.int8)
    state[arrival == ARRIVALS.index("arrived")] = _ARRIVED
    state[arrival == ARRIVALS.index("not_capturing")] = _NOT_CAPTURING
    located = (location >= 0) & (location != LOSS_LOCATIONS.index("unknown"))
    state[(arrival == ARRIVALS.index("not_seen")) & located] = _LOST
    last = {captures[j].point for j in index.ends or ()}.difference(PathOrder.SENDING_SIDE)
    if last == {"air"}:
        # The air is the end of the path: a packet arrived if its transmission was acknowledged.
        heard = known(links.column("air_packet"))
        acked = np.where(known(links.column("acked")), filled(links.column("acked"), False), _UNKNOWN)
        state[heard] = acked[heard]
    return state


class _Rows:
    """The segments of one capture. `key` is twice the connection, plus 1 for b2a; `stream` is its index in `keys`."""

    def __init__(self, segments: pa.Table, packets: pa.Table) -> None:
        self.key: Array = 2 * integers(segments.column("flow")) + (coded(segments.column("direction"), ["b2a"]) == 0)
        self.keys, self.stream = numbered(self.key)
        control = coded(segments.column("kind"), ["syn", "synack", "fin"]) >= 0
        self.length: Array = integers(segments.column("len")) + control
        self.start: Array = filled(segments.column("rel_seq"))
        # The row of `packets`: the first one of a record with several packets.
        self.row: Array = np.searchsorted(packets.column("packet").to_numpy(), segments.column("packet").to_numpy())
        copies = ("retransmission", "capture_duplicate", "network_duplicate", "mac_copy")
        transmission = coded(segments.column("transmission"), copies)
        #: Segments that occupy sequence space and were sent by TCP.
        self.sent: Array = (self.length > 0) & (transmission < 1)
        self.retransmitted: Array = self.sent & (transmission == 0)
        self.t_ns: Array = filled(packets.column("t_ns"))[self.row]
        self.raw: Array = filled(packets.column("tcp_seq")).astype(np.int64)[self.row]


def _direction_and_shift(rows: _Rows, there: Array, receiver: ReceiverAcks) -> tuple[Array, Array]:
    """For each stream: whether its packets pass this capture first, and the difference of sequence numbers at the far end.

    Both are medians over the packets that both captures have.
    """
    onward, shift = np.zeros(len(rows.keys), bool), np.zeros(len(rows.keys), np.int64)
    both = np.flatnonzero(rows.sent & (there >= 0))
    key = rows.stream[both]
    delay = receiver.t_ns[there[both]] - rows.t_ns[both]
    difference = (receiver.seq[there[both]] - rows.raw[both]) % (1 << 32)
    for values, wanted, out in (
        (delay, rows.stream[rows.retransmitted], onward),
        (difference, key[difference != 0], shift),
    ):
        needed = np.zeros(len(rows.keys), bool)
        needed[wanted] = True
        which, middle = _medians(key[needed[key]], values[needed[key]])
        out[which] = middle > 0 if out is onward else middle
    return onward, shift


def _medians(key: Array, values: Array) -> tuple[Array, Array]:
    """The median of the values of each key."""
    order = np.lexsort((values, narrow(key)))
    which, begin = np.unique(key[order], return_index=True)
    last = np.append(begin[1:], len(order)) - 1
    low, high = (values[order[at]] for at in ((begin + last) // 2, (begin + last + 1) // 2))
    return which, (low + high) / 2


def _retransmissions_of(timeouts: pa.Table, segments: pa.Table, packets: pa.Table) -> tuple[Array, Array, Array]:
    """For each timeout: whether its retransmission was spurious, whether another capture decided that, and the end of the
    segment, as on the wire."""
    by_other = coded(segments.column("spurious_evidence"), ["other_capture"]) == 0
    spurious = filled(segments.column("spurious"), False)
    number = segments.column("packet").to_numpy()
    wanted = timeouts.column("packet").to_numpy()
    at = np.minimum(np.searchsorted(number, wanted), max(0, len(number) - 1))
    found = (number[at] == wanted) if len(number) else np.zeros(len(wanted), bool)
    row = np.minimum(np.searchsorted(packets.column("packet").to_numpy(), wanted), max(0, packets.num_rows - 1))
    raw = integers(packets.column("tcp_seq"))[row] if packets.num_rows else wanted * 0
    decided = found & by_other[at] if len(number) else found
    end = (raw + integers(timeouts.column("len"))) % (1 << 32)
    return (spurious[at] if len(number) else found), decided, end


def _with_values(table: pa.Table, values: dict[str, Any], which: Array) -> pa.Table:
    """A table with new values of some columns in some rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    chosen = pa.array(which)
    out = table
    for name, new in values.items():
        old = out.column(name)
        plain = old.cast(old.type.value_type) if pa.types.is_dictionary(old.type) else old
        fresh = pa.scalar(new) if isinstance(new, str) else pa.array(new)
        out = _set(out, name, pc.if_else(chosen, fresh, plain))
    return out


def _with_columns(table: pa.Table, values: dict[str, list[Any]]) -> pa.Table:
    """A table with some columns replaced."""
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
