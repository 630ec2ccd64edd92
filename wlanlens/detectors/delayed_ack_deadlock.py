from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.remedy import Remedy
from wlanlens.detection.toolkit import (
    ON_THE_PATH,
    Array,
    Cases,
    Description,
    Facts,
    Finding,
    LoneSegments,
    Undecided,
    duration,
    key_groups,
    late_with_others,
    lone_segments,
    moment,
    stands_out,
    times,
)
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace

CODE = "delayed_ack_deadlock"


def _phrase(finding: Finding) -> str:
    return f"it stalled {times(int(finding.values['waits_count']))} for a delayed ACK with one segment in flight"


@detector(
    CODE,
    needs=("segments", "flows"),
    phrase=_phrase,
    explains=("delayed_ack", *ON_THE_PATH),
    saving="cost",
    remedy=Remedy(
        "Sender: write whole messages at once and set TCP_NODELAY, so that no segment waits for an ACK; a "
        "larger send buffer and initial window, so that more than one segment is in flight. Receiver: "
        "acknowledge at once (Linux: TCP_QUICKACK, Windows: TcpAckFrequency=1).",
        "capture at the sender again: ACKs of single segments come within a round trip.",
    ),
)
def delayed_ack_deadlock(
    trace: Trace,
    *,
    min_wait_ms: float = 25.0,
    max_wait_ms: float = 550.0,
    reaction_ms: float = 10.0,
    path_share: float = 0.8,
    calm_ms: float = 1000.0,
    min_single_acks: int = 20,
    min_waits_count: int = 2,
    around_count: int = 3,
    calm_factor: float = 2.0,
    rtt_share: float = 0.1,
    waited_share: float = 0.25,
    at_once_share: float = 0.2,
    even_share: float = 0.2,
) -> Iterator[Finding | Undecided]:
    """Nagle/delayed-ACK stall: one segment in flight waited for the receiver's delayed-ACK timer.

    What it finds
    -------------
    Times at which a sender had one segment in flight and could send no more, while the receiver delayed its ACK and
    expected a second segment. The cost is the time from that segment to its ACK, less the shortest round trip.

    Why it happens
    --------------
    A receiver acknowledges every second segment, or after a timer of 40 to 200 ms (500 at most). A congestion window of
    one segment, after losses or at the start, prevents a second one; so does Nagle's algorithm, which holds a short
    segment until everything before it is acknowledged. Both ends wait for each other.

    How it decides
    --------------
    A pure ACK acknowledges exactly one segment, and no duplicate ACK came before it: the only one in flight, or the only one
    retransmitted after a timeout had given up the others. The sender continues with the next byte at once: it waited for
    nothing else. A receiver that acknowledges most segments of a queue one by one (`min_single_acks`: more than Linux
    does at a connection's start, 16) delays nothing.
    `min_wait_ms`: this long after the segment's last copy, less the shortest round trip and the segment's own time on a slow line,
    or at a captured receiver; the shortest timers are 40 ms, less the error of busy hosts.
    `max_wait_ms`: RFC 1122 allows 500 ms; a longer wait has another cause.
    `reaction_ms`: new data follows within this time; hosts take less than 1 ms, a queue at the tap more.
    `path_share`: away from the sender the data comes no sooner than this share of the time to the sender and back. It must also
    echo the ACK's timestamp (RFC 7323), and the segment that of the previous ACK: an older echo shows that it was not alone.
    Undecided there without timestamps.
    `calm_ms`: twice the longest timer after a retransmission the receiver has no holes to fill.
    `min_waits_count`: at least this many; a single one may be a frame that was late on the air.
    `around_count`, `calm_factor`: a connection's first segment counts alone where its wait is this many times as long as the median
    delay of as many round trips after it, of two at least (one may be a delayed ACK, too, unless it acknowledges several segments):
    the path does not make ACKs that late. A receiver that acknowledges most of these segments one by one had not delayed the first.
    `rtt_share`: and at least this share of the shortest round trip, as far as the queues of any path vary.
    Undecided beside other connections of these hosts whose ACKs are late meanwhile.
    `waited_share`: of the lone segments after which the sender continued, from the first that waited on, at least this share
    waited: a timer delays all but those acknowledged at once after a gap; a slow frame on the air delays one in ten.
    `at_once_share`: after at least this share of the lone segments that waited, the sender continued at once; an
    application that writes now and then meets an ACK within 10 ms once in 25 to 100.
    `even_share`: a timer runs equally long each time, retries and queues do not: the quartiles of the waits are at most this share of
    their median apart; undecided where they differ by more (a timer that ticks every 200 ms).

    What fools it
    -------------
    An application pauses at any time, not until an ACK: no finding, unless it writes as often as the timer expires. A
    window without room for a second segment (silly window) is itself the cause: no finding. ACKs that an adapter held
    look alike when they come one by one. A sender whose second segment was lost waits for its timer.

    References
    ----------
    RFC 1122 section 4.2.3.2, RFC 5681 section 4.2; RFC 896 (Nagle); the study of 802.11b adapters on USB, section 4.3.2 B;
    Mogul and Minshall, "Rethinking the TCP Nagle algorithm", 2001.
    """
    facts = Facts.of(trace)
    found = lone_segments(
        facts,
        least_wait_ns=int(min_wait_ms * 1e6),
        reaction_ns=int(reaction_ms * 1e6),
        path_share=path_share,
        calm_ns=int(calm_ms * 1e6),
        min_single_acks=min_single_acks,
    )
    if found is not None:
        late = found.alone & ~found.acked_singly
        late &= (found.waited_ns >= int(min_wait_ms * 1e6)) & (found.waited_ns <= int(max_wait_ms * 1e6))
        unknown = found.key[late & found.unknown_flight]
        if len(unknown):
            yield facts.undecided(
                CODE,
                unknown,
                "Segments that the tap saw alone waited for their ACK. Away from the sender and without fine timestamps it is "
                "unknown whether more was in flight; a capture at the sender would show it.",
            )
        waits = np.flatnonzero(late & found.at_once)
        queued = late_with_others(facts, found, waits, calm_factor)
        if queued.any():
            yield facts.undecided(
                CODE,
                found.key[waits[queued]],
                "While segments were alone in flight, the ACKs of other connections were late, too: a queue or a timer.",
                t_start_ns=found.sends["t_ns"][found.segment[waits[queued]]],
                t_end_ns=found.acks["t_ns"][waits[queued]],
            )
        waits = waits[~queued]
        first, length = key_groups(found.key[waits])
        key = found.key[waits[first]]
        at = np.flatnonzero(found.alone & found.at_once)
        lone = np.searchsorted(found.key[at], key, "right") - np.searchsorted(at, waits[first])
        enough = (length >= min_waits_count) & (length >= waited_share * lone)
        alone = found.sends["rel_seq"][found.segment[waits[first]]] == 1
        enough |= alone & stands_out(facts, found, waits[first], around_count, calm_factor, rtt_share)
        enough &= length >= at_once_share * _number_of(key, found.key[late & found.continued])
        cases = [waits[first[n] : first[n] + length[n]] for n in np.flatnonzero(enough)]
        even = np.array([_spread(found.waited_ns[case]) <= even_share for case in cases], bool)
        whole = [case for case, is_even in zip(cases, even.tolist(), strict=True) if is_even]
        yield from _findings(facts, found, whole, lone[enough][even])
        if not even.all():
            yield _uneven(
                facts, found, [case for case, is_even in zip(cases, even.tolist(), strict=True) if not is_even]
            )
    yield from facts.undecided_without_acks(CODE)


