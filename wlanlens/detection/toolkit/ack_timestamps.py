"""When each ACK was made: by the timestamp (RFC 7323) that its sender wrote into it."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import key_groups
from wlanlens.tables.columns import NULL, Array

#: Lengths of a timestamp tick that senders use, ns: 1 us to 500 ms. RFC 7323 section 5.4 requires 1 ms to 1 s.
TICKS_NS = np.array([10**3, 10**4, 10**5, 10**6, 4 * 10**6, 10**7, 10**8, 5 * 10**8], np.int64)

#: Time needed to measure a tick, ns: a path delay that varies by 50 ms then gives an error below the ratio of two
#: neighbouring lengths.
SETTLED_NS = 200_000_000

#: Kinds of segments without data that are sent as data arrives.
PURE_ACKS = ("ack", "dupack", "window_update")

#: Transmissions that a host sent; the others are one packet captured twice.
SENT = ("first", "retransmission", "reordered")


class AckTimestamps:
    """Pure ACKs with timestamps, by direction of the ACKs.

    Attributes
    ----------
    key : array
        Of the direction in which the ACKs travel; the data's key is `key ^ 1`.
    t, tsval, packet : array
        Arrival time, timestamp and packet number of each.
    tick : array
        Tick of each ACK's sender, ns; 0 where the capture is too short to measure it.
    """

    def __init__(self, facts: Facts) -> None:
        rows = facts.rows(
            "segments",
            ["t_ns", "tsval", "packet"],
            where={"kind": PURE_ACKS, "transmission": SENT},
            valid=("tsval", "t_ns"),
        )
        self.key, self.t, self._rows = rows.key, rows["t_ns"], rows

    @property
    def tsval(self) -> Array:
        return self._rows["tsval"]

    @property
    def packet(self) -> Array:
        return self._rows["packet"]

    @cached_property
    def tick(self) -> Array:
        return np.repeat(*self._ticks()) if len(self.key) else np.zeros(0, np.int64)

    def _ticks(self) -> tuple[Array, Array]:
        first, length = key_groups(self.key)
        # The median over four intervals that begin at the first ACK: one ACK held at the end of one does not matter.
        measured = np.full((4, len(first)), np.nan)
        for n in range(4):
            last = first + (length - 1) * (n + 1) // 4
            elapsed, ticks = self.t[last] - self.t[first], ticks_between(self.tsval[first], self.tsval[last])
            enough = (elapsed >= SETTLED_NS) & (ticks > 0)
            measured[n, enough] = elapsed[enough] / ticks[enough]
        measured.sort(axis=0)  # NaN goes to the end
        known = np.sum(~np.isnan(measured), axis=0)
        middle = measured[np.maximum(known - 1, 0) // 2, np.arange(len(first))]
        distance = np.abs(np.log(np.where(known > 0, middle, 1.0))[:, None] - np.log(TICKS_NS)[None, :])
        nearest = TICKS_NS[np.argmin(distance, axis=1)]
        near = (known > 0) & (distance.min(axis=1) < np.log(1.5))
        return np.where(near, nearest, 0), length

    def lateness_ns(self, i: Array, reference: Array) -> Array:
        """Delay of ACK `i` beyond that of ACK `reference`: their distance in arrival less their distance in timestamps."""
        made = ticks_between(self.tsval[reference], self.tsval[i]) * self.tick[i]
        return np.asarray(self.t[i] - self.t[reference] - made)

    def positions(self, keys: Array, packets: Array) -> Array:
        """Positions of ACKs by key and packet number; -1 where there is none."""
        if not len(self.key):
            return np.full(len(keys), -1)
        span = int(max(self.packet.max(), packets.max(initial=0))) + 1
        ranks = np.unique(self.key)
        mine = np.searchsorted(ranks, self.key) * span + self.packet
        rank = np.searchsorted(ranks, keys)
        wanted = rank * span + packets
        at = np.minimum(np.searchsorted(mine, wanted), len(mine) - 1)
        hit = (mine[at] == wanted) & (packets != NULL) & (ranks[np.minimum(rank, len(ranks) - 1)] == keys)
        return np.where(hit, at, -1)


def ticks_between(a: Array, b: Array) -> Array:
    """b - a modulo 2^32, signed (RFC 7323 section 5.2)."""
    return np.asarray(((b - a + 2**31) % 2**32) - 2**31)
