"""Segments that were alone in flight, the ACK of each, and whether the sender had been waiting for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wlanlens.detection.toolkit.ack_timestamps import ticks_between
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.packet_paths import PacketPaths
from wlanlens.detection.toolkit.rows import Rows, key_groups, key_order
from wlanlens.tables.columns import NULL, Array

_SENT = (
    "packet", "t_ns", "rel_seq", "len", "peer_window_bytes", "transmission", "trigger", "spurious", "tsecr",
    "lost_before_tap",
)  # fmt: skip
#: Round trips differ by no larger part of what more bytes take on a line; a delayed ACK, by all of it.
ALIKE_PART = 16
_ACKED = ("packet", "t_ns", "rel_ack", "tsval", "rtt_ns", "peer_window_bytes")


@dataclass(frozen=True)
class LoneSegments:
    """Pure ACKs, one a position, ordered by the key of the data that they acknowledge and by packet.

    Attributes
    ----------
    key : array
        Of the data.
    acks : Rows
        The ACKs.
    sends : Rows
        Data segments, ordered by key and packet.
    segment, following : array
        Positions in `sends` of the last data before each ACK and the first data after it; any where there is none.
    alone : array of bool
        The ACK acknowledges one segment that was alone in flight, and the window had room for a second.
    continued : array of bool
        Data followed.
    at_once : array of bool
        The sender continued with the next byte at once: it had been waiting for this ACK.
    unknown_flight : array of bool
        It continued at once, but at this tap it is unknown whether more was in flight.
    waited_ns : array
        From the segment to its ACK, less the shortest round trip and the segment's own time on a slow line; no longer than at the
        receiver, where that was captured.
    acked_singly : array of bool
        The receiver acknowledges each segment of a queue: it delays no ACK.
    """

    key: Array
    acks: Rows
    sends: Rows
    segment: Array
    following: Array
    alone: Array
    continued: Array
    at_once: Array
    unknown_flight: Array
    waited_ns: Array
    acked_singly: Array


def lone_segments(
    facts: Facts, *, least_wait_ns: int, reaction_ns: int, path_share: float, calm_ns: int, min_single_acks: int
) -> LoneSegments | None:
    """Find them in directions where one may have waited this long; None where there is none.

    Parameters
    ----------
    least_wait_ns : int
        Directions without a lone segment that waited this long are left out.
    reaction_ns : int
        A sender continues at once when new data follows the ACK within this time.
    path_share : float
        At a tap away from the sender: and after this share of the time from the tap to the sender and back.
    calm_ns : int
        This long after a retransmission a receiver has no holes to fill, which it acknowledges at once.
    min_single_acks : int
        ACKs of single queued segments that show that a receiver acknowledges each.
    """
    keys = _waiting(facts, facts.all_data_keys(), least_wait_ns)
    sends, acks, key = _sends(facts, _SENT, keys), *_acks(facts, _ACKED, keys)
    if not len(sends) or not len(acks):
        return None
    first = np.concatenate(([True], key[1:] != key[:-1]))
    # What had been acknowledged before: for the first ACK, the SYN.
    acked_before = np.where(first, 1, _previous(acks["rel_ack"], NULL))
    # The ACK before is one of the same direction.
    t_before = np.where(first, 0, _previous(acks["t_ns"], 0))
    last, earlier = _data_before(sends, key, acks, first)
    segment = np.maximum(last, 0)
    ahead = np.where(last >= 0, last, np.searchsorted(sends.key, key) - 1) + 1
    following = np.minimum(ahead, len(sends) - 1)
    continued = (ahead < len(sends)) & (sends.key[following] == key)
    end = sends["rel_seq"] + sends["len"]
    highest = _highest(sends, end)

    # One segment is all between the two ACKs; nothing was sent beyond it, or that was given up at a timeout.
    alone = (last >= 0) & (sends["rel_seq"][segment] == acked_before) & (end[segment] == acks["rel_ack"])
    trigger = sends["trigger"][segment]
    given_up = (trigger == "rto") | ((trigger == "go_back_n") & (last == earlier + 1))
    alone &= (highest[segment] == end[segment]) | given_up
    # A copy of data that had arrived is acknowledged at once (RFC 5681 section 4.2): no timer delays that ACK.
    alone &= (sends["transmission"][segment] != "retransmission") | (sends["spurious"][segment] != 1)
    # Duplicate ACKs in between show that more was in flight.
    dupacks = facts.rows("segments", ("packet", "rel_ack"), where={"kind": ("dupack",)}, valid=("t_ns",))
    # Each copy of a SYN-ACK is answered with an ACK of byte 1 (RFC 9293 section 3.10.7.4).
    of_data = (dupacks["rel_ack"] > 1) | (facts.flow_values("syn_packets", dupacks.key ^ 1) <= 1)
    dupacks = dupacks.take(of_data).sorted_by("packet")
    alone &= ~dupacks.any_between("packet", key ^ 1, sends["packet"][segment] + 1, acks["packet"] - 1)
    # A window without room for a second segment is the receiver's own limit: that of the latest ACK before.
    window = np.where(last > earlier, sends["peer_window_bytes"][segment], _previous(acks["peer_window_bytes"], NULL))
    rtt = facts.flow_values("tap_rtt_min_ns", key)
    alone &= ((window == NULL) | (window >= 2 * sends["len"][segment])) & (rtt != NULL)
    rtt = np.maximum(rtt, 0)

    # The sender's reaction to an ACK shows at the tap after the ACK has gone there and the data back.
    to_sender = facts.flow_values("handshake_rtt_ns", key) - rtt
    to_sender = np.where(facts.flow_values("tap", key) == "near_sender", 0, to_sender)
    after = sends["t_ns"][following] - acks["t_ns"]
    at_once = continued & (sends["rel_seq"][following] == acks["rel_ack"]) & (to_sender >= 0) & (after >= 0)
    at_once &= (after >= path_share * to_sender - reaction_ns) & (after <= reaction_ns + to_sender / path_share)
    away = facts.tap_away_from_sender(key)
    echo_before, echo = sends["tsecr"][segment], sends["tsecr"][following]
    echoed, proved = _echoes(acks["tsval"], echo_before, echo, first)
    proved &= sends["lost_before_tap"][following] == 0
    unknown_flight = away & ~echoed & at_once
    at_once &= ~away | proved

    retransmitted = sends.take(sends["transmission"] == "retransmission")
    latest = retransmitted.last_until("packet", key, acks["packet"])
    calm = latest < 0
    if len(retransmitted):
        calm |= acks["t_ns"] - retransmitted["t_ns"][np.maximum(latest, 0)] > calm_ns
    all_acked = (last >= 0) & (highest[segment] == acks["rel_ack"])
    since_last = np.where(all_acked, acks["t_ns"] - sends["t_ns"][segment] - rtt, NULL)
    in_flight = np.where(earlier >= 0, highest[np.maximum(earlier, 0)], NULL)
    in_flight = np.where(calm & ~(alone & (last > earlier)), in_flight, NULL)
    largest = facts.flow_values("segment_max_bytes", key)
    ns_per_byte, singly = _queued_acks(acks, key, in_flight, since_last, calm, largest, min_single_acks)
    # Sent before the previous ACK, the segment was queued behind what that acknowledges.
    begun = np.where(last > earlier, sends["t_ns"][segment] + rtt, t_before)
    lone = np.flatnonzero(alone & at_once & (last > earlier))
    took = acks["t_ns"][lone] - sends["t_ns"][segment[lone]]
    ns_per_byte = np.maximum(ns_per_byte, _ns_per_byte_of_sizes(key, lone, sends["len"][segment[lone]], took))
    waited = acks["t_ns"] - begun - (ns_per_byte * sends["len"][segment]).astype(np.int64)
    # An ACK of several segments waits for no timer: where none came sooner after the last one, the path takes as long.
    since_newest = np.where(acks["rtt_ns"] != NULL, acks["rtt_ns"] - rtt, since_last)
    waited[acks["t_ns"] - begun - _untimed_ns(acks, key, since_newest, largest) < least_wait_ns] = 0
    if facts.trace.has("links"):
        late = np.flatnonzero(alone & at_once & (waited >= least_wait_ns))
        at_receiver = _at_receiver_ns(facts, key[late], sends["packet"][segment[late]], acks["packet"][late])
        waited[late] = np.minimum(waited[late], at_receiver)
    return LoneSegments(key, acks, sends, segment, following, alone, continued, at_once, unknown_flight, waited, singly)


def _at_receiver_ns(facts: Facts, key: Array, data: Array, acks: Array) -> Array:
    """From a segment's arrival to its ACK, by the capture at its receiver; the most there is where it has not both. By packet number."""
    paths, out = facts.cached(PacketPaths), np.full(len(key), np.iinfo(np.int64).max)
    for one in np.unique(key).tolist():
        rows, point, path = np.flatnonzero(key == one), paths.point(one), paths.path(one)
        if point not in path or path[-1] == point or path[-1] not in ("sender", "receiver"):
            continue
        at = np.stack((paths.at(one, point, data[rows]), paths.at(one ^ 1, point, acks[rows])))
        came, left = np.where(at >= 0, paths.t[path[-1]][at], NULL)
        out[rows] = np.where((came != NULL) & (left != NULL), left - came, out[rows])
    return out


