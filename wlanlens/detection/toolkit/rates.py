"""Bit rates of a station pair: how often each was used, how often it worked, and the one that is best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wlanlens.detection.toolkit.air import Air
from wlanlens.detection.toolkit.airtime import steady_us
from wlanlens.tables.columns import Array, numbered_rising

#: IEEE 802.11-2020, receiver minimum sensitivity in dBm: of the DSSS and CCK rates (15.4.6.2, 16.3.8.2; 5.5 Mbit/s, for which it has
#: none, has half the bits of 11), and up to which rate of one stream in 20 MHz of OFDM (17.3.10.2, 19.3.19.1, 21.3.18.1).
_DSSS_DBM = {1.0: -80, 2.0: -80, 5.5: -79, 11.0: -76}
_OFDM_DBM = (
    (7.5, -82),
    (9.0, -81),
    (15.0, -79),
    (22.5, -77),
    (30.0, -74),
    (45.0, -70),
    (52.0, -66),
    (60.0, -65),
    (75.0, -64),
)
_MOST_DBM = -57


@dataclass
class RateUse:
    """Rates of one pair, rising.

    Attributes
    ----------
    rate, tried, settled, good : array
        Rate in Mbit/s, its transmissions, those of known fate, those acknowledged.
    streams, width_mhz : float
        Most streams and widest channel used.
    """

    rate: Array
    tried: Array
    settled: Array
    good: Array
    streams: float
    width_mhz: float


def rates_used(air: Air, span: slice, streams: float = np.inf, width_mhz: float = np.inf) -> RateUse:
    """Rates of the exchanges in `span`; more streams or width than given count as what the given ones carry."""
    a, mine = air.transmissions, air.transmissions_in(span)
    rates, many, wide, bad = a.rate_mbps[mine], a.streams[mine], a.width_mhz[mine], a.bad[mine]
    rated = ~np.isnan(rates)
    if not rated.all():
        rates, many, wide, bad = (values[rated] for values in (rates, many, wide, bad))
    if np.isfinite(streams) or np.isfinite(width_mhz):
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = rates * (np.fmin(1.0, streams / many) * np.fmin(1.0, width_mhz / wide))
    rate, at = numbered_rising(rates)
    tried = np.bincount(at, minlength=len(rate))
    unsettled = np.bincount(at[bad < 0], minlength=len(rate))
    failed = np.bincount(at[bad > 0], minlength=len(rate))
    # `fmax.reduce` ignores NaN where there is a number.
    most, widest = np.fmax.reduce(many, initial=np.nan), np.fmax.reduce(wide, initial=np.nan)
    return RateUse(
        rate=rate,
        tried=tried,
        settled=tried - unsettled,
        good=tried - unsettled - failed,
        streams=1.0 if np.isnan(most) else float(most),
        width_mhz=20.0 if np.isnan(widest) else float(widest),
    )


def required_dbm(rate_mbps: float, streams: float, width_mhz: float) -> float:
    """The signal with which every receiver of the standard hears a rate of so many streams in a channel of this width."""
    if rate_mbps in _DSSS_DBM:
        return _DSSS_DBM[rate_mbps]
    wide = max(1.0, width_mhz / 20)
    each = rate_mbps / max(1.0, streams) / wide
    least = next((dbm for most, dbm in _OFDM_DBM if each <= most), _MOST_DBM)
    # Each doubling of the width doubles the noise.
    return least + 10 * float(np.log10(wide))


def highest_working(used: RateUse, least: int, failed_share: float) -> tuple[float, float] | None:
    """The highest rate with at least this many settled transmissions and at most this share of failures.

    Returns
    -------
    tuple of float or None
        The rate and its share of success, zeros where no rate works; None where none was used often enough.
    """
    often = used.settled >= least
    if not often.any():
        return None
    success = used.good / np.maximum(used.settled, 1)
    works = np.flatnonzero(often & (success >= 1 - failed_share))
    return (float(used.rate[works[-1]]), float(success[works[-1]])) if len(works) else (0.0, 0.0)


@dataclass(frozen=True)
class SteadyRate:
    """The rate at which a delivered packet would take least time: its chance of success, and that time."""

    rate_mbps: float
    success: float
    packet_us: float


def best_steady_rate(rate: Array, bad: Array, airtime_us: Array, *, limit: int, least: int) -> SteadyRate | None:
    """The best of the rates with at least `least` transmissions of known fate; None where no rate works.

    Parameters
    ----------
    rate, bad, airtime_us : array
        Of each transmission: rate in Mbit/s, 1 failed, 0 acknowledged or -1 unknown, airtime.
    limit : int
        Most transmissions of one packet.
    least : int
        Transmissions from which a chance of success is taken.
    """
    known = (bad >= 0) & ~np.isnan(rate)
    rates, at = numbered_rising(rate[known])
    tried = np.bincount(at, minlength=len(rates))
    good = np.bincount(at, bad[known] == 0, len(rates))
    length = np.bincount(at, airtime_us[known], len(rates)) / np.maximum(tried, 1)
    out = []
    for i in np.flatnonzero((tried >= least) & (good > 0)).tolist():
        success = float(good[i] / tried[i])
        out.append((steady_us(float(length[i]), float(rates[i]), success, limit), float(rates[i]), success))
    if not out:
        return None
    took, best, success = min(out)
    return SteadyRate(best, success, took)
