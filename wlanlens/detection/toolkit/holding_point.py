"""Who kept packets that came late: by the captures between which they took longer than others do."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from wlanlens.detection.toolkit.common import NULL, Facts, at, time
from wlanlens.detection.toolkit.passage import Passage, downlinks


@dataclass(frozen=True)
class Keeper:
    """Who kept a packet.

    Attributes
    ----------
    name : str
        adapter, driver, adapter_or_driver (of the host that got it), air (between two attempts), queue (before the air), or
        way (between the hosts).
    says : str
        The same in words, and how it shows.
    """

    name: str
    says: str


class Keepers:
    """Delays between the points that packets of a direction pass, and who kept those that took longer."""

    def __init__(self, facts: Facts) -> None:
        self._facts, self._passage = facts, facts.keep(Passage)
        self._down = set(downlinks(facts).tolist()) if facts.trace.has("frames") else set()

    def of(self, key: int, number: int, before: int, held_ns: int) -> Keeper | None:
        """Who kept a packet of a direction for so much longer than the one `before`, by their numbers in the host's capture;
        None where nothing tells."""
        passage = self._passage
        point = passage.point(key)
        row, reference = passage.at(key, point, np.array([number, before])).tolist() if point else (-1, -1)
        if min(row, reference) < 0 or passage.begins(key, point):
            return None
        stops = [p for p in passage.way(key) if NULL not in (passage.t[p][row], passage.t[p][reference])]
        stretches = list(itertools.pairwise(stops)) + [("air", "air")] * ("air" in stops)
        longer = [self._took(row, point, *s) - self._took(reference, point, *s) for s in stretches]
        # Half of it or more: then no other stretch kept it for longer.
        if longer and 2 * max(longer) >= held_ns:
            here, there = stretches[longer.index(max(longer))]
            return self._named(key, here, there, row, max(longer))
        # It came to the first capture that saw it as late as that.
        return self._before(key, row) if stops[:1] == ["air"] else None

    def _took(self, row: int, host: str, here: str, there: str) -> int:
        """ns from one point to another; from the air since the attempt that arrived; from air to air from the first to that."""
        t = {point: int(times[row]) for point, times in self._passage.t.items()}
        # One that came after the packet had arrived was made because its acknowledgment was lost.
        last = int(self._passage.air_last[row])
        heard = last if last <= t[host] else t["air"]
        if here == there:
            return heard - t["air"]
        return t[there] - (heard if here == "air" else t[here])

    def _before(self, key: int, row: int) -> Keeper:
        whose = "of the access point or of the receiver" if key in self._down else "of the receiver's side"
        return Keeper(
            "queue",
            f"before the air, in a queue {whose}: it came to the air only at {at(int(self._passage.t['air'][row]))}",
        )

    def _named(self, key: int, here: str, there: str, row: int, excess: int) -> Keeper:
        passage = self._passage
        left, later = at(int(passage.t[here][row])), time(excess / 1e9)
        if here == there:
            return Keeper(
                "air", f"on the air: its first attempt was at {left}, and the one that arrived came {later} after it"
            )
        if here == "air":
            name, whose = (
                ("adapter", "the adapter") if there == "usb" else ("adapter_or_driver", "the adapter or its driver")
            )
            return Keeper(
                name,
                f"by {whose}: it was on the air at {left} and took {later} longer to the {_host(there)} than the one before",
            )
        if here == "usb":
            return Keeper(
                "driver",
                f"by the driver: it was on the bus at {left} and took {later} longer to the host than the one before",
            )
        if there == "air":
            whose = "of the access point" if key in self._down else "of the receiver's adapter"
            return Keeper(
                "queue",
                f"in a queue {whose}: it left the receiver at {left} and took {later} longer to the air than the one before",
            )
        return Keeper("way", f"on its way: it left the receiver at {left} and took {later} longer than the one before")


def _host(point: str) -> str:
    return "bus" if point == "usb" else "host"
