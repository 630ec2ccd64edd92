"""Intervals in which a sender had filled the receiver's window: their stretches, and whether a link may have been busy."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.ledger import pace
from wlanlens.tables import FULL_PATH
from wlanlens.tables.columns import NULL, Array, numbered

#: States in which a window without room may be the limit.
MAY_BE_LIMITED = ("zero_window", "window_limited", "delayed_ack", *FULL_PATH)

_MOST = np.iinfo(np.int64).max
#: The largest packet of Ethernet, and the usual one of 802.11.
_PACKET_BYTES = 1500


def may_be_busy(facts: Facts, spans: Rows, segment: Array, access_ns: int, own_share: float, full_rtts: float) -> Array:
    """Whether a link may have been busy during all of an interval, so that a larger window would have been no faster.

    So it may in one without a round trip, in a flow without any: nothing shows how long the path is.
    """
    paths = facts.cached(_Paths)
    least, mean = paths.least_ns(spans.key), facts.flow_values("tap_rtt_mean_ns", spans.key)
    # What a host hands to its adapter at once may be many packets.
    packet = np.minimum(segment, _PACKET_BYTES)
    rtt, number = np.where(spans["rtt_ns"] > 0, spans["rtt_ns"], mean), spans["window_bytes"] // packet
    known = (rtt > 0) & (least > 0) & (spans["window_bytes"] != NULL)
    queue = number + paths.bytes_of_others(spans.key, spans["t_start_ns"]) // packet
    # With one packet in flight each link is idle while its ACK comes back, unless other connections use it.
    alone = (number <= 1) & (spans["window_bytes"] < 2 * segment) & (queue == number)
    # Likewise where one ACK answers the whole window: until it arrives there is no data on the path.
    whole = (spans["acked_bytes"] > spans["window_bytes"] - segment) & (queue == number)
    near = ~whole & (least <= access_ns) & (rtt - least >= own_share * rtt) & (rtt <= (queue + 1) * access_ns)
    queued = (number >= 2) & (rtt >= full_rtts * least)
    return np.asarray((spans["state"] == "window_limited") & np.where(known, (near | queued) & ~alone, ~(rtt > 0)))


class _Paths:
    """Connections between the same host and network: they share a path, and its queues."""

    def __init__(self, facts: Facts) -> None:
        self._every = every = facts.all_data_keys()
        ends = [numbered(_networks(facts.flow_values(name, every)))[1] for name in ("ip_src", "ip_dst")]
        # A window of a long capture lacks the addresses of connections that continue: each is alone then.
        start, end = facts.flow_values("t_start_ns", every), facts.last_packet_ns(every)
        alone = np.where(start != NULL, -1, every)
        _, path = np.unique(np.stack((every >> 34, *ends, alone)), axis=1, return_inverse=True)
        self._path = path.ravel()
        self._least = np.full(len(every), NULL, np.int64)
        # The handshake counts where no other is known: that of a repeated SYN is no round trip.
        for name in ("handshake_rtt_ns", "tap_rtt_min_ns"):
            trip, shortest = facts.flow_values(name, every), np.full(len(every), _MOST)
            np.minimum.at(shortest, self._path, np.where(trip > 0, trip, _MOST))
            shortest = shortest[self._path]
            self._least = np.where(shortest < _MOST, shortest, self._least)
        self._flight = np.maximum(facts.flow_values("flight_max_bytes", every), 0)
        turns = Rows(
            np.concatenate((self._path, self._path)),
            {"t_ns": np.concatenate((start, end)), "bytes": np.concatenate((self._flight, -self._flight))},
        ).sorted_by("t_ns")
        self._turns, self._outstanding = turns, np.cumsum(turns["bytes"])

    def least_ns(self, keys: Array) -> Array:
        """The shortest round trip of each path: a connection that begins while others fill the queue never sees it empty."""
        return self._least[np.searchsorted(self._every, keys)]

    def bytes_of_others(self, keys: Array, t_ns: Array) -> Array:
        """The most that the other connections on each path that lasted at a time had outstanding."""
        at = np.searchsorted(self._every, keys)
        last = self._turns.last_until("t_ns", self._path[at], t_ns)
        # Those of each path that ended have left the sum; so have all paths before it.
        return np.where(last >= 0, np.maximum(self._outstanding[last] - self._flight[at], 0), 0)


def _networks(addresses: Array) -> Array:
    """The network of each address: the first three numbers of IPv4, the first 64 bits of IPv6."""
    return np.array([".".join(a.split(".")[:3]) if "." in a else ":".join(a.split(":")[:4]) for a in addresses])


def evenly_paced(facts: Facts, spans: Rows, min_acks: int, pause_share: float) -> Array:
    """Whether each interval, in order of time, is one in which the window kept a link busy (`wlanlens.ledger.pace`)."""
    out = np.zeros(len(spans), bool)
    which = np.flatnonzero(spans["state"] == "window_limited")
    end, acked, rtt = (spans[name][which] for name in ("t_end_ns", "acked_bytes", "rtt_ns"))
    full = pace.full_size(spans["window_bytes"], facts.flow_values("peer_window_max_bytes", spans.key))[which]
    out[which] = pace.evenly_paced(spans.key[which], end, acked, rtt, full, min_acks, pause_share)
    return out


def acked_with_pauses(facts: Facts, spans: Rows, min_acks: int, pause_share: float) -> Array:
    """Whether the ACKs in each interval came with pauses for more than half of it: a link may have been idle meanwhile.

    `spans` are rows of `intervals`, by key and time. On a full path ACKs come at its pace (`wlanlens.ledger.pace`).
    """
    columns = ["packet", "t_ns", "rel_ack"]
    acks = facts.rows(
        "segments", columns, where={"kind": ("ack",)}, valid=("t_ns", "rel_ack"), keys=np.unique(spans.key) ^ 1
    )
    acks = Rows(acks.key ^ 1, {name: acks[name] for name in columns}).sorted_by("t_ns")
    at = spans.last_until("t_start_ns", acks.key, acks["t_ns"] - 1)
    grown = np.diff(acks["rel_ack"], prepend=0)
    inside = (at >= 0) & (np.diff(acks.key, prepend=NULL) == 0) & (grown > 0)
    inside &= acks["t_ns"] <= np.where(at >= 0, spans["t_end_ns"][at], 0)
    acks, at, grown = acks.take(inside), at[inside], grown[inside]
    full, rtt = np.ones(len(at), bool), spans["rtt_ns"][at]
    paced = pace.evenly_paced(acks.key, acks["t_ns"], grown, rtt, full, min_acks, pause_share)
    since = np.maximum(spans["t_start_ns"][at], np.where(np.diff(at, prepend=-1) == 0, np.roll(acks["t_ns"], 1), 0))
    even_ns = np.bincount(at, np.where(paced, acks["t_ns"] - since, 0), len(spans))
    return np.asarray(2 * even_ns < spans["t_end_ns"] - spans["t_start_ns"])


def on_full_path(spans: Rows) -> Array:
    """Whether the flow kept the path full in each interval."""
    return np.isin(spans["state"], FULL_PATH)


def several_acks(facts: Facts, spans: Rows) -> Array:
    """Whether more was acknowledged in each interval than one ACK for two segments (RFC 5681 section 4.2) does."""
    return np.asarray(spans["acked_bytes"] > 2 * np.maximum(facts.flow_values("segment_max_bytes", spans.key), 1))


def mostly_full(spans: Rows) -> Array:
    """Whether the window kept the path full for longer than it limited the flow of each interval: the queue fills again after a pause."""
    span_ns = spans["t_end_ns"] - spans["t_start_ns"]
    _, flow = np.unique(spans.key, return_inverse=True)
    path = np.bincount(flow, np.where(on_full_path(spans), span_ns, 0))
    limited = np.bincount(flow, np.where(np.isin(spans["state"], ("window_limited", "zero_window")), span_ns, 0))
    return np.asarray((path > limited)[flow])


def has_no_room(facts: Facts, spans: Rows) -> Array:
    """Whether the window had no room for one more segment. Where the ACK at an interval's end acknowledges several, all were in flight."""
    segment = facts.flow_values("segment_max_bytes", spans.key)
    known = (spans["window_bytes"] != NULL) & (segment > 0)
    several = spans["acked_bytes"] > segment
    flight = np.where(several, np.maximum(spans["flight_bytes"], spans["acked_bytes"]), spans["flight_bytes"])
    return np.asarray(known & (spans["window_bytes"] - flight < segment))


