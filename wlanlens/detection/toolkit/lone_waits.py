"""Whether the wait for the ACK of a lone segment was a timer's: compared with the round trips of its own and of other connections."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.lone_segments import LoneSegments
from wlanlens.detection.toolkit.round_trips import delay_of_others_ns
from wlanlens.tables.columns import NULL, Array


def stands_out(facts: Facts, found: LoneSegments, waits: Array, around: int, factor: float, rtt_share: float) -> Array:
    """Whether each wait is this many times as long as the median delay of the round trips sampled next, and at least this share of
    the shortest one.

    Not where fewer than two were sampled: one may be a delayed ACK, unless it answers several segments. Nor where most of these ACKs
    answer single segments while others are in flight: a receiver that acknowledges each does not delay the first one either, for none
    acknowledges sooner later on than at a connection's start.
    """
    key, waited = found.key[waits], found.waited_ns[waits]
    shortest, largest = facts.flow_values("tap_rtt_min_ns", key), facts.flow_values("segment_max_bytes", key)
    columns = ["packet", "rtt_ns", "rel_ack", "flight_bytes"]
    samples = facts.rows("segments", columns, valid=("rtt_ns", "rel_ack"), keys=np.unique(key ^ 1)).sorted_by("packet")
    out = np.zeros(len(waits), bool)
    own = samples.last_until("packet", key ^ 1, found.acks["packet"][waits])
    own = np.where(own >= 0, own, np.searchsorted(samples.key, key ^ 1) - 1)
    for i, at in enumerate((own + 1).tolist()):
        mine = at + np.flatnonzero(samples.key[at : at + around] == key[i] ^ 1)
        later = np.sort(samples["rtt_ns"][mine])
        grown = np.diff(samples["rel_ack"][mine], prepend=found.acks["rel_ack"][waits[i]])
        others = samples["flight_bytes"][mine] > 0
        several = int((grown > largest[i]).sum())
        if len(later) > (several == 0) and int((others & (grown <= largest[i])).sum()) <= several:
            usual = factor * (later[len(later) // 2] - shortest[i])
            out[i] = waited[i] >= max(usual, rtt_share * shortest[i])
    return out


def late_with_others(facts: Facts, found: LoneSegments, waits: Array, factor: float) -> Array:
    """Whether a queue may have made each wait: it is not this many times as long as the ACKs of other connections between the same
    hosts were late meanwhile. Those of these waits do not count: they may have waited for the same timer."""
    sent, acked = found.sends["t_ns"][found.segment[waits]], found.acks["t_ns"][waits]
    late_ns = delay_of_others_ns(facts, found.key[waits], sent, acked, found.acks["packet"][waits])
    return np.asarray((late_ns != NULL) & (found.waited_ns[waits] < factor * late_ns))