def _sends(facts: Facts, columns: Sequence[str], keys: Array) -> Rows:
    """Data segments of these directions, ordered by key and packet."""
    # A MAC copy is in flight until its last transmission; copies made by the tap or the network are not new.
    copies = {"transmission": ("capture_duplicate", "network_duplicate")}
    sends = facts.rows("segments", columns, where={"kind": ("data",)}, without=copies, valid=("t_ns",), keys=keys)
    return sends.take(sends["len"] > 0).sorted_by("packet")


def _acks(facts: Facts, columns: Sequence[str], keys: Array) -> tuple[Rows, Array]:
    """Pure ACKs of data of these directions, ordered by the key of the data and by packet, and this key."""
    chosen = {"where": {"kind": ("ack",)}, "without": {"transmission": ("mac_copy",)}}
    acks = facts.rows("segments", columns, **chosen, valid=("t_ns", "rel_ack"), keys=keys ^ 1).sorted_by("packet")
    key = acks.key ^ 1
    order = key_order(key)
    return (acks, key) if order is None else (acks.take(order), key.take(order))


def _data_before(sends: Rows, key: Array, acks: Rows, first: Array) -> tuple[Array, Array]:
    """Positions of the last data before each ACK, and before the ACK before it; -1 for none."""
    last = sends.last_until("packet", key, acks["packet"])
    return last, np.where(first, -1, _previous(last, -1))


