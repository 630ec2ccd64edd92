"""Which retransmissions were spurious, and which timeouts genuine, by what had arrived at the receiver's end of the path."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.alignment.path_order import PathOrder
from wlanlens.correlation.packet_index import PacketIndex
from wlanlens.correlation.receiver_acks import ReceiverAcks
from wlanlens.correlation.recovery_losses import Outstanding
from wlanlens.correlation.segment_overlap import EarlierCopies
from wlanlens.correlation.sent_segments import SentSegments, direction_and_shift
from wlanlens.correlation.stream_order import StreamOrder, streams
from wlanlens.tables import ARRIVALS, LOSS_LOCATIONS
from wlanlens.tables.columns import coded, filled, integers, known

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

    The capture at the sender has every copy and the ACKs that arrived. What is decided there about a packet holds for its rows in
    the other captures.
    """

    def __init__(
        self,
        captures: Sequence[Capture],
        packets: Sequence[pa.Table],
        index: PacketIndex,
        order: StreamOrder,
        links: pa.Table,
    ) -> None:
        self._packets, self._index, self._order = packets, index, order
        self._arrival = _arrivals(captures, index, links)
        self._receivers: dict[int, ReceiverAcks] = {}
        self._sent: dict[int, _Identified] = {}
        #: By capture and stream: the difference of sequence numbers at the far end, where a firewall rewrites them.
        self._shifts: dict[int, dict[int, int]] = {}
        #: By the captures that packets pass first and last: the time of the fastest one.
        self._least: dict[tuple[int, int], int] = {}

    def with_spurious(self, segments: Sequence[pa.Table]) -> list[pa.Table]:
        """The tables `segments` with `spurious` set where the other captures decide it."""
        out = list(segments)
        for here in range(len(out)):
            mine = self._segments(here, segments[here])
            for far in self._far_ends(here):
                if not mine.rows.retransmitted.any():
                    continue
                verdict, decided = self._judge(here, far, mine)
                if decided.any():
                    values = {"spurious": verdict, "spurious_evidence": "other_capture"}
                    out[here] = _with_values(out[here], values, decided)
        return self._shared(out)

    def _shared(self, segments: list[pa.Table]) -> list[pa.Table]:
        """The tables with the verdicts of the capture at the sender in all others."""
        verdict = np.full(len(self._index.rows), _UNKNOWN, np.int8)
        known_here = [filled(table.column("spurious").cast("int8"), _UNKNOWN) for table in segments]
        all_mine = [self._segments(here, table) for here, table in enumerate(segments)]
        again = [np.flatnonzero(mine.rows.retransmitted & (mine.packet >= 0)) for mine in all_mine]
        for here, (mine, rows) in enumerate(zip(all_mine, again, strict=True)):
            sent = rows[self._order.first(mine.rows.key[rows]) == here]
            verdict[mine.packet[sent]] = known_here[here][sent]
        out = list(segments)
        for here, (mine, rows) in enumerate(zip(all_mine, again, strict=True)):
            told = verdict[mine.packet[rows]]
            changed = (told != _UNKNOWN) & (told != known_here[here][rows])
            if changed.any():
                which, spurious = (np.zeros(len(mine.packet), bool) for _ in range(2))
                which[rows[changed]], spurious[rows[told == 1]] = True, True
                values = {"spurious": spurious, "spurious_evidence": "other_capture"}
                out[here] = _with_values(segments[here], values, which)
        return out

    def with_kinds(self, timeouts: Sequence[pa.Table], segments: Sequence[pa.Table]) -> list[pa.Table]:
        """The tables `timeouts` with `kind` corrected; `segments` are those of `with_spurious`.

        A timeout was genuine when its retransmission was necessary. Otherwise ACKs were lost if the receiver had sent ACKs of
        the segment before the timeout and none of them arrived; else data or ACKs were late. Undecided where those ACKs may still
        be under way.
        """
        kinds = [_Kinds(table) for table in timeouts]
        told: dict[int, str] = {}
        for here, table in enumerate(timeouts):
            if not table.num_rows:
                continue
            spurious, decided, end = _retransmissions_of(table, segments[here], self._packets[here])
            key = streams(table)
            first, last = self._order.first(key), self._order.last(key)
            packet = self._index.packet_of[here][_rows_of(table, self._packets[here])]
            for i in range(table.num_rows):
                mine, far = kinds[here], int(last[i])
                if decided[i] and far not in (-1, here):
                    mine.correct(i, self._kind(here, far, table, i, int(end[i])) if spurious[i] else "genuine")
                if first[i] == here and packet[i] >= 0 and mine.kind[i] != "undecided":
                    told[int(packet[i])] = mine.kind[i]
        out = list(timeouts)
        for here, table in enumerate(timeouts):
            if table.num_rows:
                packet = self._index.packet_of[here][_rows_of(table, self._packets[here])]
                for i, one in enumerate(packet.tolist()):
                    kinds[here].correct(i, told.get(one, kinds[here].kind[i]))
                out[here] = kinds[here].table()
        return out

    def with_losses(self, name: str, events: Sequence[pa.Table], segments: Sequence[pa.Table]) -> list[pa.Table]:
        """The tables `timeouts` or `recoveries` for the ledger, which asks whether anything outstanding was lost, not only the
        first segment: `kind` is spurious or genuine, and `spurious` true or false, where the other captures decide that."""
        out = list(events)
        for here, table in enumerate(events):
            if not table.num_rows:
                continue
            mine = self._segments(here, segments[here])
            refused = partial(self._refused_anywhere, here, mine)
            found = Outstanding(table, mine.rows, segments[here].column("packet").to_numpy(), mine.arrival, refused)
            decided = found.decided & (self._order.first(streams(table)) == here)
            if name == "recoveries":
                out[here] = _with_values(table, {"spurious": found.arrived}, decided)
                continue
            late = coded(table.column("kind"), ["spurious", "ack_lost"]) >= 0
            for kind, which in (("spurious", found.arrived & ~late), ("genuine", ~found.arrived & late)):
                out[here] = _with_values(out[here], {"kind": kind}, decided & which)
        return out

    def _segments(self, here: int, table: pa.Table) -> _Identified:
        """A capture's segments; only `spurious` differs between the tables that it is asked with."""
        if here not in self._sent:
            rows = SentSegments(table, self._packets[here])
            self._sent[here] = _Identified(rows, self._index, self._arrival, here)
        return self._sent[here]

    def _far_ends(self, here: int) -> list[int]:
        """The captures at the ends of the path, without this one."""
        return [end for end in self._index.ends or () if end != here]

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

    def _judge(self, here: int, far: int, mine: _Identified) -> tuple[Array, Array]:
        """Whether each retransmission was spurious, and where that is decided."""
        rows, arrival, there = mine.rows, mine.arrival, mine.there(far)
        verdict, decided = np.zeros(len(rows.key), bool), np.zeros(len(rows.key), bool)
        receiver = self._receiver(far)
        onward, shift = direction_and_shift(rows, there, receiver)
        onward |= self._order.first(rows.keys) == here
        onward &= self._order.last(rows.keys) == far
        self._shifts.setdefault(here, {}).update({int(rows.keys[k]): int(shift[k]) for k in np.flatnonzero(shift)})

        chosen = np.flatnonzero(rows.retransmitted & onward[rows.stream])
        copies = EarlierCopies(rows.stream, rows.start, rows.length, np.flatnonzero(rows.sent), chosen)
        kept = arrival == _ARRIVED
        earlier = copies.rows()
        kept[self._refused(far, rows, there, earlier[kept[earlier]])] = False
        arrived = copies.cover(kept)
        # Where the far capture has the SYN itself, an earlier SYN did not arrive: a SYN is answered at once.
        answered = (rows.start[chosen] == 0) & (there[chosen] >= 0)
        all_known = copies.all_are(arrival >= 0) | (
            answered & copies.all_are((arrival >= 0) | (arrival == _NOT_CAPTURING))
        )
        passed = np.where(there[chosen] >= 0, there[chosen], np.searchsorted(receiver.t_ns, rows.t_ns[chosen]))
        # Acknowledged before this copy arrived: the far capture missed an earlier copy.
        acked = receiver.acked(rows.key[chosen], _raw_end(rows, shift, chosen), passed)
        # Without an earlier copy in this capture, its arrival is not known.
        verdict[chosen] = copies.any & (arrived | acked)
        decided[chosen] = copies.any & (arrived | acked | all_known)
        return verdict, decided

    def _refused(self, far: int, rows: SentSegments, there: Array, arrived: Array) -> Array:
        """Of rows that arrived, those with an older timestamp than the receiver's latest, which its ACKs echo, and with bytes that
        it lacked: it dropped them, as if they had been lost (RFC 7323 sections 4.3 and 5.3). `there`: each row's row at the far end."""
        receiver = self._receiver(far)
        seen = arrived[there[arrived] >= 0]
        stale = seen[receiver.echoed_newer(rows.key[seen], there[seen])]
        if not len(stale):
            return stale
        _, shift = direction_and_shift(rows, there, receiver)
        return stale[~receiver.acked(rows.key[stale], _raw_end(rows, shift, stale), there[stale])]

    def _refused_anywhere(self, here: int, mine: _Identified, arrived: Array) -> Array:
        """The same of all rows, each at the end of its own path."""
        last = self._order.last(mine.rows.key[arrived])
        out = [np.zeros(0, np.int64)]
        for far in self._far_ends(here):
            out.append(self._refused(far, mine.rows, mine.there(far), arrived[last == far]))
        return np.concatenate(out)

    def _kind(self, here: int, far: int, timeouts: pa.Table, i: int, raw_end: int) -> str:
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
        if not len(packet) or (self._arrival[packet] == _ARRIVED).any():
            return "spurious"
        later = timeouts.column("progress_ns")[i].as_py() is not None
        return "ack_lost" if later or (self._arrival[packet] == _LOST).all() else "undecided"


