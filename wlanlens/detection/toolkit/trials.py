"""Transmissions as trials of the channel, and the chance of each to fail if errors were independent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wlanlens.airtime import vectors
from wlanlens.detection.toolkit.air import Air
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.tables.columns import Array, numbered_rising

#: Vectors of `Exchanges` and `Transmissions` that the core makes trials of, with the time that each took.
_OF_EXCHANGES = ("pair", "first", "heard", "inferred", "missed_last", "first_packet")
_OF_TRANSMISSIONS = ("packet", "nth", "bad", "mpdu_bytes", "ampdu", "rate_mbps", "airtime_us")
#: Trials by which the failure rate of a block is drawn towards that of the whole capture.
_PRIOR_TRIALS = 4


@dataclass
class Trials:
    """Trials by pair and time. All MPDUs of one A-MPDU are one trial.

    Attributes
    ----------
    pair : array
        The station pair.
    bad : array
        1 failed, 0 acknowledged, -1 unknown. An A-MPDU is bad when at least half of its MPDUs of known fate failed.
    inferred : array of bool
        The sniffer missed it.
    exchange, packet : array
        Its exchange and packet number; those of a neighbour where it was missed.
    stratum : array
        Number of its rate and length class.
    took_us : array
        Time of the channel that it took.
    """

    pair: Array
    bad: Array
    inferred: Array
    exchange: Array
    packet: Array
    stratum: Array
    took_us: Array


def channel_trials(facts: Facts) -> Trials:
    """Every transmission as a trial: those that the sniffer missed precede the first that it heard."""
    air = facts.cached(Air)
    e, a = air.exchanges, air.transmissions
    exchanges = {name: getattr(e, name) for name in _OF_EXCHANGES}
    transmissions = {name: getattr(a, name) for name in _OF_TRANSMISSIONS}
    return Trials(**vectors.channel_trials(exchanges, {**transmissions, "took_us": a.took_us}))


def failure_chances(bad: Array, stratum: Array, block: int) -> Array:
    """Each trial's chance to fail: the failure rate of its stratum in its block of trials.

    Parameters
    ----------
    bad, stratum : array
        Whether each trial failed, and its stratum.
    block : int
        Trials of one block. The rate is drawn towards the stratum's rate over all blocks.
    """
    _, kind = numbered_rising(stratum)
    whole = np.bincount(kind, bad) / np.bincount(kind)
    _, cell = numbered_rising(kind * (len(bad) // block + 1) + np.arange(len(bad)) // block)
    size = np.bincount(cell)
    return np.asarray((np.bincount(cell, bad)[cell] + _PRIOR_TRIALS * whole[kind]) / (size[cell] + _PRIOR_TRIALS))
