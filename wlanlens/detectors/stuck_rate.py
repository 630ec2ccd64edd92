from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.finding import Finding, Undecided
from wlanlens.detection.toolkit.air import Air
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.formatting import count, duration
from wlanlens.registry import detector
from wlanlens.tables.columns import Array

if TYPE_CHECKING:
    from wlanlens.trace import Trace

#: Attempts at a rate that show that it works.
_ATTEMPTS = 20


@detector("stuck_rate", needs=("frames", "exchanges"))
def stuck_rate(
    trace: Trace,
    *,
    least_frames_count: int = 200,
    least_time_s: float = 2.0,
    same_share: float = 0.99,
    retry_share: float = 0.1,
    least_signal_dbm: float = -70.0,
    rate_factor: float = 1.8,
) -> Iterator[Finding | Undecided]:
    """A station never leaves a rate although the link would carry more.

    What it finds
    -------------
    Transmitters that send all their data to a receiver at one rate, with few retries and a good signal, while a much
    higher rate is known to work between the same two stations. The cost is the airtime that the higher rate would have
    spared.

    Why it happens
    --------------
    A driver fixes the rate, ignores the rates that the other end supports, or its rate control starts low and has no
    reason to try more. The paper's adapter sent everything at 2 Mbit/s under Linux and lost two thirds of its
    throughput; nothing in the retries shows it.

    How it decides
    --------------
    `same_share` of the attempts at one rate: a probe now and then would be rate control at work.
    `least_frames_count` attempts over `least_time_s`: rate control moves within a hundred frames, minstrel every 100 ms.
    `retry_share`: no more attempts than this failed; ARF steps down from 10 to 20 % on.
    `least_signal_dbm`: the median signal is at least this at the sniffer: 64-QAM needs -65 dBm or less in any receiver of
    the standard, CCK at 11 Mbit/s -76, and the sniffer is not the receiver.
    `rate_factor`: the receiver sends to the transmitter at this many times the rate, at least 20 times with no more
    failures than `retry_share`. Streams and width count as far as the transmitter uses them itself; 1.8 is between
    neighbours of the 802.11b ladder and above those of others, so that one step of caution is no finding.

    What fools it
    -------------
    A far station has low signal or retries. A network of one rate has nothing higher to show. Power may differ between
    the two ends: an access point that is heard well need not hear well; the signal is there for that. Where nothing
    shows what the pair supports, but others on the channel use more, it is undecided.

    References
    ----------
    The study of 802.11b adapters on USB, section 3.3 and table 1 (1.52 against 5.11 Mbit/s); IEEE 802.11-2020 15.4.6.2,
    16.3.8.2, 17.3.10.2 (receiver minimum sensitivity).
    """
    air = Facts.of(trace).cached(Air)
    e, a = air.exchanges, air.attempts
    spans = dict(air.pairs())
    used = [_rates(air, span) for span in spans.values()]
    each = a.rate_mbps / np.fmax(1.0, a.streams) / np.fmax(1.0, a.width_mhz / 20)
    highest = float(np.nanmax(each)) if (~np.isnan(each)).any() else 0.0
    unknown: list[int] = []
    for (pair, span), own in zip(spans.items(), used, strict=True):
        total = int(own.tried.sum())
        if total < least_frames_count:
            continue
        most = int(own.tried.argmax())
        # What the sniffer missed had failed, too.
        missed = int(e.inferred[span].sum())
        rate, failed = float(own.rate[most]), 1 - own.good.sum() / max(1, own.settled.sum() + missed)
        lasted_s = (int(e.t_last_ns[span].max()) - int(e.t_first_ns[span].min())) / 1e9
        if own.tried[most] < same_share * total or failed > retry_share or lasted_s < least_time_s:
            continue
        mine = air.attempts_of(np.arange(span.start, span.stop))
        signals = a.signal_dbm[mine][~np.isnan(a.signal_dbm[mine])]
        signal = float(np.median(signals)) if len(signals) else None
        if signal is not None and signal < least_signal_dbm:
            continue
        back = spans.get(air.reverse(pair))
        other = _works(_rates(air, back, own.streams, own.width_mhz), retry_share) if back is not None else None
        if other is None or other[0] < rate_factor * rate:
            # Nothing higher is heard between the two: unknown where others on the channel show more, a stream and 20 MHz.
            plain = rate / own.streams / max(1.0, own.width_mhz / 20)
            if (other is None or other[0] > 0) and highest >= rate_factor * plain:
                unknown.append(pair)
            continue
        better, success = other
        size = np.maximum(a.mpdu_bytes[mine], 0)
        cost_s = float(size.sum()) * 8 / 1e6 * (1 / rate - 1 / better)
        values: dict[str, float | int | str] = {
            "rate_mbps": rate,
            "frames_count": total,
            "same_rate_share": float(own.tried[most] / total),
            "failed_share": float(failed),
            "signal_dbm": signal if signal is not None else "unknown",
            "works_mbps": better,
            "works_success_share": success,
            "lasted_s": lasted_s,
        }
        heard = f" at {signal:.0f} dBm" if signal is not None else ""
        yield air.finding(
            "stuck_rate",
            pair,
            int(e.t_first_ns[span].min()),
            int(e.t_last_ns[span].max()),
            cost_s=cost_s,
            confidence=0.85 if signal is not None else 0.7,
            values=values,
            evidence=np.concatenate((a.packet[mine][:25], a.packet[mine][-25:])),
            sentence=(
                f"{air.subject(pair)}: {total} data frames in {duration(lasted_s)}, all at {rate:g} Mbit/s, though only "
                f"{failed:.1%} failed{heard} and {better:g} Mbit/s works the other way round; that took {duration(cost_s)} "
                "more of the air."
            ),
        )
    if unknown:
        yield air.undecided(
            "stuck_rate",
            unknown,
            f"{count(len(unknown), 'station pair')} used one rate only with few retries; nothing in the capture shows "
            "which rates they support.",
        )


