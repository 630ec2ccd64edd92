from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.remedy import Remedy
from wlanlens.detection.toolkit import (
    ON_THE_PATH,
    Acks,
    Array,
    Cases,
    Description,
    Facts,
    Finding,
    Rows,
    Undecided,
    duration,
    empty_path_ns,
    is_on_ack_path,
    key_groups,
    moment,
    round_trip_samples,
    time_since_sample_ns,
)
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace

CODE = "overbuffering"


def _phrase(finding: Finding) -> str:
    return f"the path was full: its own data had a queueing delay of {duration(float(finding.values['queueing_mean_ms']) / 1e3)} on average"


@detector(
    CODE,
    needs=("segments", "flows"),
    phrase=_phrase,
    category="queue",
    explains=(*ON_THE_PATH, "fast_recovery", "loss_recovery"),
    remedy=Remedy(
        "Device with the queue (usually access point or modem): active queue management (fq_codel, CAKE) or a "
        "limit of some tens of milliseconds. If it cannot be changed: shape the traffic to 90 % of the "
        "bottleneck's rate before it. Sender: BBR, or a smaller receive window, keeps the queue short.",
        "capture again: round trips stay near their minimum.",
    ),
)
def overbuffering(
    trace: Trace,
    *,
    min_delay_ms: float = 200.0,
    min_share_percent: float = 10.0,
    min_correlation_ratio: float = 0.4,
    min_samples_count: int = 8,
    max_samples: int = 20_000,
    min_flow_bytes: int = 64 * 1024,
    min_timestamps_count: int = 8,
    tick_error_share: float = 0.3,
    max_silence_share: float = 0.75,
    max_ack_delay_ms: float = 500.0,
) -> Iterator[Finding | Undecided]:
    """The flow filled an oversized buffer, and its queueing delay lengthened the round trip.

    What it finds
    -------------
    Flows whose round-trip time grows with their flight far above its minimum: queueing delay at the bottleneck. A finding lasts
    from the first to the last ACK of data delayed so long; no tap shows when the queue itself grew and drained. The
    cost is the share of each round trip that was queueing delay, summed over that time: all
    that was in the queue waited that much longer. The bytes queued are that delay times the rate.

    Why it happens
    --------------
    A buffer holds more than the path needs (bandwidth times minimum round trip), and TCP fills any buffer before it
    slows down. The timeout grows with the round trip, so a loss at the end of such a flow costs seconds.

    How it decides
    --------------
    From the round trips of data that ACKs sample (Karn's rule, or the echoed timestamp), compared with the shortest one between
    the two hosts; no longer than the handshake and the time in which the path carries a segment, for the first data may queue
    already. A sample counts for the time since the sample before it, at most for its own length: a silent sender queues nothing.
    `min_delay_ms`: queueing delay above 200 ms, the shortest retransmission timeout in use: a flow that starts in this
    queue times out spuriously, and speech is unusable.
    `min_share_percent`: of the lifetime: one burst does not count.
    `min_correlation_ratio`: of round-trip time and bytes in flight when the segment was sent, so that the
    delay is its own; 0.4 is far above chance for dozens of samples, though retries and the ACKs' path blur it.
    `min_samples_count`: with fewer, such a correlation is no surprise.
    `max_samples`: for the correlation, enough for three digits.
    `min_flow_bytes`: less is no more than a first window.
    `max_silence_share`, `max_ack_delay_ms`: a queue delivers what is ahead meanwhile. An ACK after a longer silence was kept by a
    receiver's timer, which is no longer (RFC 1122 section 4.2.3.2).
    `min_timestamps_count`, `tick_error_share`: the receiver's timestamps show on which direction the delay arose where there are
    this many and one tick in use fits: by it no ACK is on its path for longer than the round trip was above its least, but for
    this share of the usual delay.

    What fools it
    -------------
    A long path has a long minimum round trip; with others' queue, or held ACKs, the delay does not follow the flight: no
    finding. A tap at the receiver sees no queue: undecided. So is a delay that the receiver's timestamps show on the ACKs'
    path; without them the two directions look alike.

    References
    ----------
    Gettys and Nichols, Bufferbloat, 2011; RFC 8289 (CoDel) section 3; the Seawind study of TCP over a slow link with
    unlimited buffers.
    """
    facts = Facts.of(trace)
    yield from facts.undecided_without_acks(CODE)
    large = facts.complete_data_keys(min_flow_bytes)
    at_receiver = large[facts.flow_values("tap", large) == "near_receiver"]
    if len(at_receiver):
        yield facts.undecided(
            CODE,
            at_receiver,
            "The tap is at the receiver: the queue is before it, and no part of round trips there.",
        )
    # No queueing delay is longer than its round trip.
    if facts.largest("segments", "rtt_ns") < min_delay_ms * 1e6:
        return
    samples = facts.cached(round_trip_samples)
    # A window of a long capture has no rows of its flows: ACKs show how much was sent.
    first, length = key_groups(samples.key)
    if not len(first):
        return
    acked = np.maximum.reduceat(samples["rel_ack"], first) - np.minimum.reduceat(samples["rel_ack"], first)
    keys = samples.key[first]
    chosen = ((acked >= min_flow_bytes) | np.isin(keys, large)) & ~np.isin(keys, at_receiver)
    if not chosen.any():
        return
    samples = samples.take(np.repeat(chosen, length))
    first, length = key_groups(samples.key)
    rtt = samples["rtt_ns"]
    delay = rtt - empty_path_ns(facts, samples, first, length)
    since = time_since_sample_ns(samples, first)
    silent = facts.cached(Acks).silence_before_ns(samples.key, samples["t_ns"])
    delayed = (silent > max_silence_share * delay) & (silent <= max_ack_delay_ms * 1e6)
    queued = (delay >= int(min_delay_ms * 1e6)) & ~delayed & _beside(delay >= int(min_delay_ms * 0.5e6), samples.key)
    counted_ns = np.where(queued, np.clip(since, 0, rtt), 0)
    spent = np.add.reduceat(counted_ns, first)
    lifetime_s = facts.lifetime_s(samples.key[first])
    found: list[_Case] = []
    on_ack_path: list[_Case] = []
    for n in np.flatnonzero((spent > 0) & (spent >= min_share_percent / 100 * lifetime_s * 1e9)).tolist():
        part = np.arange(first[n], first[n] + length[n])
        mine = samples.take(part)
        # The flow's bytes in flight when the segment was sent, the segment included.
        flight = mine["rel_ack"] - facts.cached(Acks).highest_until(mine.key, mine["t_ns"] - mine["rtt_ns"])
        r = _correlation(rtt[part], flight, min_samples_count, max_samples)
        if r is None or r < min_correlation_ratio:
            continue
        if is_on_ack_path(mine, queued[part], delay[part], min_timestamps_count, tick_error_share):
            on_ack_path.append(_case(mine, queued[part], delay[part], counted_ns[part], r))
        else:
            found.append(_case(mine, queued[part], delay[part], counted_ns[part], r))
    yield from _findings(facts, found)
    if on_ack_path:
        yield facts.undecided(
            CODE,
            np.array([case.key for case in on_ack_path]),
            "By the receiver's timestamps the queueing delay was on the ACKs' path, in a queue that other data may fill.",
            t_start_ns=np.array([case.t_start_ns for case in on_ack_path]),
            t_end_ns=np.array([case.t_end_ns for case in on_ack_path]),
        )


