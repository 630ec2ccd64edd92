"""What limits a sender besides the receiver's window: a congestion window reduced by a loss, and the rate of a path."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.toolkit.acks import Acks
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import Rows, key_groups
from wlanlens.tables.columns import NULL, Array

#: States of a sender that recovers from a loss, real or not.
_RECOVERY = ("rto_wait", "backoff_wait", "loss_recovery", "fast_recovery")

#: Segments of the largest initial congestion window (RFC 6928).
_INITIAL = 10


def cwnd_may_limit(facts: Facts, spans: Rows) -> Array:
    """Intervals in which the congestion window, reduced by a loss or still the initial one, may equal the receiver's.

    `spans` are rows of `intervals`. It is larger only when all that first filled the receiver's window has been acknowledged. A
    sender that sees by timestamps that its fast recovery was spurious restores its window (RFC 4015): such a recovery reduces nothing.
    """
    keys = np.unique(spans.key)
    over = facts.rows("intervals", ["t_start_ns", "t_end_ns"], where={"state": _RECOVERY}, keys=keys).sorted_by(
        "t_end_ns"
    )
    undone = facts.rows("recoveries", ["t_end_ns", "spurious"], keys=keys).sorted_by("t_end_ns")
    undone = undone.take((undone["spurious"] == 1) & (facts.flow_values("timestamps_agreed", undone.key) == 1))
    over = over.take(~undone.any_between("t_end_ns", over.key, over["t_start_ns"], over["t_end_ns"]))
    acks = facts.cached(Acks)
    # Before the first ACK of data the initial window may be as large (RFC 6928 allows up to 10 segments).
    largest = np.maximum(facts.flow_values("segment_max_bytes", spans.key), 1)
    out = (spans["window_bytes"] != NULL) & (spans["window_bytes"] < (_INITIAL + 1) * largest)
    answered = acks.t_ns(acks.first_covering(spans.key, np.full(len(spans), 2)))
    out &= (spans["state"] != "zero_window") & (spans["t_start_ns"] < answered)
    loss = over.last_until("t_end_ns", spans.key, spans["t_start_ns"]) if len(over) else np.full(len(spans), -1)
    which = np.flatnonzero((loss >= 0) & (spans["state"] != "zero_window") & (spans["window_bytes"] != NULL))
    if not len(which):
        return np.asarray(out)
    first, length = key_groups(loss[which])
    begun = which[first]
    key = spans.key[begun]
    segment = np.maximum(facts.flow_values("segment_max_bytes", key), 1)
    filled = acks.highest_until(key, spans["t_start_ns"][begun]) + np.maximum(spans["window_bytes"][begun] - segment, 0)
    until = acks.t_ns(acks.first_covering(key, filled + 1))
    until = np.where(until == NULL, facts.last_packet_ns(key), until)
    out[which] |= spans["t_start_ns"][which] < np.repeat(until, length)
    return np.asarray(out)


def arrival_bytes_per_s(acks: Rows, t_start_ns: int, t_end_ns: int, segment_bytes: int) -> float:
    """Rate at which data of one key arrived, by its ACKs in an interval; 0 where there are too few.

    By ACKs of new data or by duplicate ACKs, not by both: a receiver delays only the former.
    """
    t, ack = acks["t_ns"], acks["rel_ack"]
    inside = np.flatnonzero((t > t_start_ns) & (t <= t_end_ns))
    new, duplicate = inside[acks["dupacks"][inside] == 0], inside[acks["dupacks"][inside] > 0]
    if len(new) >= 3 and t[new[-1]] > t[new[0]]:
        return float(ack[new[-1]] - ack[new[0]]) / (int(t[new[-1]] - t[new[0]]) / 1e9)
    if len(duplicate) >= 3 and t[duplicate[-1]] > t[duplicate[0]]:
        return (len(duplicate) - 1) * segment_bytes / (int(t[duplicate[-1]] - t[duplicate[0]]) / 1e9)
    return 0.0
