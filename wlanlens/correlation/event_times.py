"""When each packet was where: the instants of its journey, and in which order it came to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import tables
from wlanlens.tables.columns import coded, filled, find, known, numbered

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.alignment.path_order import Ways
    from wlanlens.capture.capture import Capture
    from wlanlens.correlation.air_attempts import Attempts
    from wlanlens.correlation.packet_index import Journeys

Array = np.ndarray[Any, Any]

#: Instants of a packet, at the points where captures see them.
EVENTS = ("sender", "usb_submit", "usb_complete", "air_start", "air_end", "ap", "receiver")
SENDER, SUBMIT, COMPLETE, AIR_START, AIR_END, AP, RECEIVER = range(len(EVENTS))

_LAST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Patterns:
    """Journeys that came to the same instants, by the same captures, on the same way.

    Attributes
    ----------
    of : int64 array
        The pattern of each journey.
    order : int64 array
        [pattern, k]: the events in the order of the way, those that were not seen last.
    seen : int64 array
        How many of them were.
    capture : int64 array
        [pattern, event]: the capture that tells it, -1 for none.
    out : bool array
        Its URB goes to the adapter; meaningless without one.
    """

    of: Array
    order: Array
    seen: Array
    capture: Array
    out: Array


class Instants:
    """When each journey was where.

    Attributes
    ----------
    t_ns, capture : int64 and int8 arrays
        [journey, event]: the time, and the capture that says so, -1 where it was not seen.
    """

    def __init__(self, captures: Sequence[Capture], journeys: Journeys) -> None:
        count = len(journeys.rows)
        self.t_ns: Array = np.zeros((count, len(EVENTS)), np.int64, order="F")
        self.capture: Array = np.full((count, len(EVENTS)), -1, np.int16, order="F")
        self._out: Array = np.zeros(count, bool)
        self._at: dict[str, list[int]] = {
            point: [c for c, capture in enumerate(captures) if capture.point == point] for point in tables.POINTS
        }
        for event, point in ((SENDER, "sender"), (AP, "ap"), (RECEIVER, "receiver")):
            for c in self._at[point]:
                here = np.flatnonzero(journeys.seen[:, c] & (self.capture[:, event] < 0))
                self._put(event, here, journeys.t_ns[here, c], c)

    def _put(self, event: int, journeys: Array, t_ns: Array, capture: int) -> None:
        self.t_ns[journeys, event] = t_ns
        self.capture[journeys, event] = capture

    def add_transfers(self, journeys: Journeys, urbs: Sequence[pa.Table]) -> dict[str, pa.Array]:
        """Submission and completion of the URB that carried each packet, as columns."""
        import pyarrow as pa
        import pyarrow.compute as pc

        numbers = np.zeros((len(self.t_ns), 2), np.uint64)
        for c in self._at["usb"]:
            carried = urbs[c].filter(pc.is_valid(urbs[c].column("ip_packet")))
            record = carried.column("ip_packet").to_numpy()
            rows = np.flatnonzero(journeys.of[c] >= 0)
            place = find(record, journeys.packets[c].column("packet").to_numpy()[rows])
            found, which = np.unique(journeys.of[c][rows[place >= 0]], return_index=True)
            which = place[place >= 0][which]
            fresh = (self.capture[found, SUBMIT] < 0) & (self.capture[found, COMPLETE] < 0)
            found, which = found[fresh], which[fresh]
            out = (coded(carried.column("direction"), ["out"]) == 0)[which]
            self._out[found] = out
            for k, (event, name) in enumerate(((SUBMIT, "submit"), (COMPLETE, "complete"))):
                t_ns, packet = (carried.column(f) for f in (f"t_{name}_ns", f"{name}_packet"))
                there = known(t_ns)[which] & known(packet)[which]
                # What the host submits for a packet to come is no instant of the packet.
                there &= out | (event == COMPLETE)
                self._put(event, found[there], filled(t_ns)[which][there], c)
                numbers[found[there], k] = filled(packet)[which][there]
        columns: dict[str, pa.Array] = {}
        for k, (event, name) in enumerate(((SUBMIT, "submit"), (COMPLETE, "complete"))):
            columns[f"usb_{name}_packet"] = pa.array(numbers[:, k], mask=self.capture[:, event] < 0)
            columns[f"usb_{name}_t_ns"] = pa.array(self.t_ns[:, event], mask=self.capture[:, event] < 0)
        return columns

    def add_attempts(self, attempts: Attempts) -> None:
        """Begin of the first attempt and end of the last."""
        for event, (found, which) in ((AIR_START, attempts.first()), (AIR_END, attempts.last())):
            t_ns = attempts.start if event == AIR_START else attempts.end
            self.t_ns[found, event] = t_ns[which]
            self.capture[found, event] = attempts.capture[which]

    def patterns(self, ways: Ways) -> Patterns:
        """What is the same for many journeys, once for all."""
        key = 2 * ways.of + self._out
        for event in range(len(EVENTS)):
            if (self.capture[:, event] >= 0).any():
                codes = self.capture[:, event].astype(np.int64) + 1
                _, key = numbered(key * (int(codes.max()) + 1) + codes)
        distinct, of = numbered(key)
        one = np.zeros(len(distinct), np.int64)
        one[of] = np.arange(len(of))
        capture = self.capture[one].astype(np.int64)
        # Both instants of one capture stay together, in their order.
        rank = ways.rank()[ways.of[one][:, None], np.maximum(capture, 0)]
        place = np.where(capture >= 0, rank * len(EVENTS) + np.arange(len(EVENTS)), _LAST)
        order = np.argsort(place, axis=1, kind="stable")
        return Patterns(of, order, (capture >= 0).sum(axis=1), capture, self._out[one])

    def settle(self, attempts: Attempts, patterns: Patterns, bounds: Array) -> Array:
        """End the time on the air with the attempt that can have brought the packet to the next point: the last that ended
        before it passed there. Attempts behind it repeat what had arrived, for its MAC acknowledgment was lost. Returns how
        much the end may be off because the clocks leave open which attempt that is, ns."""
        doubt = np.zeros(len(self.t_ns), np.int64)
        if not len(attempts.journey):
            return doubt
        place = (patterns.order == AIR_END).argmax(axis=1)
        ahead = (patterns.capture[:, AIR_END] >= 0) & (place < patterns.seen - 1)
        following = np.take_along_axis(patterns.order, np.minimum(place + 1, len(EVENTS) - 1)[:, None], axis=1)[:, 0]
        rows = np.flatnonzero(ahead[patterns.of])
        event = following[patterns.of[rows]]
        until = np.full(len(self.t_ns), _LAST)
        until[rows] = self.t_ns[rows, event]
        off = np.zeros(len(self.t_ns), np.int64)
        for capture in (self.capture[rows, AIR_END], self.capture[rows, event]):
            off[rows] += bounds[rows, capture]
        found, first = attempts.first()
        _, final = attempts.last()
        # Attempts of a journey follow each other; ends rise with their begins but where hops overlap.
        early = np.bincount(attempts.journey[attempts.end <= until[attempts.journey]], minlength=len(self.t_ns))
        chosen = np.clip(first + early[found] - 1, first, final)
        self.t_ns[found, AIR_END] = attempts.end[chosen]
        before, behind = np.maximum(chosen - 1, first), np.minimum(chosen + 1, final)
        nearer = attempts.end[chosen] > until[found] - off[found]
        doubt[found] = np.where(nearer, attempts.end[chosen] - attempts.end[before], 0)
        farther = attempts.end[behind] < until[found] + off[found]
        farther &= until[found] < _LAST
        doubt[found] = np.maximum(doubt[found], np.where(farther, attempts.end[behind] - attempts.end[chosen], 0))
        return doubt

    def ends(self) -> tuple[Array, Array, Array]:
        """First and last instant of each journey, and whether it has any."""
        first, last = np.full(len(self.t_ns), _LAST), np.full(len(self.t_ns), -_LAST)
        for event in range(len(EVENTS)):
            seen = self.capture[:, event] >= 0
            np.minimum(first, self.t_ns[:, event], out=first, where=seen)
            np.maximum(last, self.t_ns[:, event], out=last, where=seen)
        return first, last, first <= last
