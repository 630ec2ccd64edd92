"""Where delayed packets were held: between the two capture points that they took longer to pass than other packets."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.packet_paths import PacketPaths, downlink_keys
from wlanlens.formatting import duration, moment
from wlanlens.tables.columns import NULL


@dataclass(frozen=True)
class HoldingPoint:
    """Where a packet was held.

    Attributes
    ----------
    name : str
        adapter, driver, adapter_or_driver (of the receiving host), air (between two transmissions), queue (before the air)
        or path (between the hosts).
    evidence : str
        The same in words, with the times that show it: "by the driver: it was ...".
    """

    name: str
    evidence: str


class HoldingPoints:
    """Finds where packets were held, by their delays between capture points."""

    def __init__(self, facts: Facts) -> None:
        self._paths = facts.cached(PacketPaths)
        self._down = set(downlink_keys(facts).tolist()) if facts.trace.has("frames") else set()

    def find(self, key: int, packet: int, reference: int, held_ns: int) -> HoldingPoint | None:
        """Where a packet was held, compared with a reference packet that was not.

        Parameters
        ----------
        key : int
            The packets' direction.
        packet, reference : int
            Their numbers in the host's capture.
        held_ns : int
            How much longer the packet took.

        Returns
        -------
        HoldingPoint or None
            None where no capture shows it.
        """
        paths = self._paths
        point = paths.point(key)
        row, other = paths.at(key, point, np.array([packet, reference])).tolist() if point else (-1, -1)
        if min(row, other) < 0 or paths.starts_at(key, point):
            return None
        seen = [p for p in paths.path(key) if NULL not in (paths.t[p][row], paths.t[p][other])]
        sections = list(itertools.pairwise(seen)) + [("air", "air")] * ("air" in seen)
        longer = [self._delay(row, point, *s) - self._delay(other, point, *s) for s in sections]
        # Half of the delay or more: no other section holds it for longer.
        if longer and 2 * max(longer) >= held_ns:
            here, there = sections[longer.index(max(longer))]
            return self._between(key, here, there, row, max(longer))
        # It was late already at the first capture point.
        return self._before_air(key, row) if seen[:1] == ["air"] else None

    def _delay(self, row: int, host: str, here: str, there: str) -> int:
        """ns between two points: from the air, since the transmission that arrived; air to air, from the first to that one."""
        t = {point: int(times[row]) for point, times in self._paths.t.items()}
        # A transmission after the packet had arrived was made because its 802.11 ACK was lost.
        last = int(self._paths.air_last[row])
        arrived = last if last <= t[host] else t["air"]
        if here == there:
            return arrived - t["air"]
        return t[there] - (arrived if here == "air" else t[here])

    def _before_air(self, key: int, row: int) -> HoldingPoint:
        where = "at the access point or the receiver" if key in self._down else "at the receiver"
        sent = moment(int(self._paths.t["air"][row]))
        return HoldingPoint("queue", f"in a queue {where}: it was transmitted only at {sent}")

    def _between(self, key: int, here: str, there: str, row: int, excess_ns: int) -> HoldingPoint:
        start, later = moment(int(self._paths.t[here][row])), duration(excess_ns / 1e9)
        if here == there:
            return HoldingPoint(
                "air", f"on the air: its first transmission was at {start}, the one that arrived {later} later"
            )
        if here == "air":
            name, holder = (
                ("adapter", "the adapter") if there == "usb" else ("adapter_or_driver", "the adapter or its driver")
            )
            target = "bus" if there == "usb" else "host"
            return HoldingPoint(
                name,
                f"by {holder}: it was on the air at {start} and took {later} longer to the {target} than the ACK before",
            )
        if here == "usb":
            return HoldingPoint(
                "driver",
                f"by the driver: it was on the bus at {start} and took {later} longer to the host than the ACK before",
            )
        if there == "air":
            where = "at the access point" if key in self._down else "in the receiver's adapter"
            return HoldingPoint(
                "queue",
                f"in a queue {where}: it left the receiver at {start} and took {later} longer to the air than the ACK before",
            )
        return HoldingPoint(
            "path", f"on the path: it left the receiver at {start} and took {later} longer than the ACK before"
        )
