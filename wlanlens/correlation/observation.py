"""What each capture saw of each packet, and what may be said where it saw nothing: lost, or missed by the tap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.correlation.byte_stream import Streams
from wlanlens.tables.columns import narrow, numbered

if TYPE_CHECKING:
    from wlanlens.alignment.path_order import Ways
    from wlanlens.correlation.packet_index import Journeys

Array = np.ndarray[Any, Any]

#: In the order of their codes.
FATES = ("seen", "lost_after", "lost_before", "not_captured", "outside", "unknown")
SEEN, LOST_AFTER, LOST_BEFORE, NOT_CAPTURED, OUTSIDE, UNKNOWN = range(len(FATES))

#: A tap captured what passed it when it has as many of the packets that are known to have passed just before and just after: a
#: sniffer that is off its channel, or a tap that drops, misses neighbours too.
NEIGHBOURS = 3

#: Of what is called lost at most so many may be packets that the tap missed: as for other statements, one in twenty.
DOUBTFUL_SHARE = 0.05


def fates(journeys: Journeys, ways: Ways) -> Array:
    """[journey, capture]: the code of what it says of the packet.

    Not captured is what a point farther on its way has, or what the receiver acknowledged though it was sent only once.
    Lost before a point is what an earlier point has and no later one. At the last of its way that is sure where its bytes
    were still asked for after packets sent behind it had passed; else it needs packets known to have passed behind it, none
    of its neighbours missed, and a tap that is not known to have missed about as many as that. `lost` of `links` rests on it.
    """
    rows = journeys.rows >= 0
    earlier, later = (_beyond(rows, ways, turned=turned) for turned in (True, False))
    codes = np.full(rows.shape, UNKNOWN, np.int8, order="F")
    codes[rows] = SEEN
    codes[~rows & later] = NOT_CAPTURED
    codes[~rows & ~later & earlier] = LOST_BEFORE
    for c in range(rows.shape[1]):
        codes[~rows[:, c] & _away(journeys, c, ways.of), c] = OUTSIDE
    sure = _acknowledged(journeys, codes)
    passed = (codes == SEEN) | (codes == NOT_CAPTURED)
    # Where behind a point there are others, it may have been lost there as well.
    followed = _beyond(np.ones(rows.shape, bool), ways)
    sure &= ~followed
    # Behind the last there are the ACKs of what was sent once.
    proven = np.where(followed, _beyond(passed, ways), _sent_once(journeys)[:, None])
    _unheard(codes, ways.of, sure)
    _doubt(codes, proven, ways.of, sure)
    codes[rows & ~later & _beyond(codes == LOST_BEFORE, ways)] = LOST_AFTER
    return codes


def _beyond(truths: Array, ways: Ways, *, turned: bool = False) -> Array:
    """[journey, capture]: whether something is true of a journey at any capture behind one on its way; `turned`: before it."""
    out: Array = np.zeros(truths.shape, bool, order="F")
    for i in range(truths.shape[1]):
        for j in range(truths.shape[1]):
            before = ways.before[:, j, i] if turned else ways.before[:, i, j]
            if before.any():
                out[:, i] |= before[ways.of] & truths[:, j]
    return out


def _away(journeys: Journeys, capture: int, way: Array) -> Array:
    """Which journeys that a capture does not have passed it before it began or after it ended, as far as their neighbours
    tell: packets are under way as long as the next of their way that both captures have."""
    least, most = journeys.span(capture)
    if least is None or most is None:
        return np.ones(len(way), bool)
    away = np.zeros(len(way), bool)
    there, passed = journeys.t_ns[:, capture], journeys.seen[:, capture]
    missing = journeys.rows[:, capture] < 0
    for other in range(journeys.rows.shape[1]):
        here, seen = journeys.t_ns[:, other], journeys.seen[:, other]
        both = np.flatnonzero(seen & passed)
        late = there[both] - here[both]
        # Only of packets that passed near enough to its begin or end need be asked how long they were under way.
        near = here + min(int(late.min(initial=0)), 0) < least
        near |= here + max(int(late.max(initial=0)), 0) > most
        near &= seen & missing
        if not near.any():
            continue
        asked = np.zeros(int(way.max()) + 1, bool)
        asked[way[near]] = True
        rows = np.flatnonzero(seen & asked[way])
        order = rows[np.lexsort((here[rows], narrow(way[rows])))]
        then = here[order] + _delay(way[order], here[order], there[order], passed[order])
        away[order] |= (then < least) | (then > most)
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


def _unheard(codes: Array, way: Array, sure: Array) -> None:
    """Take back `lost_before`, but where it is sure, where the tap missed a neighbour; and where nothing is known to have passed
    behind it: it may be under way."""
    for c in range(codes.shape[1]):
        told = np.flatnonzero((codes[:, c] == LOST_BEFORE) & ~sure[:, c])
        if len(told):
            near, there = neighbours(way, np.flatnonzero((codes[:, c] == SEEN) | (codes[:, c] == NOT_CAPTURED)), told)
            missed = (there & (codes[near, c] == NOT_CAPTURED)).any(axis=1)
            codes[told[missed | ~there[:, NEIGHBOURS]], c] = UNKNOWN


def neighbours(way: Array, known: Array, wanted: Array) -> tuple[Array, Array]:
    """[wanted, 2 * NEIGHBOURS]: of some journeys, the nearest of the known ones before and behind each on its way, in the order
    of time, and whether there are so many."""
    width = len(way) + 1
    order = known[np.argsort(narrow(way[known]), kind="stable")]
    place = np.searchsorted(way[order] * width + order, way[wanted] * width + wanted)
    at = place[:, None] + np.arange(-NEIGHBOURS, NEIGHBOURS)
    inside = (at >= 0) & (at < len(order))
    near = order[np.where(inside, at, 0)] if len(order) else np.zeros(at.shape, np.int64)
    return near, inside & (way[near] == way[wanted][:, None])


def _doubt(codes: Array, proven: Array, way: Array, sure: Array) -> None:
    """Take back `lost_before`, but where it is sure, where as many packets would be missing had none been lost: the tap
    misses a share of those that are proven to have passed, and of those that nothing proves it missed that share too."""
    for c in range(codes.shape[1]):
        missed, seen = int((codes[:, c] == NOT_CAPTURED).sum()), codes[:, c] == SEEN
        if not missed:
            continue
        odds = missed / max(1, int((seen & proven[:, c]).sum()))
        unproven = np.bincount(way[seen & ~proven[:, c]], minlength=int(way.max()) + 1)
        told = (codes[:, c] == LOST_BEFORE) & ~sure[:, c]
        doubtful = odds * unproven > DOUBTFUL_SHARE * np.bincount(way[told], minlength=len(unproven))
        codes[told & doubtful[way], c] = UNKNOWN


def _sent_once(journeys: Journeys) -> Array:
    """Data whose sequence number no other packet of its connection has: ACKs of it are its own."""
    (seq, tcp), (payload, _) = journeys.number("tcp_seq"), journeys.number("payload_bytes")
    data = np.flatnonzero(tcp & (payload > 0) & (journeys.way >= 0))
    _, which = numbered(journeys.way[data] << 32 | seq[data])
    out: Array = np.zeros(len(seq), bool)
    out[data] = np.bincount(which)[which] == 1
    return out


def _acknowledged(journeys: Journeys, codes: Array) -> Array:
    """Data that no capture saw arrive, by its receiver's ACKs. It was acknowledged: of bytes that were sent once, the tap
    missed them. It was still asked for after packets sent behind it had come: it was lost, which the result tells."""
    sure = np.zeros(codes.shape, bool, order="F")
    lost = np.flatnonzero((codes == LOST_BEFORE).any(axis=1))
    if not len(lost):
        return sure
    streams = Streams(journeys, lost)
    told = codes[streams.rows]
    chosen = np.flatnonzero(streams.acked & (told == LOST_BEFORE).any(axis=1))
    missing = told[chosen] == LOST_BEFORE
    others, seen = streams.copies(chosen, told == SEEN)
    # Seen wherever this one is missing: that copy is what was acknowledged.
    taken_back = missing & ~(missing & seen).any(axis=1)[:, None]
    told[chosen] = np.where(taken_back, np.where(others, UNKNOWN, NOT_CAPTURED)[:, None], told[chosen])
    for c in range(codes.shape[1]):
        codes[streams.rows, c] = told[:, c]
        asked = np.flatnonzero((told[:, c] == LOST_BEFORE) & streams.data)
        sure[streams.rows[asked], c] = streams.asked_for(asked, c)
    return sure
