"""The air as vectors: frames, exchanges of MSDUs, and the transmissions of each exchange."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TypeVar

import numpy as np

from wlanlens.detection.toolkit.airtime import transmission_us
from wlanlens.tables.columns import Array

#: What an exchange carries of TCP, see `Exchanges.tcp`.
TCP_DATA, TCP_ACK = 1, 2

T = TypeVar("T", bound="Vectors")


class Vectors:
    """Vectors of one length; subclasses are dataclasses of arrays."""

    def take(self: T, which: Array) -> T:
        """Some of the rows, by mask or position."""
        return type(self)(**{f.name: getattr(self, f.name)[which] for f in fields(self)})  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))  # type: ignore[arg-type]


@dataclass
class Frames(Vectors):
    """Rows of `frames` in order of capture and packet. `ta` and `ra` are numbers of addresses, -1 for null.

    `retry` and `fcs_ok` are 1, 0, or -1 for null; `streams` and `width_mhz` are NaN where unknown.
    """

    capture: Array
    packet: Array
    t_ns: Array
    ta: Array
    ra: Array
    retry: Array
    fcs_ok: Array
    ampdu: Array
    streams: Array
    width_mhz: Array
    signal_dbm: Array
    airtime_us: Array
    mpdu_bytes: Array


@dataclass
class Exchanges(Vectors):
    """Exchanges of unicast data that the sniffer heard, by pair and time.

    Attributes
    ----------
    pair : array
        The station pair, see `StationPairs`.
    t_first_ns, t_last_ns, t_ack_ns : array
        First and last transmission heard, and the ACK; `NULL` without an ACK.
    first, heard : array
        Position of the first transmission in `Air.transmissions`, and how many were heard.
    attempts, inferred : array
        All transmissions, and those among them that the sniffer missed.
    missed_last : array of bool
        The transmission that arrived was missed: only its ACK was heard, after those heard had failed.
    delivered, dropped : array of bool
        The outcome; both False where it is unknown.
    failed : array of bool
        The first transmission failed.
    first_heard : array of bool
        The first transmission was heard.
    lead : array of bool
        False for all but one of the MPDUs that were first sent in one A-MPDU.
    airtime_us, wasted_us : array
        Of all transmissions, and of those that failed.
    mpdu_bytes : array
        Size.
    tcp : array
        `TCP_DATA`, `TCP_ACK` (without data) or 0.
    udp, protected : array of bool
        What is carried.
    first_packet : array
        Packet number of the first transmission heard.
    """

    pair: Array
    t_first_ns: Array
    t_last_ns: Array
    t_ack_ns: Array
    first: Array
    heard: Array
    attempts: Array
    inferred: Array
    missed_last: Array
    delivered: Array
    dropped: Array
    failed: Array
    first_heard: Array
    lead: Array
    airtime_us: Array
    wasted_us: Array
    mpdu_bytes: Array
    tcp: Array
    udp: Array
    protected: Array
    first_packet: Array


@dataclass
class Transmissions(Vectors):
    """Transmissions heard, in the order of `Air.exchanges`.

    `exchange` is the position in `Air.exchanges`, `nth` the number within it from 0; `bad` is 1 where the transmission
    failed, 0 where it was acknowledged, -1 where that is unknown.
    """

    exchange: Array
    packet: Array
    t_ns: Array
    nth: Array
    bad: Array
    rate_mbps: Array
    streams: Array
    width_mhz: Array
    airtime_us: Array
    mpdu_bytes: Array
    signal_dbm: Array
    ampdu: Array

    @cached_property
    def took_us(self) -> Array:
        """Time of the channel that each took with spaces and mean backoff: no more than until the next of its exchange."""
        mean = transmission_us(np.nan_to_num(self.airtime_us), self.rate_mbps, self.nth)
        again = self.exchange[1:] == self.exchange[:-1]
        gap_us = np.where(again, np.maximum(self.t_ns[1:] - self.t_ns[:-1], 0) / 1e3, np.inf)
        return np.asarray(np.minimum(mean, np.append(gap_us, [np.inf])[: len(mean)]))
