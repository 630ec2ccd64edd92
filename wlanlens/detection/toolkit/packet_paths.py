"""Packets along their path: when each passed which capture point and where it was lost, by direction of a connection."""

from __future__ import annotations

import numpy as np

from wlanlens import tables
from wlanlens.alignment.path_order import PathOrder
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import key_order
from wlanlens.tables.columns import NULL, Array, enum_mask, texts, vector


class PacketPaths:
    """TCP packets of the table `links`, ordered by key and then as in `links`.

    Attributes
    ----------
    key : array
        Their direction, a key of `Facts`.
    payload : array
        Payload bytes.
    t : dict of array
        By capture point (sender, usb, air, ap, receiver): when they passed it; `NULL` where they were not captured.
    number : dict of array
        By capture point: their packet number there.
    arrival, loss_location : array of str
        As in `links`; "" for null.
    air_last : array
        Time of the last transmission on the air.
    ack, flags : array
        TCP's acknowledgment number and flag bits; `NULL` for none.
    """

    def __init__(self, facts: Facts) -> None:
        table = facts.trace.table("links")
        flow, back = vector(table.column("flow")), enum_mask(table.column("direction"), ("b2a",))
        known = facts.table_keys("flows")
        code = np.where(flow == NULL, -1, (flow << 1) + back)
        # `links` has no capture: a connection is in `flows` of one capture, and that is part of the key.
        bare = known & ((1 << 34) - 1)
        order = np.argsort(bare, kind="stable")
        at = np.minimum(np.searchsorted(bare[order], code), max(0, len(order) - 1))
        hit = (bare[order][at] == code) if len(order) else np.zeros(len(code), bool)
        rows = np.flatnonzero(hit)
        key = known[order][at[rows]]
        ordered = key_order(key)
        if ordered is not None:
            rows, key = rows[ordered], key[ordered]
        self.key: Array = key

        def column(name: str) -> Array:
            values = table.column(name)
            # Most capture points have no capture.
            return np.full(len(rows), NULL) if values.null_count == len(values) else vector(values)[rows]

        self.payload = column("payload_bytes")
        self.t = {point: column(f"{point}_t_ns") for point in tables.POINTS}
        self.number = {point: column(f"{point}_packet") for point in tables.POINTS}
        self.arrival, self.loss_location = (texts(table.column(name))[rows] for name in ("arrival", "loss_location"))
        self.air_last = np.where((last := column("air_last_ns")) == NULL, self.t["air"], last)
        self.ack, self.flags = column("tcp_ack"), column("tcp_flags")
        self._points = {capture.name: capture.point for capture in facts.trace.captures}
        self._facts = facts

    def of(self, key: int) -> Array:
        """Positions of one key's packets."""
        a, b = np.searchsorted(self.key, [key, key + 1])
        return np.arange(int(a), int(b))

    def first_ns(self, rows: Array) -> Array:
        """When packets were captured first."""
        times = np.stack([self.t[point][rows] for point in tables.POINTS])
        return np.asarray(np.where(times == NULL, np.iinfo(np.int64).max, times).min(axis=0))

    def point(self, key: int) -> str:
        """The capture point of a key's capture; "" where `links` has no column for it."""
        found = self._points.get(self._facts.capture(key), "")
        return found if found in tables.POINTS else ""

    def at(self, key: int, point: str, numbers: Array) -> Array:
        """Positions of a key's packets by their packet numbers at a capture point; -1 where `links` has none."""
        rows = self.of(key)
        order = rows[np.argsort(self.number[point][rows], kind="stable")]
        found = np.minimum(np.searchsorted(self.number[point][order], numbers), max(0, len(order) - 1))
        return (
            np.where(self.number[point][order[found]] == numbers, order[found], -1) if len(order) else numbers * 0 - 1
        )

    def path(self, key: int) -> list[str]:
        """The capture points of a direction in path order.

        The median delay of the packets that two points both captured orders them; hosts are the ends, whatever the clocks say.
        """
        rows = self.of(key)
        times = {name: t[rows] for name, t in self.t.items() if (t[rows] != NULL).any()}

        def earlier(name: str) -> int:
            both = {other: (times[other] != NULL) & (times[name] != NULL) for other in times if other != name}
            return sum(np.median((times[name] - times[other])[seen]) > 0 for other, seen in both.items() if seen.any())

        return PathOrder.hosts_outside(sorted(times, key=earlier))

    def starts_at(self, key: int, point: str) -> bool:
        """Whether this capture point is the first on a direction's path."""
        return self.path(key)[:1] == [point]

    def has_point(self, point: str) -> bool:
        """Whether there is a capture at this point."""
        return point in self._points.values()


def downlink_keys(facts: Facts) -> Array:
    """Keys of directions that an access point sends to a station: most of their frames have From DS set and To DS clear."""
    frames, paths = facts.trace.table("frames"), facts.cached(PacketPaths)
    sniffers = [capture.name for capture in facts.trace.captures if capture.point == "air"]
    mine = np.isin(vector(frames.column("capture")).astype(str), sniffers)
    number = vector(frames.column("packet"))[mine]
    down = (vector(frames.column("from_ds"))[mine] == 1) & (vector(frames.column("to_ds"))[mine] == 0)
    order = np.argsort(number, kind="stable")
    number, down = number[order], down[order]
    seen = np.flatnonzero(paths.number["air"] != NULL)
    if not len(number) or not len(seen):
        return np.zeros(0, np.int64)
    at = np.minimum(np.searchsorted(number, paths.number["air"][seen]), len(number) - 1)
    hit = number[at] == paths.number["air"][seen]
    keys, place = np.unique(paths.key[seen[hit]], return_inverse=True)
    share = (
        np.bincount(place, down[at[hit]], len(keys)) / np.bincount(place, minlength=len(keys)) if len(keys) else keys
    )
    return np.asarray(keys[share > 0.5])
