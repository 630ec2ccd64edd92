"""The frames of a sniffer: when the air was busy, and the exchanges of connections."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wlanlens.ledger.spans import Spans
from wlanlens.tables.columns import Array, filled, find, integers

if TYPE_CHECKING:
    import pyarrow as pa

#: Before a first transmission a station waits for DIFS and up to 31 slots of 20 us (IEEE 802.11b: 15.2, 18.3.3), the
#: longest of all PHYs: the channel is idle that long for access. If it is idle for longer, no frame was ready.
ACCESS_NS = 670_000

#: A link that idles for no larger part of the time is full: a larger window would gain no more than that.
IDLE_PART = 10

#: Backoffs that show their quartiles.
LEAST_BACKOFFS = 20

#: The frames of one exchange (RTS, CTS, data, ACK) are a SIFS apart, 10 or 16 us; before any other frame the channel is
#: idle for a SIFS and a slot at least, 19 us (IEEE 802.11: 10.3.2.3).
SIFS_NS = 18_000

#: No time, and none to come.
NONE = -(2**62)
NEVER = np.iinfo(np.int64).max
#: The end of what lasts to the end of the captures: gaps can be added to it.
TO_THE_END = 2**61


class Air:
    """The frames of a sniffer: when the air was busy, and the exchanges of connections.

    Attributes
    ----------
    number : array
        The number of each frame's packet.
    busy, exchanges : Spans
        When the channel was busy, and from the first to the last transmission of every exchange.
    free : Spans
        When it was idle for longer than the access takes: no station had a frame.
    shift : int
        1 if timestamps mark the ends of frames, 0 if they mark their starts.
    answered : dict of array
        Columns of the acknowledged exchanges of connections.
    """

    def __init__(self, frames: pa.Table, exchanges: pa.Table) -> None:
        self.number, t = numbers_of(frames, "packet"), numbers_of(frames, "t_ns")
        airtime = np.nan_to_num(np.asarray(filled(frames.column("airtime_us"), np.nan), float)) * 1000
        self._length = airtime.astype(np.int64)
        self._up = np.asarray(filled(frames.column("to_ds"), False), np.int64)
        names = ("flow", "first_packet", "last_packet", "t_first_ns", "t_last_ns", "t_ack_ns", "ack_packet")
        mine = {name: numbers_of(exchanges, name) for name in names}
        heard = (mine["t_first_ns"] != NONE) & (mine["t_last_ns"] != NONE)
        self.exchanges = Spans.of(mine["t_first_ns"][heard], mine["t_last_ns"][heard])
        known = heard & (mine["flow"] != NONE) & (mine["t_ack_ns"] != NONE)
        self.answered = mine = rows_of(mine, known)
        data, ack = (self.length_of(mine[name]) for name in ("last_packet", "ack_packet"))
        # A sniffer timestamps either the start or the end of frames. From a frame to its ACK the timestamps differ by the
        # ACK's airtime and a SIFS if they mark ends, by the data frame's and a SIFS if they mark starts.
        apart = mine["t_ack_ns"] - mine["t_last_ns"]
        tells = (np.abs(data - ack) > 2 * SIFS_NS) & (apart > 0)
        ends = bool(np.median((np.abs(apart - ack) - np.abs(apart - data))[tells]) <= 0) if tells.any() else True
        self.shift = int(ends)
        self.busy = Spans.of(t - self._length * self.shift, t + self._length * (1 - self.shift))
        idle = self.busy.start[1:] - self.busy.end[:-1]
        self.free = Spans(self.busy.end[:-1][idle > ACCESS_NS] + ACCESS_NS, self.busy.start[1:][idle > ACCESS_NS])

    def length_of(self, packet: Array) -> Array:
        """Airtime of each frame, ns, by the number of its packet; 0 for an unknown one."""
        return value_at(self.number, self._length, packet)

    def goes_up(self, packet: Array) -> Array:
        """Whether a station sent each frame to its access point, by the number of its packet."""
        return value_at(self.number, self._up, packet) > 0

    def end_of(self, exchanges: dict[str, Array]) -> Array:
        """When each exchange ended: the first ACK heard may not have reached the transmitter, which then repeats the frame."""
        last, ack = (self.length_of(exchanges[name]) * (1 - self.shift) for name in ("last_packet", "ack_packet"))
        return np.asarray(np.maximum(exchanges["t_ack_ns"] + ack, exchanges["t_last_ns"] + last))


def access_ns(idle_ns: Array, back: Array) -> int:
    """How long the access to the channel takes at most: `ACCESS_NS`, or what stations with a larger contention window need, as the idle
    times before their first transmissions show while a packet waited. Those of a backoff are spread evenly from none to the longest
    (IEEE 802.11: 10.3.3); a slow line before the station makes them alike, and one with jitter those of one direction, `back`, longer.
    """
    longest = []
    for way in (0, 1):
        mine = idle_ns[back == way]
        if len(mine) < LEAST_BACKOFFS:
            return ACCESS_NS
        longest.append(max(ACCESS_NS, 2 * int(np.median(mine))) if _differ(mine) else ACCESS_NS)
    return min(longest)


def contends(idle_ns: Array, may: Array, longest_ns: int) -> Array:
    """Which packets, of those that may have waited, came after the idle time of a backoff: at most this, and not alike, as a bus makes them."""
    some = may & (idle_ns <= longest_ns)
    return some & _differ(idle_ns[some])


def _differ(idle_ns: Array) -> bool:
    """Whether idle times are spread as those of a backoff are: the upper quartile is twice the lower one or more."""
    low, high = np.percentile(idle_ns, (25, 75)).astype(np.int64) if len(idle_ns) else (0, 0)
    return bool(high >= 2 * low)


def numbers_of(table: pa.Table, name: str) -> Array:
    """A column as whole numbers; `NONE` for null."""
    return integers(table.column(name), NONE)


def rows_of(columns: dict[str, Array], which: Array) -> dict[str, Array]:
    """Some rows of all columns, by their places or by a mask."""
    places = np.flatnonzero(which) if which.dtype == bool else which
    return {name: values.take(places) for name, values in columns.items()}


def part(columns: dict[str, Array], flow: int) -> dict[str, Array]:
    """The rows of one connection, from columns sorted by `flow`."""
    low, high = np.searchsorted(columns["flow"], [flow, flow + 1])
    return {name: values[low:high] for name, values in columns.items()}


def value_at(keys: Array, values: Array, wanted: Array) -> Array:
    """The value of each key; 0 for an absent key."""
    at = find(keys, wanted)
    return np.where(at >= 0, values[at], 0) if len(keys) else wanted * 0
