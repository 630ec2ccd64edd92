"""Round trips of data, sampled at the tap. Those of the handshake are shorter, for its packets are small."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.toolkit.ack_timestamps import ticks_between
from wlanlens.detection.toolkit.acks import Acks
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.tables.columns import NULL, Array

#: Common lengths of a timestamp tick, ns.
_TICKS_NS = (1_000, 1_000_000, 4_000_000, 10_000_000, 100_000_000)


def round_trip_samples(facts: Facts) -> Rows:
    """Samples by key of the data, in packet order: columns `packet t_ns rtt_ns rel_ack tsval` of the ACK."""
    columns = ["packet", "t_ns", "rtt_ns", "rel_ack", "tsval"]
    rows = facts.rows("segments", columns, valid=("t_ns", "rtt_ns", "rel_ack"))
    sends = facts.rows("segments", ["rel_seq", "len"], valid=("t_ns", "rel_seq"))
    sends = sends.take(sends["len"] > 0)
    known, first = np.unique(sends.key, return_index=True)
    if not len(known):
        return Rows(rows.key[:0], {name: rows[name][:0] for name in columns})
    last = np.maximum.reduceat(sends["rel_seq"] + sends["len"], first)
    # SYN and FIN are not data.
    of_data = rows.key ^ 1
    at = np.minimum(np.searchsorted(known, of_data), len(known) - 1)
    rows = rows.take((rows["rel_ack"] > 1) & (known[at] == of_data) & (rows["rel_ack"] <= last[at]))
    samples = Rows(rows.key ^ 1, {name: rows[name] for name in columns}).sorted_by("packet")
    # An ACK of a hole that a retransmission filled had waited for it: the time is not the path's.
    where = {"transmission": ("retransmission",)}
    retransmitted = facts.rows("segments", ["rel_seq", "len"], where=where, valid=("t_ns", "rel_seq"))
    retransmitted = retransmitted.take(retransmitted["len"] > 0).sorted_by("rel_seq")
    before = np.maximum(facts.cached(Acks).highest_before(samples.key, samples["packet"]), 1)
    return samples.take(~retransmitted.any_between("rel_seq", samples.key, before, samples["rel_ack"] - 1))


def time_since_sample_ns(samples: Rows, first: Array) -> Array:
    """Time since the sample before each, ns; its round trip for the `first` one of each key."""
    since = np.diff(samples["t_ns"], prepend=samples["t_ns"][:1])
    since[first] = samples["rtt_ns"][first]
    return np.asarray(since)


def min_data_rtt_ns(facts: Facts, keys: Array) -> Array:
    """Shortest round trip of data between the same two hosts, ns; `NULL` for no sample.

    A connection that begins while others fill the queue never sees an empty path: the shortest round trip of all
    connections from one host to the other is the path's. Where only the handshake was sampled, it is that of the flow.
    """
    known, least = facts.cached(_least)
    flow = facts.flow_values("tap_rtt_min_ns", keys)
    if not len(known):
        return flow
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[at] == keys, least[at], flow)


def _least(facts: Facts) -> tuple[Array, Array]:
    """Each key with samples, and its shortest round trip."""
    rows = facts.cached(round_trip_samples)
    if not len(rows):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    known, first = np.unique(rows.key, return_index=True)
    least = np.minimum.reduceat(rows["rtt_ns"], first)
    path = _paths(facts, known)
    of_path = np.full(path.max() + 1, np.iinfo(np.int64).max)
    np.minimum.at(of_path, path, least)
    return known, of_path[path]


def _paths(facts: Facts, keys: Array) -> Array:
    """A number for each key: equal for directions from one host to the same other one."""
    hosts = [
        np.unique(facts.flow_values(name, keys).astype(str), return_inverse=True)[1] for name in ("ip_src", "ip_dst")
    ]
    # A window of a long capture lacks the addresses of connections that continue: each is alone then.
    listed = facts.flow_values("t_start_ns", keys) != NULL
    _, path = np.unique(np.stack((keys >> 34, *hosts, np.where(listed, -1, keys))), axis=1, return_inverse=True)
    return np.asarray(path.ravel())


def empty_path_ns(facts: Facts, samples: Rows, first: Array, length: Array) -> Array:
    """The round trip of a segment on the empty path, ns: the shortest of data, or the shortest of any packet and the time in which
    the path carries a segment, where the first data queued already."""
    segment = facts.flow_values("segment_max_bytes", samples.key[first])
    carries = np.zeros(len(first))
    for n, (a, size) in enumerate(zip(first.tolist(), length.tolist(), strict=True)):
        took, acked = np.diff(samples["t_ns"][a : a + size]), np.diff(samples["rel_ack"][a : a + size])
        took, acked = took[acked > 0], acked[acked > 0]
        order = np.argsort(took / acked)
        done = np.cumsum(acked[order])
        # The pace of most bytes: pauses, and ACKs that came together, are exceptions.
        carries[n] = (took / acked)[order][np.searchsorted(done, done[-1] / 2)] * segment[n] if len(done) else np.inf
    shortest = facts.flow_values("tap_rtt_min_ns", samples.key[first])
    empty = np.where(shortest > 0, shortest + carries, np.inf)
    return np.asarray(np.minimum(min_data_rtt_ns(facts, samples.key), np.repeat(empty, length)).astype(np.int64))


def is_on_ack_path(samples: Rows, queued: Array, delay: Array, min_count: int, tick_error: float) -> bool:
    """Whether more than half of the delay arose after the receiver had sent the ACK, by its timestamps."""
    known = samples["tsval"] != NULL
    if known.sum() < min_count or not (known & queued).any():
        return False
    t, tsval, queued, delay = samples["t_ns"][known], samples["tsval"][known], queued[known], delay[known]
    ticks = ticks_between(tsval[0], tsval)
    if ticks[-1] <= 0:
        return False
    # How late each ACK is by a clock of this tick. On its path it is delayed by no less than nothing, and by no more than the round trip.
    late = [t - t[0] - ticks * tick for tick in _TICKS_NS]
    misfit = [int((one - delay).max() - one.min()) for one in late]
    best = int(np.argmin(misfit))
    if misfit[best] > tick_error * np.median(delay[queued]):
        return False
    return bool(np.median((late[best] - late[best].min())[queued]) > np.median(delay[queued]) / 2)


def delay_of_others_ns(facts: Facts, keys: Array, sent_ns: Array, acked_ns: Array, without: Array) -> Array:
    """How much longer than the shortest round trip of each key those of other connections between the same hosts were meanwhile.

    The median of the samples that were taken from a time until as long after another as that was after the first; `NULL` for fewer
    than two.

    Parameters
    ----------
    keys, sent_ns, acked_ns : array
        Directions, and when a segment was sent and acknowledged.
    without : array
        Packets of ACKs that do not count.
    """
    samples = facts.cached(round_trip_samples)
    samples = samples.take(~np.isin(samples["packet"], without)).sorted_by("t_ns")
    out = np.full(len(keys), NULL, np.int64)
    if not len(samples) or not len(keys):
        return out
    known, of = np.unique(np.concatenate((samples.key, keys)), return_inverse=True)
    path = _paths(facts, known)[of]
    order = np.lexsort((samples["t_ns"], path[: len(samples)]))
    at, t, rtt = path[: len(samples)][order], samples["t_ns"][order], samples["rtt_ns"][order]
    shortest = facts.flow_values("tap_rtt_min_ns", keys)
    for i, mine in enumerate(path[len(samples) :].tolist()):
        first, last = at.searchsorted([mine, mine + 1])
        first, last = first + t[first:last].searchsorted([sent_ns[i], 2 * acked_ns[i] - sent_ns[i]])
        others = rtt[first:last][samples.key[order[first:last]] != keys[i]]
        if len(others) > 1:
            out[i] = np.median(others) - shortest[i]
    return out