def main_stretches(facts: Facts, spans: Rows, counted: Array, edge_share: float) -> Array:
    """Counted intervals without the first and last stretches of each flow that hold less than this share of its time, each side.

    A gap above a round trip ends a stretch.
    """
    which = np.flatnonzero(counted)
    out = np.zeros(len(spans), bool)
    if not len(which):
        return out
    key, start, end = spans.key[which], spans["t_start_ns"][which], spans["t_end_ns"][which]
    rtt = _round_trips_ns(facts, spans, key)
    begins = np.ones(len(which), bool)
    begins[1:] = (key[1:] != key[:-1]) | (start[1:] - end[:-1] > rtt[1:])
    first = np.flatnonzero(begins)
    number = np.diff(first, append=len(which))
    length = np.add.reduceat(end - start, first)
    flow = np.cumsum(np.diff(key[first], prepend=key[:1]) != 0)
    whole, until = np.bincount(flow, length), np.cumsum(length)
    before = until - length
    within = before - before[np.searchsorted(flow, flow)]
    main = (within + length > edge_share * whole[flow]) & (within < (1 - edge_share) * whole[flow])
    out[which] = np.repeat(main, number)
    return out


def _round_trips_ns(facts: Facts, spans: Rows, key: Array) -> Array:
    """The mean round trip of each key: of its whole connection where that is known, else of these intervals."""
    known, place = np.unique(spans.key, return_inverse=True)
    measured = spans["rtt_ns"] != NULL
    total = np.bincount(place[measured], spans["rtt_ns"][measured], len(known))
    here = total / np.maximum(np.bincount(place[measured], minlength=len(known)), 1)
    whole = facts.flow_values("tap_rtt_mean_ns", key)
    return np.asarray(np.where(whole > 0, whole, here[np.searchsorted(known, key)]))


def mean_by_length(column: Array, weight: Array, which: Array) -> float | None:
    """Mean over intervals by their length; None where nothing is known."""
    which = which[(column[which] != NULL) & (weight[which] > 0)]
    return float(np.average(column[which].astype(np.float64), weights=weight[which])) if len(which) else None
