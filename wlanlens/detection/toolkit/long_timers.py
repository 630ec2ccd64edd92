"""Retransmission timers that were still long after a run of timeouts, and why."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.timeout_runs import TimeoutRuns
from wlanlens.tables.columns import NULL, Array


def kept_long(facts: Facts, runs: TimeoutRuns, factor: float, error: float) -> tuple[Array, Array]:
    """Timers that were still long after the run of timeouts before.

    Parameters
    ----------
    factor : float
        Longer than the timeout without backoff by this factor.
    error : float
        Error of the timer model, a share.

    Returns
    -------
    reason, normal_rto : array
        Why each run's first wait was longer than before the run that it follows: "backoff", "rtt_sample", "" where it was not;
        and the timeout without backoff or such a sample, ns.
    """
    rows, first = runs.rows, runs.first
    sent, trip = _sent_ns(facts, runs), np.maximum(facts.flow_values("tap_rtt_min_ns", runs.key), 0)
    waited, fresh = rows["waited_ns"][first], rows["fresh_rto_ns"][first]
    reason, normal_rto = np.full(len(runs), "", object), np.array(fresh)
    known, last = fresh[1:] != NULL, rows["waited_ns"][runs.last[:-1]]
    # The timer before ran for that run's first wait, or from the last data, whose ACK had restarted it.
    shown = np.minimum(waited, rows["t_ns"][first] - rows["silent_from_ns"][first])[:-1]
    before = np.where(fresh[:-1] != NULL, fresh[:-1], shown)
    # Only a run that ended with new data leaves a long timer behind, for the flight that follows it: what is sent before an ACK
    # of that flight can come, a round trip later. ACKs of older data may release more.
    soon = np.minimum(rows["silent_from_ns"][first], sent)[1:] <= runs.t_end_ns[:-1] + trip[1:]
    # An ACK of what was sent after the run gives another sample.
    unanswered = rows["rel_seq"][first[1:]] <= (rows["rel_seq"] + np.maximum(rows["flight_bytes"], 0))[runs.last[:-1]]
    after = (runs.key[1:] == runs.key[:-1]) & runs.answered[:-1]
    # It remains until a segment that was sent once is acknowledged: `rto_ns` says so.
    remains = rows["rto_ns"][first[1:]] > factor * fresh[1:]
    backoff = after & (fresh[:-1] != NULL) & known & (soon | remains) & (waited[1:] > factor * fresh[1:])
    # No round trip was measured until now, as after a retransmitted SYN: a timer twice the last one is kept, whenever it began.
    backoff |= after & (fresh[:-1] == NULL) & ~known & (np.abs(waited[1:] - 2 * last) <= error * 2 * last)
    # A timer much longer than before, and not by backoff: the idle time was its round trip. A SYN's timer is no estimate of one.
    data = (rows["rel_seq"][first[:-1]] > 0) & (known | (fresh[:-1] == NULL))
    sample = after & data & soon & unanswered & (waited[1:] > factor * np.maximum(before, shown)) & ~backoff
    reason[1:][sample], reason[1:][backoff] = "rtt_sample", "backoff"
    changed = sample | (backoff & ~known)
    normal_rto[1:][changed] = before[changed]
    return reason, normal_rto


def _sent_ns(facts: Facts, runs: TimeoutRuns) -> Array:
    """When the segment that each run's timer waited for had last passed the tap, or the run's begin."""
    copies = facts.rows("segments", ["packet", "t_ns", "since_previous_ns"], where={"trigger": ("rto",)}).sorted_by(
        "packet"
    )
    packet, out = runs.rows["packet"][runs.first], np.array(runs.t_start_ns)
    at = copies.last_until("packet", runs.key, packet)
    known = at >= 0
    known[known] = (copies["packet"][at[known]] == packet[known]) & (copies["since_previous_ns"][at[known]] > 0)
    out[known] = (copies["t_ns"] - copies["since_previous_ns"])[at[known]]
    return out
