"""What became of each packet at each capture point: seen, lost before or after it, or missed by the capture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.correlation.byte_stream import ByteStreams
from wlanlens.tables import OUTCOMES
from wlanlens.tables.columns import narrow, ordered_by, picked

if TYPE_CHECKING:
    from wlanlens.alignment.path_order import PathOrder
    from wlanlens.correlation.packet_index import PacketIndex

Array = np.ndarray[Any, Any]

SEEN, LOST_AFTER, LOST_BEFORE, MISSED, NOT_CAPTURING, UNKNOWN = range(len(OUTCOMES))

#: A capture is complete around a packet if it has this many of the packets known to have passed just before and just after. A
#: sniffer on another channel, or a tap that drops, misses neighbours too.
NEIGHBOURS = 3

#: Largest share of the packets called lost that the capture may have missed instead: one in twenty, as for other statements.
DOUBTFUL_SHARE = 0.05

_NEVER = np.iinfo(np.int64).max


def outcomes(index: PacketIndex, paths: PathOrder) -> Array:
    """[packet, capture]: the code of what became of the packet at the capture point.

    Missed: a later point has the packet, or the receiver acknowledged it although it was sent only once. Lost before a point:
    an earlier point has the packet and no later one. At the last point of its path a loss is certain where the receiver still
    asked for its bytes after packets sent later had passed. Otherwise a loss is stated only if later packets passed, no
    neighbour was missed, and the capture is not known to have missed about as many packets.
    """
    rows = index.rows >= 0
    earlier, later = (_at_any(rows, paths, upstream=upstream) for upstream in (True, False))
    codes = np.full(rows.shape, UNKNOWN, np.int8, order="F")
    # A copy by a mask takes a tenth of the time of an assignment to what the mask selects.
    for code, where in ((SEEN, rows), (MISSED, ~rows & later), (LOST_BEFORE, ~rows & ~later & earlier)):
        np.copyto(codes, np.int8(code), where=where)
    for c in range(rows.shape[1]):
        np.copyto(codes[:, c], np.int8(NOT_CAPTURING), where=~rows[:, c] & _not_capturing(index, c, paths.path))
    certain = _acknowledged(index, codes)
    passed = (codes == SEEN) | (codes == MISSED)
    # With points downstream, the packet may have been lost there as well.
    followed = _at_any(np.ones(rows.shape, bool), paths)
    certain &= ~followed
    _withdraw_by_neighbours(codes, paths.path, certain)
    if (codes == MISSED).any():
        # Downstream of the last point there are the ACKs of what was sent once.
        proven = np.where(followed, _at_any(passed, paths), _sent_once(index)[:, None])
        _withdraw_by_share(codes, proven, paths.path, certain)
    np.copyto(codes, np.int8(LOST_AFTER), where=rows & ~later & _at_any(codes == LOST_BEFORE, paths))
    return codes


def _at_any(truths: Array, paths: PathOrder, *, upstream: bool = False) -> Array:
    """[packet, capture]: whether something is true of a packet at any capture downstream, or upstream, on its path."""
    out: Array = np.zeros(truths.shape, bool, order="F")
    for i in range(truths.shape[1]):
        for j in range(truths.shape[1]):
            between = paths.upstream[:, j, i] if upstream else paths.upstream[:, i, j]
            if between.any():
                out[:, i] |= between.take(paths.path) & truths[:, j]
    return out


def _not_capturing(index: PacketIndex, capture: int, path: Array) -> Array:
    """Which packets that a capture does not have passed it before its start or after its end.

    The time at which they passed follows from the delay of the next packet of their path that both captures have.
    """
    least, most = index.time_span(capture)
    if least is None or most is None:
        return np.ones(len(path), bool)
    absent = np.zeros(len(path), bool)
    there, passed = index.t_ns[:, capture], index.seen[:, capture]
    missing = index.rows[:, capture] < 0
    for other in range(index.rows.shape[1]):
        here, seen = index.t_ns[:, other], index.seen[:, other]
        rows = np.flatnonzero(seen & missing)
        if not len(rows):
            continue
        common = seen & passed
        late = np.where(common, there - here, 0)
        # Only packets that passed near the start or end of the capture need a delay.
        times = here.take(rows)
        early = times + int(late.min(initial=0)) < least
        late_ones = times + int(late.max(initial=0)) > most
        near = rows[early | late_ones]
        if not len(near):
            continue
        wanted = np.zeros(int(path.max()) + 1, bool)
        wanted[path[near]] = True
        both = np.flatnonzero(common & wanted.take(path))
        both = _around(
            path, here, both, int(times[early].max(initial=-_NEVER)), int(times[late_ones].min(initial=_NEVER))
        )
        rows = np.sort(np.concatenate((both, near)))
        order = rows[ordered_by(path[rows], here[rows])]
        then = here[order] + _delay(path[order], here[order], there[order], passed[order])
        absent[order] |= (then < least) | (then > most)
    return absent


def _around(path: Array, here: Array, both: Array, until_ns: int, from_ns: int) -> Array:
    """The packets of `both` at times up to the one, or from the other on; of those between, the first and the last of each path."""
    time = here.take(both)
    between = (time > until_ns) & (time < from_ns)
    kept, mid = [both[~between]], both[between]
    of, time = path.take(mid), here.take(mid)
    for edge, end, order in ((np.minimum, _NEVER, slice(None, None, -1)), (np.maximum, -_NEVER, slice(None))):
        extreme = np.full(int(of.max(initial=-1)) + 1, end)
        edge.at(extreme, of, time)
        at = np.flatnonzero(time == extreme.take(of))[order]
        # Of packets at the same time, the first or the last.
        chosen = np.full(len(extreme), -1)
        chosen[of[at]] = mid[at]
        kept.append(chosen[chosen >= 0])
    return np.unique(np.concatenate(kept))


def _delay(path: Array, here: Array, there: Array, both: Array) -> Array:
    """Delay from one capture to another, of the nearest packet of the same path that both have; 0 where there is none.

    Rows are in order of path and of the time `here`.
    """
    count = len(path)
    place = np.arange(count)
    before = np.maximum.accumulate(np.where(both, place, -1)) if count else place
    behind = np.minimum.accumulate(np.where(both, place, count)[::-1])[::-1] if count else place
    known = [(at >= 0) & (at < count) for at in (before, behind)]
    picks = [np.where(ok, at, 0) for ok, at in zip(known, (before, behind), strict=True)]
    known = [ok & (path[at] == path) for ok, at in zip(known, picks, strict=True)]
    apart = [np.where(ok, np.abs(here - here[at]), np.iinfo(np.int64).max) for ok, at in zip(known, picks, strict=True)]
    nearest = np.where(apart[0] <= apart[1], picks[0], picks[1])
    delay: Array = np.where(known[0] | known[1], there[nearest] - here[nearest], 0)
    return delay


def _withdraw_by_neighbours(codes: Array, path: Array, certain: Array) -> None:
    """Make `lost_before` unknown, unless it is certain, where the capture missed a neighbour, or where no later packet is known to
    have passed: the packet may still be under way."""
    for c in range(codes.shape[1]):
        lost = np.flatnonzero((codes[:, c] == LOST_BEFORE) & ~certain[:, c])
        if len(lost):
            near, there = neighbours(path, np.flatnonzero((codes[:, c] == SEEN) | (codes[:, c] == MISSED)), lost)
            missed = (there & (codes[near, c] == MISSED)).any(axis=1)
            codes[lost[missed | ~there[:, NEIGHBOURS]], c] = UNKNOWN


def neighbours(path: Array, known: Array, wanted: Array) -> tuple[Array, Array]:
    """[wanted, 2 * NEIGHBOURS]: the nearest of the known packets before and after each wanted one on its path, in order of time,
    and whether they exist."""
    width = len(path) + 1
    order = known[np.argsort(narrow(path[known]), kind="stable")]
    place = np.searchsorted(path[order] * width + order, path[wanted] * width + wanted)
    at = place[:, None] + np.arange(-NEIGHBOURS, NEIGHBOURS)
    inside = (at >= 0) & (at < len(order))
    near = order[np.where(inside, at, 0)] if len(order) else np.zeros(at.shape, np.int64)
    return near, inside & (path[near] == path[wanted][:, None])


def _withdraw_by_share(codes: Array, proven: Array, path: Array, certain: Array) -> None:
    """Make `lost_before` unknown, unless it is certain, where missed packets explain the number: the capture misses a share of the
    packets proven to have passed, and the same share of the others."""
    for c in range(codes.shape[1]):
        missed, seen = int((codes[:, c] == MISSED).sum()), codes[:, c] == SEEN
        if not missed:
            continue
        odds = missed / max(1, int((seen & proven[:, c]).sum()))
        unproven = np.bincount(path[seen & ~proven[:, c]], minlength=int(path.max()) + 1)
        lost = (codes[:, c] == LOST_BEFORE) & ~certain[:, c]
        doubtful = odds * unproven > DOUBTFUL_SHARE * np.bincount(path[lost], minlength=len(unproven))
        codes[lost & doubtful[path], c] = UNKNOWN


def _sent_once(index: PacketIndex) -> Array:
    """Data whose sequence number no other packet of its direction has: an ACK of it proves that it arrived."""
    (seq, tcp), (payload, _) = index.values("tcp_seq"), index.values("payload_bytes")
    data = np.flatnonzero(tcp & (payload > 0) & (index.stream >= 0))
    stream, seq = index.stream[data], seq[data]
    order = ordered_by(stream, seq.astype(np.int64))
    stream, seq = stream[order], seq[order]
    again = np.concatenate(([False], (stream[1:] == stream[:-1]) & (seq[1:] == seq[:-1]), [False]))
    out: Array = np.zeros(len(tcp), bool)
    out[data[order]] = ~(again[1:] | again[:-1])
    return out


def _acknowledged(index: PacketIndex, codes: Array) -> Array:
    """Correct `codes` by the receiver's ACKs, and find certain losses.

    Data that was acknowledged and sent once was missed, not lost. Data that the receiver asked for after packets sent later had
    arrived was lost: the result is true there.
    """
    certain = np.zeros(codes.shape, bool, order="F")
    lost = np.flatnonzero((codes == LOST_BEFORE).any(axis=1))
    if not len(lost):
        return certain
    streams = ByteStreams(index, lost)
    codes_here = picked(codes, streams.rows)
    chosen = np.flatnonzero(streams.acked & (codes_here == LOST_BEFORE).any(axis=1))
    missing = codes_here[chosen] == LOST_BEFORE
    others, seen = streams.copies(chosen, codes_here == SEEN)
    # A copy that was seen where this packet is missing is what was acknowledged.
    withdrawn = missing & ~(missing & seen).any(axis=1)[:, None]
    codes_here[chosen] = np.where(withdrawn, np.where(others, UNKNOWN, MISSED)[:, None], codes_here[chosen])
    for c in range(codes.shape[1]):
        codes[streams.rows, c] = codes_here[:, c]
        asked = np.flatnonzero((codes_here[:, c] == LOST_BEFORE) & streams.data)
        certain[streams.rows[asked], c] = streams.asked_for(asked, c)
    return certain
