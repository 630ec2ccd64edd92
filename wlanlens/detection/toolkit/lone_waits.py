"""Whether the wait for the ACK of a lone segment was a timer's: compared with the round trips of its own and of other connections."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.lone_segments import LoneSegments
from wlanlens.detection.toolkit.round_trips import delay_of_others_ns, round_trip_samples
from wlanlens.tables.columns import NULL, Array


def stands_out(facts: Facts, found: LoneSegments, waits: Array, around: int, factor: float, rtt_share: float) -> Array:
    """Whether each wait is this many times as long as the median delay of the round trips sampled next, and at least this share of
    the shortest one; not where fewer than two were sampled."""
    samples = facts.cached(round_trip_samples)
    key, waited = found.key[waits], found.waited_ns[waits]
    shortest = facts.flow_values("tap_rtt_min_ns", key)
    out = np.zeros(len(waits), bool)
    if not len(samples):
        return out
    own = samples.last_until("packet", key, found.acks["packet"][waits])
    own = np.where(own >= 0, own, np.searchsorted(samples.key, key) - 1)
    for i, at in enumerate(own.tolist()):
        later = samples["rtt_ns"][at + 1 : at + 1 + around][samples.key[at + 1 : at + 1 + around] == key[i]]
        if len(later) > 1:
            usual = factor * (np.sort(later)[len(later) // 2] - shortest[i])
            out[i] = waited[i] >= max(usual, rtt_share * shortest[i])
    return out


def late_with_others(facts: Facts, found: LoneSegments, waits: Array, factor: float) -> Array:
    """Whether a queue may have made each wait: it is not this many times as long as the ACKs of other connections between the same
    hosts were late meanwhile. Those of these waits do not count: they may have waited for the same timer."""
    sent, acked = found.sends["t_ns"][found.segment[waits]], found.acks["t_ns"][waits]
    late_ns = delay_of_others_ns(facts, found.key[waits], sent, acked, found.acks["packet"][waits])
    return np.asarray((late_ns != NULL) & (found.waited_ns[waits] < factor * late_ns))
