"""The times of each packet at the capture points, and the order of these events on its path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import tables
from wlanlens.tables.columns import coded, filled, find, known, numbered

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.alignment.path_order import PathOrder
    from wlanlens.capture.capture import Capture
    from wlanlens.correlation.air_transmissions import AirTransmissions
    from wlanlens.correlation.packet_index import PacketIndex

Array = np.ndarray[Any, Any]

#: Events of a packet that captures record.
EVENTS = ("sender", "usb_submit", "usb_complete", "air_start", "air_end", "ap", "receiver")
SENDER, SUBMIT, COMPLETE, AIR_START, AIR_END, AP, RECEIVER = range(len(EVENTS))

_LAST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class EventPatterns:
    """Groups of packets with the same events, by the same captures, on the same path.

    Attributes
    ----------
    pattern_of : int64 array
        The pattern of each packet.
    order : int64 array
        [pattern, k]: the events in the order of the path; those that were not recorded come last.
    count : int64 array
        Number of recorded events.
    capture : int64 array
        [pattern, event]: the capture that recorded it, -1 for none.
    to_adapter : bool array
        Its URB goes to the adapter; not used without a URB.
    """

    pattern_of: Array
    order: Array
    count: Array
    capture: Array
    to_adapter: Array


class EventTimes:
    """The times of each packet's events.

    Attributes
    ----------
    t_ns, capture : int64 and int16 arrays
        [packet, event]: the time, and the capture that recorded it; -1: none.
    """

    def __init__(self, captures: Sequence[Capture], index: PacketIndex) -> None:
        count = len(index.rows)
        self.t_ns: Array = np.zeros((count, len(EVENTS)), np.int64, order="F")
        self.capture: Array = np.full((count, len(EVENTS)), -1, np.int16, order="F")
        self._to_adapter: Array = np.zeros(count, bool)
        self._at: dict[str, list[int]] = {
            point: [c for c, capture in enumerate(captures) if capture.point == point] for point in tables.POINTS
        }
        for event, point in ((SENDER, "sender"), (AP, "ap"), (RECEIVER, "receiver")):
            for c in self._at[point]:
                here = np.flatnonzero(index.seen[:, c] & (self.capture[:, event] < 0))
                self._put(event, here, index.t_ns[here, c], c)

    def _put(self, event: int, packets: Array, t_ns: Array, capture: int) -> None:
        self.t_ns[packets, event] = t_ns
        self.capture[packets, event] = capture

    def add_transfers(self, index: PacketIndex, urbs: Sequence[pa.Table]) -> dict[str, pa.Array]:
        """Add submission and completion of the URB of each packet; returns them as columns."""
        import pyarrow as pa
        import pyarrow.compute as pc

        numbers = np.zeros((len(self.t_ns), 2), np.uint64)
        for c in self._at["usb"]:
            carried = urbs[c].filter(pc.is_valid(urbs[c].column("ip_packet")))
            record = carried.column("ip_packet").to_numpy()
            rows = np.flatnonzero(index.packet_of[c] >= 0)
            place = find(record, index.packets[c].column("packet").to_numpy()[rows])
            found, which = np.unique(index.packet_of[c][rows[place >= 0]], return_index=True)
            which = place[place >= 0][which]
            fresh = (self.capture[found, SUBMIT] < 0) & (self.capture[found, COMPLETE] < 0)
            found, which = found[fresh], which[fresh]
            to_adapter = (coded(carried.column("direction"), ["out"]) == 0)[which]
            self._to_adapter[found] = to_adapter
            for k, (event, name) in enumerate(((SUBMIT, "submit"), (COMPLETE, "complete"))):
                t_ns, packet = (carried.column(f) for f in (f"t_{name}_ns", f"{name}_packet"))
                there = known(t_ns)[which] & known(packet)[which]
                # The submission of a URB for a packet still to come is no event of that packet.
                there &= to_adapter | (event == COMPLETE)
                self._put(event, found[there], filled(t_ns)[which][there], c)
                numbers[found[there], k] = filled(packet)[which][there]
        columns: dict[str, pa.Array] = {}
        for k, (event, name) in enumerate(((SUBMIT, "submit"), (COMPLETE, "complete"))):
            columns[f"usb_{name}_packet"] = pa.array(numbers[:, k], mask=self.capture[:, event] < 0)
            columns[f"usb_{name}_t_ns"] = pa.array(self.t_ns[:, event], mask=self.capture[:, event] < 0)
        return columns

    def add_transmissions(self, transmissions: AirTransmissions) -> None:
        """Add the start of the first transmission and the end of the last."""
        for event, (found, which) in ((AIR_START, transmissions.first()), (AIR_END, transmissions.last())):
            t_ns = transmissions.start if event == AIR_START else transmissions.end
            self.t_ns[found, event] = t_ns[which]
            self.capture[found, event] = transmissions.capture[which]

    def patterns(self, paths: PathOrder) -> EventPatterns:
        """Group packets by their events, so that the order of events is found once a group."""
        key = 2 * paths.path + self._to_adapter
        for event in range(len(EVENTS)):
            if (self.capture[:, event] >= 0).any():
                codes = self.capture[:, event].astype(np.int64) + 1
                _, key = numbered(key * (int(codes.max()) + 1) + codes)
        distinct, of = numbered(key)
        one = np.zeros(len(distinct), np.int64)
        one[of] = np.arange(len(of))
        capture = self.capture[one].astype(np.int64)
        # The two events of one capture stay together, in their order.
        rank = paths.rank()[paths.path[one][:, None], np.maximum(capture, 0)]
        place = np.where(capture >= 0, rank * len(EVENTS) + np.arange(len(EVENTS)), _LAST)
        order = np.argsort(place, axis=1, kind="stable")
        return EventPatterns(of, order, (capture >= 0).sum(axis=1), capture, self._to_adapter[one])

    def settle_air_end(self, transmissions: AirTransmissions, patterns: EventPatterns, bounds: Array) -> Array:
        """End the time on the air with the transmission that delivered the packet: the last that ended before the next point saw it.

        Later transmissions repeat it because its MAC acknowledgment was lost.

        Returns
        -------
        array
            Error of the end because the clocks do not decide which transmission it was, ns.
        """
        uncertainty = np.zeros(len(self.t_ns), np.int64)
        if not len(transmissions.packet):
            return uncertainty
        place = (patterns.order == AIR_END).argmax(axis=1)
        ahead = (patterns.capture[:, AIR_END] >= 0) & (place < patterns.count - 1)
        following = np.take_along_axis(patterns.order, np.minimum(place + 1, len(EVENTS) - 1)[:, None], axis=1)[:, 0]
        rows = np.flatnonzero(ahead[patterns.pattern_of])
        event = following[patterns.pattern_of[rows]]
        until = np.full(len(self.t_ns), _LAST)
        until[rows] = self.t_ns[rows, event]
        off = np.zeros(len(self.t_ns), np.int64)
        for capture in (self.capture[rows, AIR_END], self.capture[rows, event]):
            off[rows] += bounds[rows, capture]
        found, first = transmissions.first()
        _, final = transmissions.last()
        # Transmissions of a packet are in order of start, and of end except where hops overlap.
        early = np.bincount(
            transmissions.packet[transmissions.end <= until[transmissions.packet]], minlength=len(self.t_ns)
        )
        chosen = np.clip(first + early[found] - 1, first, final)
        self.t_ns[found, AIR_END] = transmissions.end[chosen]
        before, after = np.maximum(chosen - 1, first), np.minimum(chosen + 1, final)
        nearer = transmissions.end[chosen] > until[found] - off[found]
        uncertainty[found] = np.where(nearer, transmissions.end[chosen] - transmissions.end[before], 0)
        farther = transmissions.end[after] < until[found] + off[found]
        farther &= until[found] < _LAST
        uncertainty[found] = np.maximum(
            uncertainty[found], np.where(farther, transmissions.end[after] - transmissions.end[chosen], 0)
        )
        return uncertainty

    def ends(self) -> tuple[Array, Array, Array]:
        """Time of the first and last event of each packet, and whether it has any."""
        first, last = np.full(len(self.t_ns), _LAST), np.full(len(self.t_ns), -_LAST)
        for event in range(len(EVENTS)):
            seen = self.capture[:, event] >= 0
            np.minimum(first, self.t_ns[:, event], out=first, where=seen)
            np.maximum(last, self.t_ns[:, event], out=last, where=seen)
        return first, last, first <= last
