from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detectors._common import NULL, Array, Facts, Rows, groups, time
from wlanlens.finding import Finding, Undecided
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace

#: States in which a sender keeps the path full; in the others its own waits make the round-trip time.
_BUSY = ("transfer", "slow_start", "window_limited", "fast_recovery")


@detector("overbuffering", needs=("intervals", "segments", "flows"))
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
    Flows whose round-trip time grows with their flight far above its least: a standing queue at the bottleneck. The
    cost is the share of each round trip that was queueing, summed over the time that it stood: so much longer every
    answer, every recovery and every other flow in the queue waited. The bytes queued are that delay times the rate.

    Why it happens
    --------------
    A buffer holds more than the path needs (bandwidth times least round-trip time), and TCP fills any buffer before it
    slows down. The timeout grows with the round trip, so a loss at the end of such a flow costs seconds.

    How it decides
    --------------
    From the mean round-trip time of each busy interval against the flow's least. `min_delay_ms`: queueing of more than
    200 ms, the least retransmission timeout in use, at which a flow that starts in this queue times out needlessly and
    speech is past use. `min_share_percent`: of the flow's life, so that one burst does not count.
    `min_correlation_ratio`: of round-trip time and flight over the ACKs, so that the delay is the flow's own; 0.5 is far
    above chance for the dozens of samples there are. `max_samples`: of these, evenly spread, enough for three digits.

    What fools it
    -------------
    A long path has a long least round trip and stays silent. So does a queue that others fill, or ACKs that are held:
    the delay then does not follow the flight. A tap beside the receiver sees no queue: undecided.

    References
    ----------
    Gettys and Nichols, Bufferbloat, 2011; RFC 8289 (CoDel) section 3; the Seawind study of TCP over a slow link with
    unlimited buffers.
    """
    facts = Facts.of(trace)
    yield from facts.one_sided("overbuffering")
    spans = facts.rows(
        "intervals",
        ["t_start_ns", "t_end_ns", "first_packet", "last_packet", "rtt_ns", "rtt_min_ns", "acked_bytes"],
        where={"state": _BUSY},
    )
    senders = facts.data_keys(least_bytes=64 * 1024)
    blind = senders[facts.of_flow("tap", senders) == "near_receiver"]
    if len(blind):
        yield facts.undecided(
            "overbuffering",
            blind,
            "The tap is beside the receiver: the queue lies before it and does not show in its round trips.",
        )
    spans = spans.take((spans["rtt_ns"] != NULL) & ~np.isin(spans.key, blind))
    if not len(spans):
        return
    first, length = groups(spans.key)
    duration = spans["t_end_ns"] - spans["t_start_ns"]
    least = np.repeat(
        np.minimum.reduceat(np.where(spans["rtt_min_ns"] == NULL, 2**62, spans["rtt_min_ns"]), first), length
    )
    queued = spans["rtt_ns"] - least >= int(min_delay_ms * 1e6)
    spent = np.add.reduceat(np.where(queued, duration, 0), first)
    life = facts.life_s(spans.key[first])
    much = np.flatnonzero((spent > 0) & (spent >= min_share_percent / 100 * life * 1e9))
    if not len(much):
        return
    samples = facts.rows(
        "segments",
        ["t_ns", "packet", "rtt_ns", "flight_bytes", "rel_ack"],
        valid=("rtt_ns", "flight_bytes"),
        keys=spans.key[first[much]] ^ 1,
    )
    for n in much:
        part = np.arange(first[n], first[n] + length[n])
        part = part[queued[part]]
        key = int(spans.key[part[0]])
        r = _correlation(samples, key, max_samples)
        if r is not None and r >= min_correlation_ratio:
            yield _finding(
                facts,
                spans,
                key,
                part,
                duration,
                int(least[part[0]]),
                float(life[n]),
                r,
                samples,
                int(min_delay_ms * 1e6),
            )


def _of(samples: Rows, key: int) -> slice:
    a, b = np.searchsorted(samples.key, [key ^ 1, (key ^ 1) + 1])
    return slice(int(a), int(b))


def _correlation(samples: Rows, key: int, most: int) -> float | None:
    """Pearson's r of round-trip time and flight."""
    part = _of(samples, key)
    rtt, flight = samples["rtt_ns"][part].astype(np.float64), samples["flight_bytes"][part].astype(np.float64)
    step = max(1, len(rtt) // most)
    rtt, flight = rtt[::step], flight[::step]
    if len(rtt) < 8 or rtt.std() == 0 or flight.std() == 0:
        return None
    return float(np.corrcoef(rtt, flight)[0, 1])


def _finding(
    facts: Facts,
    spans: Rows,
    key: int,
    part: Array,
    duration: Array,
    least: int,
    life_s: float,
    r: float,
    samples: Rows,
    min_delay: int,
) -> Finding:
    weight = duration[part].astype(np.float64)
    rtt = spans["rtt_ns"][part].astype(np.float64)
    delay_s = float(np.average(rtt - least, weights=weight)) / 1e9
    spent_s = float(weight.sum()) / 1e9
    cost_s = float((weight * (rtt - least) / rtt).sum()) / 1e9
    bytes_per_s = float(spans["acked_bytes"][part].sum()) / spent_s
    mine = _of(samples, key)
    worst = mine.start + int(np.argmax(samples["rtt_ns"][mine]))
    # An interval is as long as its state lasts: when the queue stood, the samples say.
    seen = samples["t_ns"][mine]
    within = (seen >= spans["t_start_ns"][part].min()) & (seen <= spans["t_end_ns"][part].max())
    # A handshake's small packets are faster than data ever is.
    rtt_data, data = samples["rtt_ns"][mine], samples["rel_ack"][mine] > 1
    least_data = int(rtt_data[data].min()) if data.any() else least
    stood = seen[within & (rtt_data - least_data >= min_delay)]
    most_s = (int(samples["rtt_ns"][worst]) - least) / 1e9
    return facts.finding(
        "overbuffering",
        key,
        int(stood.min()) if len(stood) else int(spans["t_start_ns"][part].min()),
        int(stood.max()) if len(stood) else int(spans["t_end_ns"][part].max()),
        cost_s=cost_s,
        life_s=life_s,
        confidence=min(0.95, 0.5 + r / 2),
        values={
            "queueing_mean_ms": delay_s * 1e3,
            "queueing_max_ms": most_s * 1e3,
            "rtt_least_ms": least / 1e6,
            "queued_bytes": int(delay_s * bytes_per_s),
            "queued_max_bytes": int(most_s * bytes_per_s),
            "standing_s": spent_s,
            "rtt_flight_correlation_ratio": r,
        },
        evidence={"segments": [*spans["first_packet"][part], *spans["last_packet"][part], samples["packet"][worst]]},
        sentence=(
            f"{facts.subject(key)}: for {time(spent_s)} its own data stood in a queue of "
            f"{int(delay_s * bytes_per_s)} bytes, which made the round trip {time(delay_s)} longer on average and up "
            f"to {time(most_s)}; without it, it takes {time(least / 1e9)}."
        ),
    )