def _raw_end(rows: SentSegments, shift: Array, row: Array) -> Array:
    """The end of each segment on the wire at the far end."""
    return np.asarray((rows.raw[row] + rows.length[row] + shift[rows.stream[row]]) % (1 << 32))


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


class _Identified:
    """The segments of one capture, the packet of each, -1 for none, and whether it arrived."""

    def __init__(self, rows: SentSegments, index: PacketIndex, arrival: Array, here: int) -> None:
        self.rows = rows
        self.packet: Array = index.packet_of[here].take(rows.row)
        self.arrival: Array = np.where(self.packet >= 0, arrival.take(self.packet), _UNKNOWN)
        self._rows_there = index.rows
        self._there: dict[int, Array] = {}

    def there(self, far: int) -> Array:
        """The row of each in another capture, -1 for none."""
        if far not in self._there:
            self._there[far] = np.where(self.packet >= 0, self._rows_there[:, far].take(self.packet), -1)
        return self._there[far]


class _Kinds:
    """The kinds of the rows of `timeouts`, to be corrected."""

    def __init__(self, table: pa.Table) -> None:
        self._table, self._changed = table, False
        self.kind: list[str] = table.column("kind").to_pylist()
        self._evidence: list[str | None] = table.column("kind_evidence").to_pylist()
        self._packet: list[int | None] = table.column("evidence_packet").to_pylist()

    def correct(self, i: int, kind: str) -> None:
        """Set the kind of a row by other captures; that something was late or lost may be known from one capture."""
        # One capture cannot see an ACK that was lost.
        if kind != self.kind[i] and not (self.kind[i] == "spurious" and kind == "undecided"):
            self.kind[i], self._packet[i] = kind, None
            self._evidence[i] = "other_capture" if kind in ("ack_lost", "spurious") else None
            self._changed = True

    def table(self) -> pa.Table:
        """The table with the kinds."""
        columns: dict[str, list[Any]] = {
            "kind": self.kind,
            "kind_evidence": self._evidence,
            "evidence_packet": self._packet,
        }
        return _with_columns(self._table, columns) if self._changed else self._table


def _rows_of(timeouts: pa.Table, packets: pa.Table) -> Array:
    """The row of `packets` of each timeout."""
    wanted = timeouts.column("packet").to_numpy()
    number = packets.column("packet").to_numpy()
    return np.asarray(np.minimum(np.searchsorted(number, wanted), max(0, len(number) - 1)))


def _retransmissions_of(timeouts: pa.Table, segments: pa.Table, packets: pa.Table) -> tuple[Array, Array, Array]:
    """For each timeout: whether its retransmission was spurious, whether another capture decided that, and the end of the
    segment, as on the wire."""
    by_other = coded(segments.column("spurious_evidence"), ["other_capture"]) == 0
    spurious = filled(segments.column("spurious"), False)
    number = segments.column("packet").to_numpy()
    wanted = timeouts.column("packet").to_numpy()
    at = np.minimum(np.searchsorted(number, wanted), max(0, len(number) - 1))
    found = (number[at] == wanted) if len(number) else np.zeros(len(wanted), bool)
    row = _rows_of(timeouts, packets)
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