def _waiting(facts: Facts, keys: Array, least_ns: int) -> Array:
    """The directions in which one segment may have been alone in flight for this long. All else is costlier to find out."""
    columns = ("packet", "t_ns")
    sends, acks, key = _sends(facts, (*columns, "rel_seq", "len"), keys), *_acks(facts, (*columns, "rel_ack"), keys)
    if not len(sends) or not len(acks):
        return keys[:0]
    # A segment waits since it was sent or since the ACK before, whichever is later: no longer than from ACK to ACK.
    new = np.concatenate(([True], key[1:] != key[:-1]))
    late = np.flatnonzero(new | (np.diff(acks["t_ns"], prepend=0) >= least_ns))
    key, first, before, acks = key[late], new[late], acks.take(np.maximum(late - 1, 0)), acks.take(late)
    last = sends.last_until("packet", key, acks["packet"])
    earlier = np.where(first, -1, sends.last_until("packet", key, before["packet"]))
    sent = sends.take(np.maximum(last, 0))
    waited = acks["t_ns"] - np.where(last > earlier, sent["t_ns"], np.where(first, 0, before["t_ns"]))
    acked_before = np.where(first, 1, before["rel_ack"])
    alone = (sent["rel_seq"] == acked_before) & (sent["rel_seq"] + sent["len"] == acks["rel_ack"])
    return np.unique(key[(last >= 0) & (waited >= least_ns) & alone])


def _previous(values: Array, first: int) -> Array:
    return np.concatenate(([first], values[:-1]))


def _echoes(stamp: Array, echo_before: Array, echo: Array, first: Array) -> tuple[Array, Array]:
    """Whether timestamps (RFC 7323) show what was in flight at a tap away from the sender, and whether they prove the segment
    alone: it echoes the ACK before, so that all before it had been acknowledged, and the next data echoes this ACK."""
    stamp_before = np.where(first, NULL, _previous(stamp, NULL))
    known = (echo != NULL) & (echo_before != NULL) & (stamp != NULL) & (stamp != stamp_before)
    return known, known & (ticks_between(stamp, echo) >= 0) & (first | (ticks_between(stamp_before, echo_before) >= 0))


