"""Segments that were lost: when the lost copy was sent and when it was sent again."""

from __future__ import annotations

import math

import numpy as np

from wlanlens.detection.toolkit.common import NULL, Array, Facts, groups


class Losses:
    """Lost copies of data that passed the tap, by key and time of sending.

    A copy is lost when the segment had to be sent again and that was needed (`spurious` false).

    Attributes
    ----------
    key : array
    t_ns, again_ns : array
        When the lost copy was sent, and when TCP sent the segment again.
    rel_seq, end : array
        Its bytes.
    copy : array
        Number of the resend: 1 where the lost copy was the first.
    packet : array
        Of the resend.
    event : array
        Losses of one event have one number: all that were sent before the event's first loss was sent again. A sender
        that does not know of a loss yet cannot have answered it.
    """

    def __init__(self, facts: Facts) -> None:
        rows = facts.rows(
            "segments",
            ["packet", "t_ns", "rel_seq", "len", "copy", "since_previous_ns", "spurious"],
            where={"transmission": ("retransmission",)},
            valid=("t_ns", "rel_seq", "since_previous_ns"),
        )
        rows = rows.take((rows["spurious"] == 0) & (rows["rel_seq"] > 0) & (rows["len"] > 0))
        sent = rows["t_ns"] - rows["since_previous_ns"]
        rows = rows.take(order := np.lexsort((rows["rel_seq"], sent, rows.key)))
        self.key, self.t_ns, self.again_ns = rows.key, sent[order], rows["t_ns"]
        self.rel_seq, self.end = rows["rel_seq"], rows["rel_seq"] + rows["len"]
        self.copy, self.packet = rows["copy"], rows["packet"]
        self.event = _events(self.key, self.t_ns, self.again_ns)

    def __len__(self) -> int:
        return len(self.key)

    def of(self, key: int) -> slice:
        """Positions of one key's losses."""
        a, b = np.searchsorted(self.key, [key, key + 1])
        return slice(int(a), int(b))


def _events(key: Array, t_ns: Array, again_ns: Array) -> Array:
    event = np.zeros(len(key), np.int64)
    number, known_ns, last = -1, NULL, None
    for i, (k, t, again) in enumerate(zip(key.tolist(), t_ns.tolist(), again_ns.tolist(), strict=True)):
        if k != last or t >= known_ns:
            number, known_ns, last = number + 1, again, k
        event[i] = number
    return event


def first_of_events(losses: Losses, part: slice) -> Array:
    """Positions of the first loss of each event in a part."""
    first, _ = groups(losses.event[part])
    return np.asarray(first + part.start)


def binomial_tail(least: int, trials: int, chance: float) -> float:
    """Probability of at least so many successes in independent trials."""
    if least <= 0 or chance >= 1.0:
        return 1.0
    if least > trials or chance <= 0.0:
        return 0.0
    k = np.arange(least, trials + 1)
    ways = math.lgamma(trials + 1) - np.array([math.lgamma(i + 1) + math.lgamma(trials - i + 1) for i in k.tolist()])
    with np.errstate(under="ignore"):
        return min(1.0, float(np.exp(ways + k * math.log(chance) + (trials - k) * math.log1p(-chance)).sum()))