def _beside(mask: Array, key: Array) -> Array:
    """Whether the row before or after each, of its key, is in the mask."""
    same = key[1:] == key[:-1]
    return np.asarray(np.append(False, mask[:-1] & same) | np.append(mask[1:] & same, False))


def _correlation(rtt: Array, flight: Array, min_samples: int, max_samples: int) -> float | None:
    """Pearson's r of round-trip time and flight."""
    step = max(1, len(rtt) // max_samples)
    rtt, flight = rtt[::step].astype(np.float64), flight[::step].astype(np.float64)
    if len(rtt) < min_samples or rtt.std() == 0 or flight.std() == 0:
        return None
    return float(np.corrcoef(rtt, flight)[0, 1])


@dataclass
class _Case:
    """The queueing delay of one direction; `lost_from_ns`: begin of its first round trip."""

    key: int
    t_start_ns: int
    t_end_ns: int
    lost_from_ns: int
    packets: list[int]
    min_s: float
    mean_s: float
    max_s: float
    spent_s: float
    cost_s: float
    bytes_per_s: float
    correlation: float


def _case(samples: Rows, queued: Array, delay: Array, counted_ns: Array, r: float) -> _Case:
    t, rtt, packet = samples["t_ns"], samples["rtt_ns"], samples["packet"]
    weight, worst = counted_ns[queued].astype(np.float64), int(np.argmax(delay))
    spent_s = float(weight.sum()) / 1e9
    return _Case(
        key=int(samples.key[0]),
        t_start_ns=int(t[queued][0]),
        lost_from_ns=int(t[queued][0] - counted_ns[queued][0]),
        t_end_ns=int(t[queued][-1]),
        packets=[int(packet[queued][0]), int(packet[queued][-1]), int(packet[worst])],
        min_s=float(rtt[0] - delay[0]) / 1e9,
        mean_s=float(np.average(delay[queued], weights=weight)) / 1e9,
        max_s=float(delay[worst]) / 1e9,
        spent_s=spent_s,
        cost_s=float((weight * delay[queued] / rtt[queued]).sum()) / 1e9,
        bytes_per_s=float(np.diff(samples["rel_ack"], prepend=1)[queued].sum()) / spent_s,
        correlation=r,
    )


def _findings(facts: Facts, found: list[_Case]) -> Iterator[Finding]:
    def describe(i: int) -> Description:
        case = found[i]
        queued_bytes = int(case.mean_s * case.bytes_per_s)
        return Description(
            f"from {moment(case.t_start_ns)} on, the flow's own data had a queueing delay of {duration(case.mean_s)} on average "
            f"and up to {duration(case.max_s)}, for {duration(case.spent_s)} in total ({queued_bytes} bytes queued); the round "
            f"trip without it is {duration(case.min_s)}.",
            values={
                "queueing_mean_ms": case.mean_s * 1e3,
                "queueing_max_ms": case.max_s * 1e3,
                "rtt_min_ms": case.min_s * 1e3,
                "queued_bytes": queued_bytes,
                "queued_max_bytes": int(case.max_s * case.bytes_per_s),
                "queueing_s": case.spent_s,
                "rtt_flight_correlation_ratio": case.correlation,
            },
            evidence={"segments": case.packets},
            confidence=min(0.95, 0.5 + case.correlation / 2),
        )

    rows = [(case.key, case.t_start_ns, case.t_end_ns, case.packets[0], case.lost_from_ns) for case in found]
    key, start, end, packet, since = np.array(rows, np.int64).reshape(-1, 5).T
    cost_s = np.array([case.cost_s for case in found], np.float64)
    cases = Cases(facts, CODE, key, start, end, cost_s, packet, lost_from_ns=since)
    yield from cases.findings(describe, what="a queueing delay of the flow's own data")