def _queued_acks(
    acks: Rows, key: Array, in_flight: Array, since_last: Array, calm: Array, largest: Array, min_single_acks: int
) -> tuple[Array, Array]:
    """What a slow line takes for a byte, ns, and whether the receiver acknowledges each segment of a queue.

    `in_flight`: up to which byte data was in flight at the previous ACK. `since_last`: time of the ACK since the last data, all
    of which it acknowledges, less the round trip. The line is measured by the two quickest consecutive ACKs of queued
    data and by ACKs of several segments, which no timer delays.
    """
    if len(key) < 2:
        return np.zeros(len(key)), np.zeros(len(key), bool)
    names, group = np.unique(key, return_inverse=True)
    grown, gap = (np.concatenate(([0], np.diff(acks[column]))) for column in ("rel_ack", "t_ns"))
    next_one = np.concatenate(([False], key[1:] == key[:-1])) & (grown > 0)
    queued = np.flatnonzero(next_one & (in_flight != NULL) & (in_flight >= acks["rel_ack"]))
    several = np.flatnonzero(next_one & (grown > largest) & calm)
    whole = several[since_last[several] != NULL]
    least = np.full(len(names), np.inf)
    np.minimum.at(least, group[queued], gap[queued] / grown[queued])
    np.minimum.at(least, group[whole], np.maximum(since_last[whole], 0) / grown[whole])
    single = queued[grown[queued] <= largest[queued]]
    singles, others = (np.bincount(group[which], minlength=len(names)) for which in (single, several))
    acked_singly = (singles > others) & (singles >= min_single_acks)
    return np.where(np.isfinite(least), least, 0.0)[group], acked_singly[group]


def _ns_per_byte_of_sizes(key: Array, lone: Array, sizes: Array, took: Array) -> Array:
    """What a line takes for a byte, ns, where the least times of at least three sizes of lone segments grow with their bytes
    alike, as no timer of a receiver does; 0 elsewhere.

    `lone`: positions in `key` of segments with these sizes and times to their ACKs.
    """
    order = np.lexsort((sizes, key[lone]))
    of, size = key[lone][order], sizes[order]
    start = np.flatnonzero(np.concatenate(([True], (np.diff(of) != 0) | (np.diff(size) != 0)))[: len(of)])
    if not len(start):
        return np.zeros(len(key))
    of, size, least = of[start], size[start], np.minimum.reduceat(took[order], start)
    low, count = key_groups(of)
    high, group = low + count - 1, np.repeat(np.arange(len(low)), count)
    apart = least[high] - least[low]
    slope = apart / np.maximum(size[high] - size[low], 1)
    off = np.abs(least - least[low][group] - slope[group] * (size - size[low][group]))
    # The smallest and the largest are on the line in any case.
    alike = np.bincount(group, off <= apart[group] / ALIKE_PART, len(low)) - 2
    slope[(apart <= 0) | (count < 3) | (2 * alike < count - 2)] = 0
    at = np.minimum(np.searchsorted(of[low], key), len(low) - 1)
    return np.where(of[low][at] == key, slope[at], 0)


def _untimed_ns(acks: Rows, key: Array, since_newest: Array, largest: Array) -> Array:
    """The least time that each direction's ACKs of several segments came after the newest of these; 0 where there is none."""
    names, group = np.unique(key, return_inverse=True)
    grown = np.diff(acks["rel_ack"], prepend=0)
    next_one = np.diff(key, prepend=NULL) == 0
    several = np.flatnonzero(next_one & (grown > largest) & (since_newest != NULL))
    least = np.full(len(names), np.iinfo(np.int64).max)
    np.minimum.at(least, group[several], np.maximum(since_newest[several], 0))
    return np.where(least < np.iinfo(np.int64).max, least, 0)[group]


def _highest(sends: Rows, end: Array) -> Array:
    """The highest byte sent so far of each direction."""
    first, length = key_groups(sends.key)
    out = np.empty_like(end)
    for a, n in zip(first.tolist(), length.tolist(), strict=True):
        out[a : a + n] = np.maximum.accumulate(end[a : a + n])
    return out
