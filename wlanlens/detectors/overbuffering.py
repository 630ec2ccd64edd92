from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.finding import Finding, Undecided
from wlanlens.detection.toolkit.acks import Acks
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.round_trips import round_trip_samples
from wlanlens.detection.toolkit.rows import Rows, key_groups
from wlanlens.formatting import duration
from wlanlens.registry import detector
from wlanlens.tables.columns import NULL, Array

if TYPE_CHECKING:
    from wlanlens.trace import Trace

#: Of less data nothing is said: it is no more than a first window.
_LEAST_BYTES = 64 * 1024
#: AckTimestamps that it takes to know their tick.
_STAMPS = 8
#: Ticks of timestamps in use, ns, and how near to one the clocks' run must come.
_TICKS_NS, _TICK_SHARE = (1_000, 1_000_000, 4_000_000, 10_000_000, 100_000_000), 0.3


@detector("overbuffering", needs=("segments", "flows"))
def overbuffering(
    trace: Trace,
    *,
    min_delay_ms: float = 200.0,
    min_share_percent: float = 10.0,
    min_correlation_ratio: float = 0.5,
    max_samples: int = 20_000,
) -> Iterator[Finding | Undecided]:
    """The flow's own data stood in an over-large queue and lengthened the round trip.

    What it finds
    -------------
    Flows whose round-trip time grows with their flight far above its least: a standing queue at the bottleneck. It is
    found from the first ACK of data that had stood so long to the last one: when the queue itself grew and drained shows
    at no tap. The cost is the share of each round trip that was queueing, summed over the time that it stood: so much
    longer every answer, every recovery and every other flow in the queue waited. The bytes queued are that delay times
    the rate.

    Why it happens
    --------------
    A buffer holds more than the path needs (bandwidth times least round-trip time), and TCP fills any buffer before it
    slows down. The timeout grows with the round trip, so a loss at the end of such a flow costs seconds.

    How it decides
    --------------
    From the round trips that ACKs sample of data (Karn's rule, or the echoed timestamp) against the least of these. Each
    stands for the time since the sample before it, but no longer than itself: a sender that was silent queued nothing.
    `min_delay_ms`: queueing of more than 200 ms, the least retransmission timeout in use, at which a flow that starts in
    this queue times out spuriously and speech is past use. `min_share_percent`: of the flow's life, so that one burst
    does not count. `min_correlation_ratio`: of round-trip time and the flow's bytes under way when the segment was sent,
    so that the delay is its own; 0.5 is far above chance for the dozens of samples there are. `max_samples`: of these,
    evenly spread, enough for three digits.

    What fools it
    -------------
    A long path has a long least round trip and stays silent. So does a queue that others fill, or ACKs that are held:
    the delay then does not follow the flight. A tap beside the receiver sees no queue: undecided; and so is a delay that
    the receiver's timestamps show on the ACKs' way back. Without timestamps both ways look alike.

    References
    ----------
    Gettys and Nichols, Bufferbloat, 2011; RFC 8289 (CoDel) section 3; the Seawind study of TCP over a slow link with
    unlimited buffers.
    """
    facts = Facts.of(trace)
    yield from facts.undecided_without_acks("overbuffering")
    senders = facts.complete_data_keys(min_bytes=_LEAST_BYTES)
    blind = senders[facts.flow_values("tap", senders) == "near_receiver"]
    if len(blind):
        yield facts.undecided(
            "overbuffering",
            blind,
            "The tap is beside the receiver: the queue lies before it and does not show in its round trips.",
        )
    samples = facts.cached(round_trip_samples)
    # A window of a long capture lacks the flows' rows: the ACKs tell how much was sent, and which tap it is stays open.
    first, length = key_groups(samples.key)
    if not len(first):
        return
    acked = np.maximum.reduceat(samples["rel_ack"], first) - np.minimum.reduceat(samples["rel_ack"], first)
    much = np.repeat(acked >= _LEAST_BYTES, length)
    samples = samples.take((much | np.isin(samples.key, senders)) & ~np.isin(samples.key, blind))
    if not len(samples):
        return
    first, length = key_groups(samples.key)
    rtt = samples["rtt_ns"]
    delay = rtt - np.repeat(np.minimum.reduceat(rtt, first), length)
    queued = delay >= int(min_delay_ms * 1e6)
    stood = np.where(queued, _standing(samples, first), 0)
    spent = np.add.reduceat(stood, first)
    life = facts.lifetime_s(samples.key[first])
    # Of the flow's own bytes under way when the segment was sent, itself included: those that it queued behind.
    ahead = samples["rel_ack"] - Acks(facts).highest_until(samples.key, samples["t_ns"] - rtt)
    elsewhere = []
    for n in np.flatnonzero((spent > 0) & (spent >= min_share_percent / 100 * life * 1e9)).tolist():
        mine = np.arange(first[n], first[n] + length[n])
        r = _correlation(rtt[mine], ahead[mine], max_samples)
        if r is None or r < min_correlation_ratio:
            continue
        if _back(samples, mine, queued[mine], delay[mine]):
            elsewhere.append(int(samples.key[first[n]]))
            continue
        yield _finding(facts, samples, mine, queued[mine], delay[mine], stood[mine], float(life[n]), r)
    if elsewhere:
        yield facts.undecided(
            "overbuffering",
            np.array(elsewhere),
            "By the receiver's timestamps the delay arose on the ACKs' way back, in a queue that data of others may fill.",
        )


