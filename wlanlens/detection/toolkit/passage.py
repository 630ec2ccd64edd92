"""The journeys of packets between captures, by direction of a connection: where each passed, and where it was lost."""

from __future__ import annotations

import numpy as np

from wlanlens import tables
from wlanlens.alignment.path_order import PathOrder
from wlanlens.detection.toolkit.common import NULL, Array, Facts, vector


class Passage:
    """TCP packets of the table `links`, in order of key and of their first capture.

    Attributes
    ----------
    key : array
        Of their direction, as `Facts` numbers it.
    payload : array
        Bytes.
    t : dict of array
        By point (sender, usb, air, ap, receiver): when they passed it; NULL where they were not seen.
    number : dict of array
        By point: their packet number there.
    fate, lost : array of str
        As in `links`; "" for null.
    air_last : array
        When the last attempt on the air came.
    ack, flags : array
        The acknowledgment number as on the wire, and the flag bits; NULL for none.
    """

    def __init__(self, facts: Facts) -> None:
        table = facts.trace.table("links")
        flow, back = vector(table.column("flow")), vector(table.column("direction")) == "b2a"
        known = facts.keys("flows")
        code = np.where(flow == NULL, -1, (flow << 1) + back)
        # A connection's facts are those of one capture, which is part of its key.
        mine = known & ((1 << 34) - 1)
        order = np.argsort(mine, kind="stable")
        at = np.minimum(np.searchsorted(mine[order], code), max(0, len(order) - 1))
        told = (mine[order][at] == code) if len(order) else np.zeros(len(code), bool)
        rows = np.flatnonzero(told)
        key = known[order][at[rows]]
        rows = rows[np.argsort(key, kind="stable")]
        self.key: Array = np.sort(key)

        def taken(name: str) -> Array:
            return np.asarray(vector(table.column(name))[rows])

        self.payload = taken("payload_bytes")
        self.t = {point: taken(f"{point}_t_ns") for point in tables.POINTS}
        self.number = {point: taken(f"{point}_packet") for point in tables.POINTS}
        self.fate, self.lost = (np.array([word or "" for word in taken(name)], object) for name in ("arrival", "loss_location"))
        self.air_last = np.where((last := taken("air_last_ns")) == NULL, self.t["air"], last)
        self.ack, self.flags = taken("tcp_ack"), taken("tcp_flags")
        self._points = {capture.name: capture.point for capture in facts.trace.captures}
        self._facts = facts

    def of(self, key: int) -> Array:
        """Positions of one key's packets."""
        a, b = np.searchsorted(self.key, [key, key + 1])
        return np.arange(int(a), int(b))

    def first_ns(self, rows: Array) -> Array:
        """When some packets were seen first."""
        times = np.stack([self.t[point][rows] for point in tables.POINTS])
        return np.asarray(np.where(times == NULL, np.iinfo(np.int64).max, times).min(axis=0))

    def point(self, key: int) -> str:
        """Where the capture stands that tells of a key; "" where `links` has no column for it."""
        found = self._points.get(self._facts.capture(key), "")
        return found if found in tables.POINTS else ""

    def at(self, key: int, point: str, numbers: Array) -> Array:
        """Positions of a key's packets by their numbers at a point; -1 where `links` has none."""
        rows = self.of(key)
        order = rows[np.argsort(self.number[point][rows], kind="stable")]
        found = np.minimum(np.searchsorted(self.number[point][order], numbers), max(0, len(order) - 1))
        return (
            np.where(self.number[point][order[found]] == numbers, order[found], -1) if len(order) else numbers * 0 - 1
        )

    def way(self, key: int) -> list[str]:
        """The points that saw packets of a direction, in the order in which these pass them: two by two, by what both saw;
        hosts are the ends, whatever the clocks say."""
        rows = self.of(key)
        times = {name: t[rows] for name, t in self.t.items() if (t[rows] != NULL).any()}

        def earlier(name: str) -> int:
            both = {other: (times[other] != NULL) & (times[name] != NULL) for other in times if other != name}
            return sum(np.median((times[name] - times[other])[seen]) > 0 for other, seen in both.items() if seen.any())

        return PathOrder.hosts_outside(sorted(times, key=earlier))

    def begins(self, key: int, point: str) -> bool:
        """Whether a direction's packets pass this point first."""
        return self.way(key)[:1] == [point]

    def has(self, point: str) -> bool:
        """Whether a capture stands at this point."""
        return point in self._points.values()


def downlinks(facts: Facts) -> Array:
    """Keys of the directions that come to the air from an access point: most of their frames have From DS alone."""
    frames, passage = facts.trace.table("frames"), facts.keep(Passage)
    sniffers = [capture.name for capture in facts.trace.captures if capture.point == "air"]
    mine = np.isin(vector(frames.column("capture")).astype(str), sniffers)
    number = vector(frames.column("packet"))[mine]
    down = (vector(frames.column("from_ds"))[mine] == 1) & (vector(frames.column("to_ds"))[mine] == 0)
    order = np.argsort(number, kind="stable")
    number, down = number[order], down[order]
    seen = np.flatnonzero(passage.number["air"] != NULL)
    if not len(number) or not len(seen):
        return np.zeros(0, np.int64)
    at = np.minimum(np.searchsorted(number, passage.number["air"][seen]), len(number) - 1)
    hit = number[at] == passage.number["air"][seen]
    keys, place = np.unique(passage.key[seen[hit]], return_inverse=True)
    share = (
        np.bincount(place, down[at[hit]], len(keys)) / np.bincount(place, minlength=len(keys)) if len(keys) else keys
    )
    return np.asarray(keys[share > 0.5])
