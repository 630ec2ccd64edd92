"""The queue of an access point, from the packets that came to it and those that left it on the air."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.toolkit.packet_paths import PacketPaths
from wlanlens.detection.toolkit.statistics import binomial_tail
from wlanlens.tables.columns import NULL, Array


def before_air_ns(paths: PacketPaths) -> Array:
    """When each packet passed the last capture point before the air: the access point's wired side or the sender."""
    return np.where(paths.t["ap"] != NULL, paths.t["ap"], paths.t["sender"])


def queue_lengths(paths: PacketPaths, downlink: Array) -> Array:
    """Packets of all downlink directions that had come to the access point and were not yet on the air when each packet came.

    A packet that passed the sender is on the wire first, for the least time from there to the air: it is in no queue meanwhile.

    Parameters
    ----------
    paths : PacketPaths
    downlink : array of bool
        Which packets the access point sends.

    Returns
    -------
    array
        One length for each packet of `paths`; `NULL` where its time before the air is unknown.
    """
    passed, air = before_air_ns(paths), paths.t["air"]
    admitted = downlink & (passed != NULL) & (air != NULL)
    came = np.where(passed == NULL, NULL, passed + _wire_ns(paths, passed, admitted))
    arrivals, departures = np.sort(came[admitted]), np.sort(air[admitted])
    waiting = np.searchsorted(arrivals, came, side="left") - np.searchsorted(departures, came, side="right")
    return np.where(came == NULL, NULL, waiting)


def _wire_ns(paths: PacketPaths, passed: Array, admitted: Array) -> Array:
    """The least time of each packet's direction from the capture point before the air to the air."""
    out = np.zeros(len(passed), np.int64)
    for key in np.unique(paths.key[admitted]).tolist():
        mine = paths.key == key
        out[mine] = (paths.t["air"] - passed)[mine & admitted].min()
    return out


def found_full(lost: Array, admitted: Array, chance_share: float) -> Array:
    """Which lost packets found a full queue.

    A full queue admits nothing: losses at some length or more outnumber the packets admitted at a greater length.

    Parameters
    ----------
    lost, admitted : array
        Queue lengths when lost packets and admitted packets came.
    chance_share : float
        Largest probability that losses independent of the queue fall on lengths as great.
    """
    lost_up, admitted_up = np.sort(lost), np.sort(admitted)
    least: int | None = None
    for level in np.unique(lost)[::-1].tolist():
        losses = len(lost) - int(np.searchsorted(lost_up, level, side="left"))
        more = len(admitted) - int(np.searchsorted(admitted_up, level, side="right"))
        as_many = len(admitted) - int(np.searchsorted(admitted_up, level, side="left"))
        share = (as_many + losses) / (len(admitted) + len(lost))
        if losses > more and binomial_tail(losses, len(lost), share) <= chance_share:
            least = level
    return lost >= least if least is not None else np.zeros(len(lost), bool)


def sniffer_doubt(paths: PacketPaths, rows: Array, unheard: int) -> float:
    """Share of a direction's unheard losses that may have been lost on the air, where the sniffer missed them.

    Parameters
    ----------
    paths : PacketPaths
    rows : array
        Positions of the direction's packets.
    unheard : int
        Losses that the sniffer did not hear.
    """
    heard = paths.t["air"][rows] != NULL
    arrived = paths.arrival[rows] == "arrived"
    missed = 1 - float(heard[arrived].mean()) if arrived.any() else 0.0
    on_air = int((heard & (paths.arrival[rows] == "not_seen")).sum())
    return missed * on_air / ((1 - missed) * unheard) if missed < 1 else 1.0
