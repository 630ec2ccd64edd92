"""The order of capture points: along the path of each packet, as clock references, and as sources of evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from wlanlens.tables import POINTS
from wlanlens.tables.columns import Array, numbered

#: The orders in which data can pass the points: sent by a station of the wireless network, and sent to one.
_FROM_STATION = POINTS
_TO_STATION = ("sender", "ap", "air", "usb", "receiver")

#: How well a capture shows a TCP connection, by its point or else by where its tap sits: a sender's decisions show at its
#: own end. A sniffer misses packets.
_EVIDENCE_OF_POINT = {"sender": 0, "usb": 1, "ap": 1, "air": 3, "receiver": 4}
_EVIDENCE_OF_TAP = {"near_sender": 0, "middle": 1, "unknown": 2, "near_receiver": 3}


class PathOrder:
    """The order of the captures of one trace along the path of each packet.

    A path is a pair of source and destination address. Its order is the one of the possible orders that agrees best with
    the times of the packets that two captures both have, because the clocks may not separate two neighbouring points.

    Parameters
    ----------
    points : sequence of str
        The point of each capture.
    hosts : int64 array
        [2, packet]: source and destination as numbers from 0; -1: not known.
    t_ns, seen : int64 and bool arrays
        [packet, capture]: when the packet passed, and whether that is known.

    Attributes
    ----------
    path : int64 array
        The path of each packet.
    upstream : bool array
        [path, i, j]: packets pass capture i before capture j. Of two sniffers neither is upstream: both hear the same frame.
    passes : bool array
        [path, capture]: the capture has packets between these two hosts, in either direction.
    """

    #: Points at the two ends of every path.
    HOSTS = (POINTS[0], POINTS[-1])
    #: Points that are a host, or in it: the sending host's tap, and the bus of its adapter.
    SENDING_SIDE = ("sender", "usb")
    #: Points where the bytes of a packet may be unreadable: encrypted frames, unknown framing of an adapter.
    OPAQUE = ("usb", "air")
    #: Whose clock is the axis, best first: hosts record every packet of their own, sniffers miss some.
    CLOCK_REFERENCES = ("sender", "receiver", "ap", "usb", "unknown", "air")

    def __init__(self, points: Sequence[str], hosts: Array, t_ns: Array, seen: Array) -> None:
        most = int(hosts.max(initial=0)) + 2
        paths, self.path = numbered((hosts[0] + 1) * most + hosts[1] + 1)
        number = {int(path): k for k, path in enumerate(paths)}
        reverse = np.array([number.get(int(path % most * most + path // most), -1) for path in paths], np.int64)
        delay = np.zeros((len(paths), len(points), len(points)))
        for i in range(len(points)):
            for j in range(i):
                both = np.flatnonzero(seen[:, i] & seen[:, j])
                later = (t_ns[both, j] - t_ns[both, i]).astype(float)
                delay[:, i, j] = np.bincount(self.path[both], later, minlength=len(paths))
                delay[:, j, i] = -delay[:, i, j]
        # The reverse path passes the captures in the opposite order.
        delay -= np.where((reverse >= 0)[:, None, None], delay[reverse], 0.0)
        self.upstream: Array = _upstream(points, delay)
        self.passes: Array = np.zeros((len(paths), len(points)), bool)
        for i in range(len(points)):
            self.passes[self.path[seen[:, i]], i] = True
        self.passes |= (reverse >= 0)[:, None] & self.passes[reverse]

    def rank(self) -> Array:
        """[path, capture]: how many captures lie upstream of it."""
        rank: Array = self.upstream.sum(axis=1)
        return rank

    @classmethod
    def first_of(cls, one: str, other: str) -> int:
        """1 where data of the sending host passes point `one` first, -1 where it passes `other` first, 0: not known."""
        if one not in _FROM_STATION or other not in _FROM_STATION:
            return 0
        return int(np.sign(_FROM_STATION.index(other) - _FROM_STATION.index(one)))

    @classmethod
    def evidence_rank(cls, point: str, tap: str) -> int:
        """How well a capture shows data of one direction, 0 best: by its point, or by where its tap sits if that is unknown.

        Of two hosts either may send: the tap's place says which one.
        """
        if point in cls.HOSTS and tap in ("near_sender", "near_receiver"):
            point = cls.HOSTS[tap == "near_receiver"]
        return _EVIDENCE_OF_POINT.get(point, _EVIDENCE_OF_TAP.get(tap, _EVIDENCE_OF_TAP["unknown"]))

    @classmethod
    def hosts_outside(cls, points: Iterable[str]) -> list[str]:
        """Points in the order given, but with two hosts as the ends, whatever the clocks say."""
        order = list(points)
        hosts = [point for point in order if point in cls.HOSTS]
        if len(hosts) < 2:
            return order
        return [hosts[0], *(point for point in order if point not in hosts), hosts[1]]


def _upstream(points: Sequence[str], delay: Array) -> Array:
    """[path, i, j]: packets pass i before j. `delay` is the time from i to j, summed over the packets of each path."""
    orders = []
    for order in (_FROM_STATION, _TO_STATION):
        place = np.array([order.index(point) if point in order else -1 for point in points])
        known = (place >= 0)[:, None] & (place >= 0)
        orders += [known & (place[:, None] < place), known & (place[:, None] > place)]
    candidates = np.array(orders)
    best = candidates[np.einsum("wij,oij->wo", delay, candidates).argmax(axis=1)]
    unknown = ~np.isin(points, POINTS)
    timed = (delay != 0).any(axis=(1, 2))
    # A capture at an unknown point is placed by the times alone.
    upstream: Array = np.where(unknown[:, None] | unknown, delay > 0, best & timed[:, None, None])
    return upstream
