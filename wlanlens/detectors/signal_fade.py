from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from wlanlens.detection.remedy import Remedy
from wlanlens.detection.toolkit import (
    Air,
    DropSearch,
    Facts,
    Fade,
    Finding,
    StationDrops,
    count,
    duration,
    moment,
    p_value_text,
)
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace


@detector(
    "signal_fade",
    needs=("frames", "exchanges"),
    saving="setback",
    remedy=Remedy(
        "Station and access point: shorten the distance, move the antenna or the obstacle, use a second access "
        "point with fast roaming (802.11r/k/v), or the 2.4 GHz band through walls. Rate control that steps "
        "down within one frame keeps the loss short.",
        "capture the air again at the same place: the signal stays within 10 dB of its usual value, or frames "
        "arrive during the fade at a lower rate.",
    ),
)
def signal_fade(
    trace: Trace,
    *,
    drop_db_ratio: float = 10.0,
    bin_ms: float = 100.0,
    least_frames_count: int = 5,
    failed_factor: float = 2.0,
    chance_share: float = 0.001,
    spread_factor: float = 4.0,
    block_s: float = 5.0,
    blocks_count: int = 5,
    shifts_share: float = 0.01,
    one_fade_chance_share: float = 0.01,
    around_s: float = 1.0,
) -> Iterator[Finding]:
    """The signal of a station drops, and its frames fail while it is low.

    What it finds
    -------------
    Fades: intervals in which a transmitter's signal is far below its own baseline and transmissions from or to it fail
    more often than otherwise. The cost is the missing throughput: the length of the fade times the share by which the
    bytes delivered per second fall short of those around it. Airtime wasted on failed transmissions is part of it.

    Why it happens
    --------------
    People, doors and the station itself move; waves that arrive on several paths cancel out. Retries come within
    milliseconds and a fade lasts hundreds of them, so all transmissions of a packet fail and TCP waits for its timer.

    How it decides
    --------------
    `bin_ms`: the signal is the median of a transmitter's frames in each bin; long enough for frames of a slow link, short
    against a fade that matters.
    `block_s`, `blocks_count`: the baseline is a running median over the medians of this many blocks; a walk moves it, a fade
    of up to ten seconds does not.
    `drop_db_ratio`: a fade is a run of bins this far below the baseline; 10 dB is the step from "all arrive" to "none do" at any rate.
    `spread_factor`: and below it by this many of the bins' usual spreads. It lasts from the first to the last frame below
    by more than half the depth; `least_frames_count`: with at least this many such frames.
    `failed_factor`: transmissions fail at least this many times as often as outside fades.
    `chance_share`: largest p-value (binomial) of the failures in all fades; `one_fade_chance_share`: of those in one fade.
    `shifts_share`: largest share of all shifts of the fades in time that meet as many failures; errors in bursts meet a
    fade by chance.
    `around_s`: throughput before and after a fade is taken over the fade's own length, at least this.

    What fools it
    -------------
    Interference makes frames fail without a change of signal: silent. Drops without failures are silent. The sniffer
    hears the transmitter over another path than the receiver does; that is why failures must come with the drop. A fade
    so deep that the sniffer hears no frame at all cannot be seen.

    References
    ----------
    The study of TCP over bursty 802.11b channels, figure 1; Rappaport, "Wireless Communications", chapter 5.
    """
    air = Facts.of(trace).cached(Air)
    search = DropSearch(
        drop_db_ratio, spread_factor, int(bin_ms * 1e6), int(block_s * 1e9), blocks_count, least_frames_count
    )
    found: list[Finding] = []
    for capture, address, drops in search.drops(air):
        station = StationDrops.of(air, capture, address, drops)
        if station is None or station.share < failed_factor * station.outside:
            continue
        if station.p_value > chance_share or station.share_of_shifts() > shifts_share:
            continue
        fades = (station.fade(drop, failed_factor, one_fade_chance_share, int(around_s * 1e9)) for drop in drops)
        found += [_finding(air, fade) for fade in fades if fade is not None]
    yield from air.costliest("signal_fade", found)


def _finding(air: Air, fade: Fade) -> Finding:
    d = fade.drop
    length_s = (d.t_end_ns - d.t_start_ns) / 1e9
    lost = f"; {count(fade.lost, 'packet was', 'packets were')} dropped" if fade.lost else ""
    return air.finding(
        "signal_fade",
        fade.pair,
        d.t_start_ns,
        d.t_end_ns,
        cost_s=fade.cost_s,
        confidence=0.9,
        values={
            "depth_db_ratio": d.depth_db,
            "baseline_dbm": d.baseline_dbm,
            "duration_s": length_s,
            "frames_count": d.frames,
            "attempts_count": fade.transmissions,
            "failed_count": fade.failed,
            "failed_share": fade.failed / fade.transmissions,
            "failed_outside_share": fade.outside,
            "p_value_share": fade.p_value,
            "dropped_packets_count": fade.lost,
            "wasted_airtime_s": fade.wasted_s,
        },
        evidence=fade.evidence,
        sentence=(
            f"{air.subject(fade.pair)}: from {moment(d.t_start_ns)} for {duration(length_s)} the signal fell by {d.depth_db:.0f} dB "
            f"and {fade.failed} of {fade.transmissions} transmissions failed, against {100 * fade.outside:.1f} % otherwise "
            f"({p_value_text(fade.p_value)}){lost}; this cost {duration(fade.cost_s)} of throughput."
        ),
    )
