from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.remedy import Remedy
from wlanlens.detection.toolkit import (
    AFTER_LOSS,
    DUPACK_THRESHOLD,
    NULL,
    Acks,
    Array,
    Cases,
    CwndReductions,
    Description,
    Facts,
    Finding,
    Undecided,
    cwnd_reductions,
    duration,
    key_groups,
    moment,
    times,
)
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace

CODE = "repeated_fast_retransmit"


def _phrase(finding: Finding) -> str:
    return f"it reduced cwnd {times(int(finding.values['cwnd_reductions_count']))} in one loss episode"


@detector(
    CODE,
    needs=("segments", "recoveries", "timeouts"),
    phrase=_phrase,
    explains=(*AFTER_LOSS, "spurious_recovery"),
    saving="once",
    remedy=Remedy(
        "Sender: SACK on (`net.ipv4.tcp_sack=1`) and a stack with NewReno's recovery point or RACK; Reno "
        "without SACK reduces its window for each loss. Path: a longer or managed queue loses fewer segments "
        "of one window.",
        "capture at the sender again: one reduction of the window for each loss episode.",
    ),
)
def repeated_fast_retransmit(
    trace: Trace, *, dupacks_count: int = DUPACK_THRESHOLD, answer_ms: float = 20.0
) -> Iterator[Finding | Undecided]:
    """The sender reduced its congestion window several times in one loss episode.

    What it finds
    -------------
    Fast retransmits of data that had been sent before the last reduction of the congestion window (by a fast retransmit or a
    timeout), or that are exactly at its recovery point after spurious retransmissions: the sender took duplicate ACKs for
    a second congestion and halved its window again. The cost is the time from the second reduction until everything
    sent before the last one is acknowledged.

    Why it happens
    --------------
    A window of losses requires one reduction. A sender that leaves fast recovery at the first new ACK (Reno) reduces for every
    loss of the window. One that goes back N after a timeout retransmits segments that had arrived; their duplicate ACKs look
    like a loss unless it remembers the recovery point (RFC 6582 section 4, the careful variant).

    How it decides
    --------------
    Reductions are `recoveries`, `timeouts`, and, without SACK, retransmissions of the left edge after duplicate ACKs; at the sender
    also those that pass after the ACK of new data, because they waited in the queue before the tap.
    `dupacks_count`: this many, TCP's threshold.
    `answer_ms`: they follow within this time; stacks answer within their tick, of 10 ms at most.
    A reduction is repeated when the segment starts below the highest byte sent before the previous reduction, or, without
    SACK, at that byte and after `dupacks_count` spurious retransmissions, which caused the duplicate ACKs. So is a timeout
    for what a partial ACK showed, with new data sent instead. Consecutive ones are one finding, with the first.

    What fools it
    -------------
    Losses of separate windows start above the previous recovery point; NewReno's retransmissions on partial ACKs and SACK's
    of several holes belong to one reduction: no finding. A timeout without further retransmissions was undone by the
    sender and is no reduction. So may a spurious fast recovery be where timestamps show it to the sender (Eifel, as in Linux): what
    follows it is undecided. At a tap after the loss it is unknown what had been sent: retransmissions whose first copy
    it never saw are left out.

    References
    ----------
    RFC 6582 section 4; Floyd, "TCP and successive fast retransmits", 1994; the Seawind study, which saw both causes.
    """
    facts = Facts.of(trace)
    cuts = cwnd_reductions(facts, dupacks_count, int(answer_ms * 1e6))
    rows, seq, point, t = cuts.rows, cuts.rows["rel_seq"], cuts.recovery_point, cuts.rows["t_ns"]
    if not len(rows):
        return
    # Retransmitted segments that had arrived caused the duplicate ACKs.
    spurious = np.diff(cuts.spurious) - (rows["spurious"][1:] == 1)
    at_point = (seq[1:] == point[:-1]) & (spurious >= dupacks_count) & ~cuts.with_sack[1:]
    repeated = cuts.fast[1:] & ((seq[1:] < point[:-1]) | at_point) | cuts.unanswered_partial_acks(facts)
    repeated &= rows.key[1:] == rows.key[:-1]
    # Where the tap never saw the first copies it is unknown what had been sent.
    repeated &= (rows["lost_before_tap"][1:] != 1) & (rows["lost_before_tap"][:-1] != 1)
    # A sender that retransmits nothing else has undone a timeout.
    repeated &= cuts.fast[:-1] | (np.diff(cuts.number) > 1)
    # Timestamps show that a fast recovery was spurious.
    undone = repeated & cuts.fast[:-1] & (rows["spurious"][:-1] == 1)
    undone &= facts.flow_values("timestamps_agreed", rows.key[1:]) == 1
    repeated &= ~undone
    if undone.any():
        again = np.flatnonzero(undone) + 1
        yield facts.undecided(
            CODE,
            rows.key[again],
            "The sender reduced cwnd again after a spurious fast recovery, which its timestamps may have let it undo.",
            t_start_ns=t[again - 1],
            t_end_ns=_ends_ns(facts, cuts, again),
        )
    first, length = key_groups(np.cumsum(~np.concatenate(([False], repeated))))
    chains = np.flatnonzero(length > 1)
    if not len(chains):
        return
    begin, last = first[chains], first[chains] + length[chains] - 1
    keys = rows.key[begin]
    ends = _ends_ns(facts, cuts, last)
    cost_s = (ends - t[begin + 1]) / 1e9

    def describe(i: int) -> Description:
        part = slice(int(begin[i]), int(last[i]) + 1)
        number = part.stop - part.start
        return Description(
            f"the sender reduced cwnd {times(number)} in one loss episode, first at {moment(t[begin[i]])}; recovery continued "
            f"for {duration(float(cost_s[i]))} after the second reduction.",
            values={
                "cwnd_reductions_count": number,
                "first_reduction": "fast retransmit" if cuts.fast[begin[i]] else "timeout",
                "spurious_count": int((rows["spurious"][part][1:] == 1).sum()),
            },
            evidence={"segments": rows["packet"][part]},
            confidence=0.9,
        )

    cases = Cases(facts, CODE, keys, t[begin], ends, cost_s, rows["packet"][begin])
    yield from cases.findings(describe, what="repeated cwnd reductions")


def _ends_ns(facts: Facts, cuts: CwndReductions, last: Array) -> Array:
    """When everything sent before each reduction was acknowledged, or the timer expired: that cost belongs to other findings."""
    acks, rows, t = facts.cached(Acks), cuts.rows, cuts.rows["t_ns"]
    keys = rows.key[last]
    reached = acks.t_ns(acks.first_covering(keys, cuts.recovery_point[last]))
    ends = np.where(reached != NULL, reached, facts.last_packet_ns(keys))
    after = np.minimum(last + 1, len(rows) - 1)
    timed_out = (after > last) & (rows.key[after] == keys) & ~cuts.fast[after] & (t[after] < ends)
    return np.maximum(np.where(timed_out, t[after], ends), t[last])
