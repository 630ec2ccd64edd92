"""Airtime arithmetic of 802.11 DCF: what a transmission costs with its spaces, its ACK and its backoff."""

from __future__ import annotations

import math

import numpy as np

from wlanlens.tables.columns import Array

#: Rates of the DSSS and CCK PHYs, Mbit/s: their slot is 20 us and their ACKs are slow.
DSSS_MBPS = (1.0, 2.0, 5.5, 11.0)

#: Time of a transmission besides its own airtime, us. DSSS with long preamble: DIFS 50, SIFS 10, an ACK at 2 Mbit/s 248.
#: OFDM: DIFS 34, SIFS 16, an ACK at 24 Mbit/s 28.
DSSS_OVERHEAD_US, OFDM_OVERHEAD_US = 308.0, 78.0
#: Slot and smallest contention window of both (IEEE 802.11-2020 Tables 15-7, 16-4 and 17-21).
DSSS_SLOT_US, OFDM_SLOT_US, DSSS_CW, OFDM_CW = 20.0, 9.0, 32, 16
#: Largest contention window of both.
MAX_CW = 1024
#: Retries that double the window: 16 times 2^10 is more than the largest one.
_DOUBLINGS = 10


def is_dsss(rate_mbps: Array) -> Array:
    """Whether rates are those of the DSSS and CCK PHYs."""
    return np.isin(rate_mbps, DSSS_MBPS)


def transmission_us(airtime_us: Array, rate_mbps: Array, nth: Array) -> Array:
    """Time of the channel that transmissions take: airtime, inter-frame spaces, the ACK or its absence, mean backoff.

    Parameters
    ----------
    airtime_us, rate_mbps : array
        Airtime and rate of each transmission.
    nth : array
        Its number within the exchange, from 0: the contention window doubles with it (IEEE 802.11-2020 10.3.3).
    """
    slow = is_dsss(rate_mbps)
    # A table is faster than a power of each number.
    backoff_us = np.array(
        [
            slot_us * (np.minimum(window * 2.0 ** np.arange(_DOUBLINGS + 1), MAX_CW) - 1) / 2
            for slot_us, window in ((OFDM_SLOT_US, OFDM_CW), (DSSS_SLOT_US, DSSS_CW))
        ]
    )
    backoff = backoff_us.ravel().take(slow * (_DOUBLINGS + 1) + np.minimum(nth, _DOUBLINGS).astype(np.int64))
    return np.asarray(airtime_us + np.where(slow, DSSS_OVERHEAD_US, OFDM_OVERHEAD_US) + backoff)


def steady_us(airtime_us: float, rate_mbps: float, success: float, limit: int) -> float:
    """Mean time of a delivered MSDU at one steady rate.

    Parameters
    ----------
    airtime_us, rate_mbps : float
        Airtime of one transmission, and its rate.
    success : float
        Chance that a transmission succeeds.
    limit : int
        Most transmissions of one MSDU.
    """
    n = np.arange(max(1, limit))
    reached = (1 - success) ** n
    each = transmission_us(np.full(len(n), airtime_us), np.full(len(n), rate_mbps), n)
    arrives = 1 - (1 - success) ** len(n)
    return float((reached * each).sum() / arrives) if arrives > 0 else math.inf
