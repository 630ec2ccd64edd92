"""What each capture saw of each packet, and what may be said where it saw nothing: lost, or missed by the tap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture import Capture
    from wlanlens.journeys import Journeys

Array = np.ndarray[Any, Any]

#: In the order of their codes.
FATES = ("seen", "lost_after", "lost_before", "not_captured", "outside", "unknown")
SEEN, LOST_AFTER, LOST_BEFORE, NOT_CAPTURED, OUTSIDE, UNKNOWN = range(len(FATES))

#: Of what is called lost at most so many may be packets that the tap missed: as for other statements, one in twenty.
DOUBTFUL_SHARE = 0.05

#: Longest segment: a super-segment of BIG TCP.
_LONGEST = 1 << 20


class Ways:
    """The ways that packets take, by source and destination, and in which order the captures lie on each.

    Attributes
    ----------
    of : int64 array
        The way of each journey.
    before : bool array
        [way, i, j]: packets pass capture i before capture j. Two sniffers hear the same frame: neither is before.
    """

    def __init__(
        self, captures: Sequence[Capture], packets: Sequence[pa.Table], journeys: Journeys, times: Any
    ) -> None:
        source, destination = _hosts(packets, journeys)
        pairs = np.stack((source, destination), axis=1)
        ways, self.of = np.unique(pairs, axis=0, return_inverse=True)
        self.of = self.of.reshape(-1)
        number = {(int(a), int(b)): k for k, (a, b) in enumerate(ways)}
        back = np.array([number.get((int(b), int(a)), -1) for a, b in ways], np.int64)
        count = len(captures)
        votes = np.zeros((len(ways), count, count))
        seen, t_ns = ~np.ma.getmaskarray(times), np.ma.filled(times, 0)
        for i in range(count):
            for j in range(count):
                if i != j and not captures[i].vantage == captures[j].vantage == "air":
                    both = seen[:, i] & seen[:, j]
                    np.add.at(votes[:, i, j], self.of[both], np.sign(t_ns[both, j] - t_ns[both, i]))
        # The way back passes the captures in the other order.
        reverse = np.where((back >= 0)[:, None, None], -votes[back], 0.0)
        self.before: Array = np.where(votes != 0, votes, reverse) > 0

    def rank(self) -> Array:
        """[way, capture]: how many captures lie before it."""
        place: Array = self.before.sum(axis=1)
        return place


def _hosts(packets: Sequence[pa.Table], journeys: Journeys) -> tuple[Array, Array]:
    """Source and destination of each journey as numbers, from the first capture that has it."""
    import pyarrow as pa

    first = (journeys.rows >= 0).argmax(axis=1)
    both = []
    for name in ("ip_src", "ip_dst"):
        parts = [table.column(name).cast(pa.string()) for table in packets]
        both.append(pa.chunked_array([chunk for part in parts for chunk in part.chunks], type=pa.string()))
    base = np.concatenate(([0], np.cumsum([table.num_rows for table in packets])))
    where = base[first] + journeys.rows[np.arange(len(first)), first]
    keys = pa.chunked_array([c for column in both for c in column.chunks], type=pa.string()).dictionary_encode()
    codes = keys.unify_dictionaries().combine_chunks().indices.fill_null(-1).to_numpy(zero_copy_only=False)
    codes = np.asarray(codes, np.int64)
    return codes[where], codes[base[-1] + where]


def fates(packets: Sequence[pa.Table], journeys: Journeys, times: Any, ways: Ways) -> Array:
    """[journey, capture]: the code of what it says of the packet.

    `times` are those of the journeys at each capture, masked where it was not seen. Not captured is what a point
    farther on its way has, or what the receiver acknowledged though it was sent only once. Lost before a point is what
    an earlier point has and no later one, unless the tap is known to have missed about as many packets as that.
    """
    rows = journeys.rows >= 0
    before = ways.before[ways.of]
    later = (before & rows[:, None, :]).any(axis=2)
    earlier = (before & rows[:, :, None]).any(axis=1)
    codes = np.full(rows.shape, UNKNOWN, np.int8)
    codes[rows] = SEEN
    codes[~rows & later] = NOT_CAPTURED
    codes[~rows & ~later & earlier] = LOST_BEFORE
    for c, table in enumerate(packets):
        codes[~rows[:, c] & _away(table, c, times, ways.of), c] = OUTSIDE
    _acknowledged(packets, journeys, times, codes)
    _doubt(codes, np.asarray(later), ways.of)
    lost = codes == LOST_BEFORE
    codes[rows & ~later & (before & lost[:, None, :]).any(axis=2)] = LOST_AFTER
    return codes


def _away(packets: pa.Table, capture: int, times: Any, way: Array) -> Array:
    """Which journeys passed a capture before it began or after it ended, as far as their neighbours tell: packets are under
    way as long as the next of their way that both captures have."""
    import pyarrow.compute as pc

    span = pc.min_max(packets.column("t_ns")).as_py()
    seen, t_ns = ~np.ma.getmaskarray(times), np.ma.filled(times, 0).astype(np.int64)
    if span["min"] is None:
        return np.ones(len(t_ns), bool)
    away = np.zeros(len(t_ns), bool)
    for other in range(t_ns.shape[1]):
        rows = np.flatnonzero(seen[:, other]) if other != capture else np.zeros(0, np.int64)
        order = rows[np.lexsort((t_ns[rows, other], way[rows]))]
        there = t_ns[order, other] + _delay(way[order], t_ns[order, other], t_ns[order, capture], seen[order, capture])
        away[order] |= (there < span["min"]) | (there > span["max"])
    return away


def _delay(way: Array, here: Array, there: Array, both: Array) -> Array:
    """How long after a capture packets pass another, by the nearest of their way that both have; 0 where there is none.
    In the order of ways and of the time `here`."""
    count = len(way)
    place = np.arange(count)
    before = np.maximum.accumulate(np.where(both, place, -1)) if count else place
    behind = np.minimum.accumulate(np.where(both, place, count)[::-1])[::-1] if count else place
    known = [(at >= 0) & (at < count) for at in (before, behind)]
    picks = [np.where(ok, at, 0) for ok, at in zip(known, (before, behind), strict=True)]
    known = [ok & (way[at] == way) for ok, at in zip(known, picks, strict=True)]
    apart = [np.where(ok, np.abs(here - here[at]), np.iinfo(np.int64).max) for ok, at in zip(known, picks, strict=True)]
    nearest = np.where(apart[0] <= apart[1], picks[0], picks[1])
    delay: Array = np.where(known[0] | known[1], there[nearest] - here[nearest], 0)
    return delay


def _doubt(codes: Array, later: Array, way: Array) -> None:
    """Take back `lost_before` where as many packets would be missing had none been lost: the tap misses a share of those
    that are proven to have passed, and of those that no later point has it missed that share too."""
    for c in range(codes.shape[1]):
        missed = int((codes[:, c] == NOT_CAPTURED).sum())
        if not missed:
            continue
        odds = missed / max(1, int(((codes[:, c] == SEEN) & later[:, c]).sum()))
        unproven = np.bincount(way[(codes[:, c] == SEEN) & ~later[:, c]], minlength=int(way.max()) + 1)
        lost = np.bincount(way[codes[:, c] == LOST_BEFORE], minlength=len(unproven))
        doubtful = odds * unproven > DOUBTFUL_SHARE * lost
        codes[(codes[:, c] == LOST_BEFORE) & doubtful[way], c] = UNKNOWN


def _acknowledged(packets: Sequence[pa.Table], journeys: Journeys, times: Any, codes: Array) -> None:
    """Data that no capture saw arrive, and that was acknowledged: of bytes that were sent once, the tap missed them."""
    sent = _Stream(packets, journeys, np.ma.filled(times.min(axis=1), 0).astype(np.int64))
    lost = (codes == LOST_BEFORE).any(axis=1)
    for row in np.flatnonzero(lost & sent.acked).tolist():
        copies = sent.overlapping(row)
        # Seen wherever this one is missing: that copy is what was acknowledged.
        missing = codes[row] == LOST_BEFORE
        others = copies[copies != row]
        if (codes[others][:, missing] == SEEN).any():
            continue
        codes[row, missing] = NOT_CAPTURED if not len(others) else UNKNOWN


class _Stream:
    """The place of each journey's data in its stream of bytes, unwrapped, and whether it was acknowledged."""

    def __init__(self, packets: Sequence[pa.Table], journeys: Journeys, t_ns: Array) -> None:
        self.key, number, ack, has_ack, length = _numbers(packets, journeys)
        self.begin: Array = np.zeros(len(self.key), np.int64)
        reached = np.full(int(self.key.max(initial=-1)) + 2, np.iinfo(np.int64).min)
        for back in (0, 1):
            # Each connection's data one way with the ACKs that come the other way, in the order of time: numbers of both
            # move together, so that differences of 32 bits can be added up.
            data = (self.key >= 0) & (self.key % 2 == back)
            acks = (self.key >= 0) & (self.key % 2 != back) & has_ack
            taken = np.flatnonzero(data | acks)
            if not len(taken):
                continue
            order = taken[np.lexsort((t_ns[taken], self.key[taken] // 2))]
            value = np.where(data[order], number[order], ack[order]).astype(np.uint32)
            step = np.diff(value, prepend=value[:1]).astype(np.int32).astype(np.int64)
            fresh = np.diff(self.key[order] // 2, prepend=-1) != 0
            step[fresh] = 0
            total = np.cumsum(step)
            total -= np.repeat(total[fresh], np.diff(np.append(np.flatnonzero(fresh), len(order))))
            here = data[order]
            self.begin[order[here]] = total[here]
            np.maximum.at(reached, self.key[order[~here]] // 2 * 2 + back, total[~here])
        self.end: Array = self.begin + length
        of_data = (self.key >= 0) & (length > 0)
        self.acked: Array = of_data & (reached[np.where(self.key >= 0, self.key, -1)] >= self.end)
        data_rows = np.flatnonzero(of_data)
        self._order: Array = data_rows[np.lexsort((self.begin[data_rows], self.key[data_rows]))]

    def overlapping(self, row: int) -> Array:
        """The journeys with some of its bytes, itself among them."""
        keys = self.key[self._order]
        low, high = np.searchsorted(keys, [self.key[row], self.key[row] + 1])
        begins = self.begin[self._order[low:high]]
        first = low + int(np.searchsorted(begins, self.begin[row] - _LONGEST))
        last = low + int(np.searchsorted(begins, self.end[row]))
        near: Array = self._order[first:last]
        shared: Array = near[self.end[near] > self.begin[row]]
        return shared


def _numbers(packets: Sequence[pa.Table], journeys: Journeys) -> tuple[Array, Array, Array, Array, Array]:
    """Of each journey: twice its connection and 1 for the way back (-1: none), sequence number, ACK number, whether it
    has one, and the length that it occupies in sequence space."""
    import pyarrow as pa
    import pyarrow.compute as pc

    count = len(journeys.rows)
    key = np.full(count, -1, np.int64)
    seq, ack, length = (np.zeros(count, np.int64) for _ in range(3))
    has_ack, done = np.zeros(count, bool), np.zeros(count, bool)
    for c, table in enumerate(packets):
        here = np.flatnonzero((journeys.rows[:, c] >= 0) & ~done)
        done[here] = True
        columns = ["flow", "direction", "tcp_seq", "tcp_ack", "tcp_flags", "payload_bytes"]
        rows = table.select(columns).take(pa.array(journeys.rows[here, c]))
        flow = rows.column("flow").cast(pa.int64()).fill_null(-1).to_numpy()
        back = np.asarray(pc.equal(rows.column("direction").cast(pa.string()), "b2a").fill_null(False), bool)
        known = (flow >= 0) & np.asarray(rows.column("tcp_seq").is_valid(), bool)
        key[here] = np.where(known, 2 * flow + back, -1)
        seq[here] = rows.column("tcp_seq").fill_null(0).to_numpy()
        ack[here] = rows.column("tcp_ack").fill_null(0).to_numpy()
        has_ack[here] = np.asarray(rows.column("tcp_ack").is_valid(), bool)
        flags = rows.column("tcp_flags").fill_null(0).to_numpy()
        length[here] = rows.column("payload_bytes").fill_null(0).to_numpy() + ((flags & 0x03) > 0)
    return key, seq, ack, has_ack, length