@dataclass
class _Used:
    """Rates of one pair, rising: attempts, those whose fate is known, those that arrived; streams and width used."""

    rate: Array
    tried: Array
    settled: Array
    good: Array
    streams: float
    width_mhz: float


def _rates(air: Air, span: slice, streams: float = np.inf, width_mhz: float = np.inf) -> _Used:
    """Rates used; those with more streams or width than given are counted as what fewer of them carry."""
    a = air.attempts
    mine = air.attempts_of(np.arange(span.start, span.stop))
    mine = mine[~np.isnan(a.rate_mbps[mine])]
    many, wide = a.streams[mine], a.width_mhz[mine]
    with np.errstate(divide="ignore", invalid="ignore"):
        less = np.fmin(1.0, streams / many) * np.fmin(1.0, width_mhz / wide)
    rate, at = np.unique(a.rate_mbps[mine] * less, return_inverse=True)
    bad = a.bad[mine]
    return _Used(
        rate=rate,
        tried=np.bincount(at, minlength=len(rate)),
        settled=np.bincount(at, bad >= 0, len(rate)),
        good=np.bincount(at, bad == 0, len(rate)),
        streams=float(np.nanmax(many)) if (~np.isnan(many)).any() else 1.0,
        width_mhz=float(np.nanmax(wide)) if (~np.isnan(wide)).any() else 20.0,
    )


def _works(used: _Used, retry_share: float) -> tuple[float, float] | None:
    """The highest rate that is used often with few failures, and its success; None where none is known."""
    often = used.settled >= _ATTEMPTS
    if not often.any():
        return None
    success = used.good / np.maximum(used.settled, 1)
    works = np.flatnonzero(often & (success >= 1 - retry_share))
    return (float(used.rate[works[-1]]), float(success[works[-1]])) if len(works) else (0.0, 0.0)