def _standing(samples: Rows, first: Array) -> Array:
    """Time that each sample stands for, ns: since the one before, but no longer than the round trip itself."""
    since = np.diff(samples["t_ns"], prepend=samples["t_ns"][:1])
    since[first] = samples["rtt_ns"][first]
    return np.clip(since, 0, samples["rtt_ns"])


def _back(samples: Rows, mine: Array, queued: Array, delay: Array) -> bool:
    """Whether more than half of the delay arose behind the receiver: its stamps tell when ACKs left it."""
    t, stamp = samples["t_ns"][mine], samples["tsval"][mine]
    known = stamp != NULL
    if known.sum() < _STAMPS or not (known & queued).any():
        return False
    t, stamp, queued, delay = t[known], stamp[known], queued[known], delay[known]
    ticks = ((stamp - stamp[0] + 2**31) % 2**32) - 2**31
    if ticks[-1] <= 0:
        return False
    # The tick from the clocks' whole run; a queue at one end of it changes it by a part of the delay only.
    tick = (t[-1] - t[0]) / ticks[-1]
    nearest = min(_TICKS_NS, key=lambda known_tick: abs(np.log(tick / known_tick)))
    if abs(tick / nearest - 1) > _TICK_SHARE:
        return False
    late = t - t[0] - ticks * nearest
    late = late - late.min()
    return bool(np.median(late[queued]) > np.median(delay[queued]) / 2)


def _correlation(rtt: Array, flight: Array, most_samples: int) -> float | None:
    """Pearson's r of round-trip time and flight."""
    step = max(1, len(rtt) // most_samples)
    rtt, flight = rtt[::step].astype(np.float64), flight[::step].astype(np.float64)
    if len(rtt) < 8 or rtt.std() == 0 or flight.std() == 0:
        return None
    return float(np.corrcoef(rtt, flight)[0, 1])


def _finding(
    facts: Facts, samples: Rows, mine: Array, queued: Array, delay: Array, stood: Array, life_s: float, r: float
) -> Finding:
    key = int(samples.key[mine[0]])
    t, rtt, packet = samples["t_ns"][mine], samples["rtt_ns"][mine], samples["packet"][mine]
    weight = stood[queued].astype(np.float64)
    spent_s = float(weight.sum()) / 1e9
    delay_s = float(np.average(delay[queued], weights=weight)) / 1e9
    cost_s = float((weight * delay[queued] / rtt[queued]).sum()) / 1e9
    acked = np.diff(samples["rel_ack"][mine], prepend=1)
    bytes_per_s = float(acked[queued].sum()) / spent_s
    worst = int(np.argmax(delay))
    most_s = float(delay[worst]) / 1e9
    least_s = float(rtt.min()) / 1e9
    return facts.finding(
        "overbuffering",
        key,
        int(t[queued][0]),
        int(t[queued][-1]),
        cost_s=cost_s,
        lifetime_s=life_s,
        confidence=min(0.95, 0.5 + r / 2),
        values={
            "queueing_mean_ms": delay_s * 1e3,
            "queueing_max_ms": most_s * 1e3,
            "rtt_least_ms": least_s * 1e3,
            "queued_bytes": int(delay_s * bytes_per_s),
            "queued_max_bytes": int(most_s * bytes_per_s),
            "standing_s": spent_s,
            "rtt_flight_correlation_ratio": r,
        },
        evidence={"segments": [packet[queued][0], packet[queued][-1], packet[worst]]},
        sentence=(
            f"{facts.subject(key)}: for {duration(spent_s)} its own data stood in a queue of "
            f"{int(delay_s * bytes_per_s)} bytes, which made the round trip {duration(delay_s)} longer on average and up "
            f"to {duration(most_s)}; without it, it takes {duration(least_s)}."
        ),
    )