def _spread(waited_ns: Array) -> float:
    """The distance of the quartiles, as a share of the median."""
    low, middle, high = np.quantile(waited_ns, (0.25, 0.5, 0.75))
    return float((high - low) / middle)


def _uneven(facts: Facts, found: LoneSegments, cases: list[Array]) -> Undecided:
    begin, end = (np.array([case[n] for case in cases]) for n in (0, -1))
    return facts.undecided(
        CODE,
        found.key[begin],
        "ACKs of single segments were late by different times: a receiver's timer that ticks at fixed times, or frames that were "
        "late on the air; a capture at the receiver shows which.",
        t_start_ns=found.sends["t_ns"][found.segment[begin]],
        t_end_ns=found.acks["t_ns"][end],
    )


def _number_of(keys: Array, among: Array) -> Array:
    """How often each key occurs in a sorted array."""
    return np.searchsorted(among, keys, side="right") - np.searchsorted(among, keys)


def _findings(facts: Facts, found: LoneSegments, waits: list[Array], lone: Array) -> Iterator[Finding]:
    if not waits:
        return
    sends, largest = found.sends, facts.flow_values("segment_max_bytes", found.key)

    def describe(i: int) -> Description:
        mine = waits[i]
        waited = found.waited_ns[mine]
        timer_ms, start = float(np.median(waited)) / 1e6, sends["t_ns"][found.segment[mine[0]]]
        sizes = np.minimum(sends["len"][found.segment[mine]], sends["len"][found.following[mine]])
        short = int((sizes < largest[mine]).sum())
        cause = "Nagle's algorithm held a short segment" if 2 * short > len(mine) else "cwnd was one segment"
        return Description(
            f"the sender stalled {times(len(mine))} with one segment in flight until the receiver's delayed-ACK timer expired "
            f"({timer_ms:.0f} ms), first at {moment(start)}, because {cause}; {duration(float(cases.charged_s[i]))} were lost.",
            values={
                "waits_count": len(mine),
                "lone_segments_count": int(lone[i]),
                "wait_median_ms": timer_ms,
                "wait_max_ms": float(waited.max()) / 1e6,
                "short_segments_count": short,
            },
            evidence={"segments": [*sends["packet"][found.segment[mine]], *found.acks["packet"][mine]]},
            confidence=0.9 if len(mine) > 2 else 0.7,
        )

    first, last = (np.array([mine[n] for mine in waits], np.int64) for n in (0, -1))
    cost_s = np.array([float(found.waited_ns[mine].sum()) / 1e9 for mine in waits])
    cases = Cases(
        facts,
        CODE,
        found.key[first],
        sends["t_ns"][found.segment[first]],
        found.acks["t_ns"][last],
        cost_s,
        found.acks["packet"][first],
    )
    yield from cases.findings(describe, what="a Nagle/delayed-ACK stall")
