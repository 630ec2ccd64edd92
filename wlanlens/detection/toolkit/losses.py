"""Lost copies of data: when each was sent and when it was retransmitted."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import key_groups
from wlanlens.tables.columns import NULL, Array


class Losses:
    """Lost copies of data that the tap captured, by key and time of sending.

    A copy was lost when the segment was retransmitted and that was not spurious.

    Attributes
    ----------
    key : array
    t_ns, retransmitted_ns : array
        When the lost copy was sent, and when TCP retransmitted the segment.
    rel_seq, end : array
        Its first byte and the byte after its last.
    copy : array
        Number of the retransmission: 1 where the lost copy was the first.
    packet : array
        Of the retransmission.
    episode : array
        Number of the loss episode: all losses sent before the first of them was retransmitted. Until then the sender has
        not reacted to any.
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
        self.key, self.t_ns, self.retransmitted_ns = rows.key, sent[order], rows["t_ns"]
        self.rel_seq, self.end = rows["rel_seq"], rows["rel_seq"] + rows["len"]
        self.copy, self.packet = rows["copy"], rows["packet"]
        self.episode = _episodes(self.key, self.t_ns, self.retransmitted_ns)

    def __len__(self) -> int:
        return len(self.key)

    def of(self, key: int) -> slice:
        """Positions of one key's losses."""
        a, b = np.searchsorted(self.key, [key, key + 1])
        return slice(int(a), int(b))


def _episodes(key: Array, t_ns: Array, retransmitted_ns: Array) -> Array:
    episode = np.zeros(len(key), np.int64)
    number, known_ns, last = -1, NULL, None
    for i, (k, t, again) in enumerate(zip(key.tolist(), t_ns.tolist(), retransmitted_ns.tolist(), strict=True)):
        if k != last or t >= known_ns:
            number, known_ns, last = number + 1, again, k
        episode[i] = number
    return episode


def first_of_episodes(losses: Losses, part: slice) -> Array:
    """Positions of the first loss of each episode in a part."""
    first, _ = key_groups(losses.episode[part])
    return np.asarray(first + part.start)


def sent_up_to(facts: Facts, keys: Array, end: Array) -> Array:
    """Up to which byte the sender had sent, where the tap saw all to `end`: what was lost after that, before the tap, is
    retransmitted in order."""
    lost = facts.rows(
        "segments",
        ["rel_seq", "len", "lost_before_tap"],
        where={"kind": ("data",), "transmission": ("retransmission",)},
        valid=("rel_seq",),
        keys=keys,
    )
    lost = lost.take(lost["lost_before_tap"] == 1).sorted_by("rel_seq", "len")
    at = lost.last_until("rel_seq", keys, end)
    adjacent = (at >= 0) & (lost["rel_seq"][at] == end) if len(lost) else np.zeros(len(keys), bool)
    if not adjacent.any():
        return end
    after = lost["rel_seq"] + lost["len"]
    breaks = np.flatnonzero(np.append((lost.key[1:] != lost.key[:-1]) | (lost["rel_seq"][1:] > after[:-1]), True))
    last = breaks[np.searchsorted(breaks, np.maximum(at, 0))]
    return np.where(adjacent, np.maximum(end, after[last]), end)
