"""Transmissions as trials of the channel, and the chance of each to fail if errors were independent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wlanlens.detection.toolkit.air import Air
from wlanlens.detection.toolkit.airtime import transmission_us
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.tables.columns import NULL, Array, ordered_by

#: Most inferred transmissions of one exchange that become trials: above any retry limit that devices use.
_MAX_INFERRED = 32
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
    # MPDUs of an A-MPDU are not told apart, so those missed are not counted.
    alone = a.ampdu[e.first] == NULL
    missed = np.repeat(np.arange(len(e)), np.where(alone, np.clip(e.inferred - e.missed_last, 0, _MAX_INFERRED), 0))
    # If only the ACK of the last transmission was heard, it follows the others.
    late = np.flatnonzero(e.missed_last & alone)
    last = e.first[late] + e.heard[late] - 1
    exchange = np.concatenate((missed, a.exchange, late))
    phase = np.repeat([0, 1, 2], [len(missed), len(a), len(late)])
    packet = np.concatenate((e.first_packet[missed], a.packet, a.packet[last]))
    # Exchanges are in order of pair.
    of_pair = np.cumsum(np.diff(e.pair, prepend=e.pair[:1]) != 0)
    order = ordered_by(of_pair[exchange], 3 * packet + phase)
    source = np.concatenate((e.first[missed], np.arange(len(a)), last))[order]
    exchange, phase, packet = exchange[order], phase[order], packet[order]
    pair, ampdu = e.pair[exchange], a.ampdu[source]
    bad = np.where(phase == 0, 1, np.where(phase == 2, 0, a.bad[source]))
    new = np.ones(len(order), bool)
    new[1:] = (pair[1:] != pair[:-1]) | (ampdu[1:] != ampdu[:-1]) | (ampdu[1:] == NULL)
    start = np.flatnonzero(new) if len(new) else np.zeros(0, np.int64)
    size = np.diff(np.append(start, len(order)))
    known = np.add.reduceat((bad >= 0).astype(np.int64), start) if len(start) else size
    failed = np.add.reduceat((bad == 1).astype(np.int64), start) if len(start) else size
    # An A-MPDU costs its airtime and one backoff.
    airtime = np.add.reduceat(np.nan_to_num(a.airtime_us[source]), start) if len(start) else np.zeros(0)
    first = source[start]
    took = a.took_us[first]
    several = np.flatnonzero(size > 1)
    took[several] = transmission_us(airtime[several], a.rate_mbps[first[several]], a.nth[first[several]])
    rate = np.nan_to_num(a.rate_mbps[first], nan=0.0) * 64
    length = np.log2(np.maximum(a.mpdu_bytes[first], 1)).astype(np.int64)
    return Trials(
        pair=pair[start],
        bad=np.where(known == 0, -1, (2 * failed >= known).astype(np.int64)),
        inferred=phase[start] != 1,
        exchange=exchange[start],
        packet=packet[start],
        stratum=rate.astype(np.int64) * 32 + np.where(size > 1, 31, length),
        took_us=took,
    )


def failure_chances(bad: Array, stratum: Array, block: int) -> Array:
    """Each trial's chance to fail: the failure rate of its stratum in its block of trials.

    Parameters
    ----------
    bad, stratum : array
        Whether each trial failed, and its stratum.
    block : int
        Trials of one block. The rate is drawn towards the stratum's rate over all blocks.
    """
    _, kind = np.unique(stratum, return_inverse=True)
    whole = np.bincount(kind, bad) / np.bincount(kind)
    _, cell = np.unique(kind * (len(bad) // block + 1) + np.arange(len(bad)) // block, return_inverse=True)
    size = np.bincount(cell)
    return np.asarray((np.bincount(cell, bad)[cell] + _PRIOR_TRIALS * whole[kind]) / (size[cell] + _PRIOR_TRIALS))
