from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.remedy import Remedy
from wlanlens.detection.toolkit import (
    Air,
    Facts,
    Finding,
    Undecided,
    count,
    duration,
    highest_working,
    rates_used,
    required_dbm,
    reverse,
)
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace


def _phrase(finding: Finding) -> str:
    rate, works = (float(finding.values[name]) for name in ("rate_mbps", "works_mbps"))
    return f"a station sent all data at {rate:g} Mbit/s, although {works:g} Mbit/s works"


@detector(
    "stuck_rate",
    needs=("frames", "exchanges"),
    phrase=_phrase,
    saving="cost",
    remedy=Remedy(
        "Station that sends at this rate: remove the fixed rate (Linux: `iw dev wlan0 set bitrates` without "
        "arguments), update its driver, allow 802.11n or later at the access point (WMM on, no WEP or TKIP, "
        "which forbid its rates).",
        "capture the air again: the station uses the higher rate that the other end uses.",
    ),
)
def stuck_rate(
    trace: Trace,
    *,
    least_frames_count: int = 200,
    least_time_s: float = 2.0,
    same_share: float = 0.99,
    retry_share: float = 0.1,
    better_receiver_db: float = 10.0,
    rate_factor: float = 1.8,
    least_tried_count: int = 20,
) -> Iterator[Finding | Undecided]:
    """A station never leaves a rate although the link would carry more.

    What it finds
    -------------
    Transmitters that send all data to a receiver at one rate, with few retries and a good signal, while a much higher
    rate works between the same two stations. The cost is the airtime that the higher rate would have saved.

    Why it happens
    --------------
    A driver fixes the rate or ignores the rates that the other end supports, or its rate control starts low and has no
    reason to try more. The adapter of the study sent everything at 2 Mbit/s under Linux and lost two thirds of its
    throughput; no retry shows it.

    How it decides
    --------------
    `same_share`: least share of transmissions at one rate; occasional probes would be rate control at work.
    `least_frames_count`, `least_time_s`: transmissions and time; rate control moves within a hundred frames, minstrel every 100 ms.
    `retry_share`: most transmissions that failed; ARF steps down from 10 to 20 % on.
    `better_receiver_db`: each receiver of the standard hears the higher rate from its minimum sensitivity on (11 Mbit/s: -76 dBm,
    54: -65); good ones need this much less (Prism 2: -85 dBm for 11 Mbit/s). With a median signal below both at the sniffer the
    station is far: no finding; between them, it depends on the receiver: undecided.
    `rate_factor`: the receiver sends to the transmitter at this multiple of the rate, with no more failures than
    `retry_share`. Streams and width count as far as the transmitter uses them itself; 1.8 is between neighbours of the
    802.11b ladder and above those of others, so that one step of caution is no finding.
    `least_tried_count`: transmissions that show that a rate works.

    What fools it
    -------------
    A far station has low signal or retries. A network of one rate has no higher one to show. Power may differ between
    the two ends: an access point that is heard well may hear badly; the required signal covers this. If nothing shows
    what the pair supports, but others on the channel use more: undecided.

    References
    ----------
    The study of 802.11b adapters on USB, section 3.3 and table 1 (1.52 against 5.11 Mbit/s); IEEE 802.11-2020 15.4.6.2,
    16.3.8.2, 17.3.10.2 (receiver minimum sensitivity).
    """
    air = Facts.of(trace).cached(Air)
    e, a = air.exchanges, air.transmissions
    spans = air.pairs(min(least_frames_count, least_tried_count))
    per_stream = a.rate_mbps / np.fmax(1.0, a.streams) / np.fmax(1.0, a.width_mhz / 20)
    highest = float(np.nanmax(per_stream)) if (~np.isnan(per_stream)).any() else 0.0
    unknown: list[int] = []
    weak: list[int] = []
    for pair, span in spans.items():
        own = rates_used(air, span)
        total = int(own.tried.sum())
        if total < least_frames_count:
            continue
        most = int(own.tried.argmax())
        # The transmissions that the sniffer missed had failed too.
        missed = int(e.inferred[span].sum())
        rate, failed = float(own.rate[most]), 1 - own.good.sum() / max(1, own.settled.sum() + missed)
        t_start_ns, t_end_ns = int(e.t_first_ns[span].min()), int(e.t_last_ns[span].max())
        lasted_s = (t_end_ns - t_start_ns) / 1e9
        if own.tried[most] < same_share * total or failed > retry_share or lasted_s < least_time_s:
            continue
        mine = air.transmissions_in(span)
        signals = a.signal_dbm[mine][~np.isnan(a.signal_dbm[mine])]
        signal = float(np.median(signals)) if len(signals) else None
        back = spans.get(reverse(pair))
        other = None
        if back is not None:
            other = highest_working(rates_used(air, back, own.streams, own.width_mhz), least_tried_count, retry_share)
        if other is None or other[0] < rate_factor * rate:
            # The two show nothing higher; unknown where others on the channel do, per stream and 20 MHz.
            plain = rate / own.streams / max(1.0, own.width_mhz / 20)
            if (other is None or other[0] > 0) and highest >= rate_factor * plain:
                unknown.append(pair)
            continue
        better, success = other
        spare_db = 0.0 if signal is None else signal - required_dbm(better, own.streams, own.width_mhz)
        if spare_db < 0:
            if spare_db >= -better_receiver_db:
                weak.append(pair)
            continue
        cost_s = float(np.maximum(a.mpdu_bytes[mine], 0).sum()) * 8 / 1e6 * (1 / rate - 1 / better)
        heard = f" at {signal:.0f} dBm" if signal is not None else ""
        yield air.finding(
            "stuck_rate",
            pair,
            t_start_ns,
            t_end_ns,
            cost_s=cost_s,
            confidence=0.85 if signal is not None else 0.7,
            values={
                "rate_mbps": rate,
                "frames_count": total,
                "same_rate_share": float(own.tried[most] / total),
                "failed_share": float(failed),
                "signal_dbm": signal if signal is not None else "unknown",
                "works_mbps": better,
                "works_success_share": success,
                "lasted_s": lasted_s,
            },
            evidence=np.concatenate((a.packet[mine][:25], a.packet[mine][-25:])),
            sentence=(
                f"{air.subject(pair)}: {total} data frames in {duration(lasted_s)}, all at {rate:g} Mbit/s, although only "
                f"{100 * failed:.1f} % failed{heard} and {better:g} Mbit/s works in the other direction; this took {duration(cost_s)} "
                "more airtime."
            ),
        )
    if weak:
        yield air.undecided(
            "stuck_rate",
            weak,
            f"{count(len(weak), 'station pair')} used one rate only, although a higher one works in the other direction, but the "
            "signal is so weak that this depends on the receiver.",
        )
    if unknown:
        yield air.undecided(
            "stuck_rate",
            unknown,
            f"{count(len(unknown), 'station pair')} used one rate only, with few retries; the capture does not show "
            "which rates they support.",
        )
