from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.finding import Finding
from wlanlens.detection.toolkit.air import Air, binomial_tail, chance
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import key_groups
from wlanlens.formatting import duration, moment
from wlanlens.registry import detector
from wlanlens.tables.columns import NULL, Array

if TYPE_CHECKING:
    from wlanlens.trace import Trace

#: Blocks whose medians make the baseline, and how many: a fade of up to ten seconds does not move it, a walk does.
_BLOCK_NS, _BLOCKS = 5_000_000_000, 5
#: Share of time shifts of the fades that may explain as many failures.
_SHIFTS_SHARE = 0.01
#: Throughput before and after a fade is taken over its own length, at least this.
_AROUND_NS = 1_000_000_000


@detector("signal_fade", needs=("frames", "exchanges"))
def signal_fade(
    trace: Trace,
    *,
    drop_db_ratio: float = 10.0,
    bin_ms: float = 100.0,
    least_frames_count: int = 5,
    failed_factor: float = 2.0,
    chance_share: float = 0.001,
) -> Iterator[Finding]:
    """The signal of a station drops, and its frames fail while it is low.

    What it finds
    -------------
    Fades: spells in which a transmitter's signal lies far below its own baseline, and in which attempts from or to it
    fail more often than otherwise. The cost is the throughput that is missing: the fade's length times the share by
    which the bytes delivered in it, a second, fall short of those around it. Airtime wasted on failed attempts is in it.

    Why it happens
    --------------
    People, doors and the station itself move; waves that arrive on several paths cancel out. Retries come within
    milliseconds and a fade lasts hundreds of them, so all attempts of a packet fail and TCP's timer has to help.

    How it decides
    --------------
    The signal is the median of a transmitter's frames in each `bin_ms` (100 ms: long enough for frames of a slow link,
    short against a fade that hurts). The baseline is a running median of five blocks of 5 s, which follows a walk but no
    fade. A fade is a run of bins, `least_frames_count` frames at least, that lie below the baseline by `drop_db_ratio` dB
    and by four times the bins' usual spread; 10 dB is a change from "all arrive" to "none do" at any one rate. It lasts from
    the first to the last frame that lies below by more than half the fade's depth.
    `failed_factor`: attempts fail so many times as often as outside fades. `chance_share`: and the p-value (binomial) of
    so many failures is at most this; besides, no more than 1 % of all shifts of the fades in time may meet as many
    failures, for errors that come in bursts meet a fade by chance.

    What fools it
    -------------
    Interference makes frames fail with the signal as it was: silent. Dips that hurt nobody are silent. The sniffer hears
    the transmitter over another path than the receiver does; that is why failures must go with it. A fade so deep that
    the sniffer hears no frame at all cannot be seen.

    References
    ----------
    The study of TCP over bursty 802.11b channels, figure 1; Rappaport, "Wireless Communications", chapter 5.
    """
    air = Facts.of(trace).cached(Air)
    fades: list[_Fade] = []
    for station, low in _drops(air, drop_db_ratio, int(bin_ms * 1e6), least_frames_count):
        fades += _hurting(air, station, low, failed_factor, chance_share)
    yield from air.rest("signal_fade", [_finding(air, fade) for fade in fades])


@dataclass
class _Drop:
    """A spell of low signal."""

    t_start_ns: int
    t_end_ns: int
    frames: int
    depth_db: float
    baseline_dbm: float


@dataclass
class _Fade:
    """A drop in which attempts failed."""

    pair: int
    drop: _Drop
    attempts: int
    failed: int
    outside: float
    p_value: float
    wasted_s: float
    cost_s: float
    lost: int
    evidence: Array


def _drops(air: Air, drop_db: float, bin_ns: int, least: int) -> Iterator[tuple[int, list[_Drop]]]:
    """Each transmitter (capture and number of the address) and its spells of low signal."""
    f = air.frames
    rows = np.flatnonzero((f.ta >= 0) & ~np.isnan(f.signal_dbm) & (f.t_ns != NULL))
    station = (f.capture[rows] << 24) + f.ta[rows]
    # Records stand in order of time but for a few; small numbers sort by counting.
    small = station.astype(np.uint16) if len(station) and station.max() < 1 << 16 else station
    order = np.argsort(small, kind="stable")
    rows, station = rows[order], station[order]
    first, length = key_groups(station)
    for start, n in zip(first.tolist(), length.tolist(), strict=True):
        if n < 4 * least:
            continue
        mine = rows[start : start + n]
        t = f.t_ns[mine]
        if (t[1:] < t[:-1]).any():
            again = np.argsort(t, kind="stable")
            mine, t = mine[again], t[again]
        found = []
        for a, b, depth, base in _low(t, f.signal_dbm[mine], drop_db, bin_ns):
            lo, hi = np.searchsorted(t, [a - bin_ns, b + bin_ns])
            below = t[lo:hi][f.signal_dbm[mine[lo:hi]] < base - depth / 2]
            # A fade ends where the signal comes back, not where a bin does; the time at its last frame is its own.
            if len(below) >= least and below[-1] - below[0] >= bin_ns // 2:
                found.append(_Drop(int(below[0]), int(below[-1]) + 1, len(below), depth, base))
        if found:
            yield int(station[start]), found


def _low(t_ns: Array, signal: Array, drop_db: float, bin_ns: int) -> list[tuple[int, int, float, float]]:
    """Spells below the baseline: start, end, depth in dB, baseline in dBm."""
    bins, level = _medians(t_ns // bin_ns, signal)
    blocks, calm = _medians(t_ns // _BLOCK_NS, signal)
    side = _BLOCKS // 2
    if len(blocks) > 1:
        padded = np.pad(calm, side, mode="edge")
        calm = np.median(np.lib.stride_tricks.sliding_window_view(padded, _BLOCKS), axis=1)
    base = np.interp(bins * bin_ns, blocks * _BLOCK_NS + _BLOCK_NS // 2, calm)
    depth = base - level
    spread = 1.4826 * float(np.median(np.abs(depth - np.median(depth))))
    low = np.flatnonzero(depth >= max(drop_db, 4 * spread))
    if not len(low):
        return []
    # A bin or two without a low frame do not end a fade.
    begin = np.flatnonzero(np.concatenate(([True], np.diff(bins[low]) > 3)))
    end = np.append(begin[1:], len(low)) - 1
    out = []
    for i, j in zip(begin.tolist(), end.tolist(), strict=True):
        inside = low[i : j + 1]
        a, b = int(bins[low[i]]) * bin_ns, (int(bins[low[j]]) + 1) * bin_ns
        out.append((a, b, float(np.median(depth[inside])), float(np.median(base[inside]))))
    return out


def _medians(group: Array, values: Array) -> tuple[Array, Array]:
    """Groups that occur, rising, and the (lower) median of each."""
    order = np.lexsort((values, group))
    first, length = key_groups(group[order])
    return group[order][first], values[order][first + (length - 1) // 2]


def _hurting(air: Air, station: int, drops: list[_Drop], factor: float, chance_share: float) -> list[_Fade]:
    """The drops in which attempts from or to the station failed more often than outside."""
    e, a = air.exchanges, air.attempts
    capture, number = station >> 24, station & 0xFFFFFF
    touched = (e.pair >> 48 == capture) & (((e.pair >> 24) & 0xFFFFFF == number) | (e.pair & 0xFFFFFF == number))
    mine = air.attempts_of(np.flatnonzero(touched))
    mine = mine[(a.bad[mine] >= 0) & (a.t_ns[mine] != NULL)]
    mine = mine[np.argsort(a.t_ns[mine], kind="stable")]
    t, bad = a.t_ns[mine], a.bad[mine] == 1
    if not len(mine):
        return []
    starts, ends = np.array([d.t_start_ns for d in drops]), np.array([d.t_end_ns for d in drops])
    at_ = np.searchsorted(starts, t, side="right") - 1
    inside = (at_ >= 0) & (t < ends[np.maximum(at_, 0)])
    n_in, n_out = int(inside.sum()), int((~inside).sum())
    if not n_in or not n_out:
        return []
    outside = float((bad & ~inside).sum() + 1) / (n_out + 2)
    share = float((bad & inside).sum()) / n_in
    p = binomial_tail(int((bad & inside).sum()), n_in, outside)
    if share < factor * outside or p > chance_share or _by_shift(inside, bad) > _SHIFTS_SHARE:
        return []
    done = np.flatnonzero(touched & e.delivered)
    done = done[np.argsort(e.t_last_ns[done], kind="stable")]
    t_done = e.t_last_ns[done]
    bytes_done = np.concatenate(([0], np.cumsum(np.maximum(e.mpdu_bytes[done], 0))))

    def delivered(start: int, end: int) -> int:
        lo, hi = np.searchsorted(t_done, [start, end])
        return int(bytes_done[hi] - bytes_done[lo])

    begin, stop = int(t[0]), int(t[-1])
    out = []
    for drop in drops:
        which = np.arange(*np.searchsorted(t, [drop.t_start_ns, drop.t_end_ns]))
        failed = int(bad[which].sum())
        if len(which) < 3 or failed < max(3.0, factor * outside * len(which)):
            continue
        if binomial_tail(failed, len(which), outside) > 0.01:
            continue
        length = drop.t_end_ns - drop.t_start_ns
        reach = max(length, _AROUND_NS)
        before, after = max(begin, drop.t_start_ns - reach), min(stop, drop.t_end_ns + reach)
        around_ns = max(0, drop.t_start_ns - before) + max(0, after - drop.t_end_ns)
        around = delivered(before, drop.t_start_ns) + delivered(drop.t_end_ns, after)
        within = delivered(drop.t_start_ns, drop.t_end_ns)
        missing = max(0.0, 1 - within / length / (around / around_ns)) if around and around_ns else 0.0
        exchange = a.exchange[mine[which]]
        pair = e.pair[exchange]
        own = pair[(pair >> 24) & 0xFFFFFF == number]
        names, times = np.unique(own if len(own) else pair, return_counts=True)
        failures = mine[which][bad[which]]
        out.append(
            _Fade(
                pair=int(names[times.argmax()]),
                drop=drop,
                attempts=len(which),
                failed=failed,
                outside=outside,
                p_value=p,
                wasted_s=float(np.nansum(a.airtime_us[failures])) / 1e6,
                cost_s=missing * length / 1e9,
                lost=int(e.dropped[np.unique(exchange)].sum()),
                evidence=a.packet[failures],
            )
        )
    return out


def _by_shift(inside: Array, bad: Array) -> float:
    """Share of the shifts of the fades, all round, that meet at least as many failures."""
    n = len(bad)
    met = np.fft.irfft(np.fft.rfft(bad.astype(float)) * np.conj(np.fft.rfft(inside.astype(float))), n)
    return float((met >= met[0] - 0.5).sum() / n)


def _finding(air: Air, fade: _Fade) -> Finding:
    d = fade.drop
    values: dict[str, float | int | str] = {
        "depth_db_ratio": d.depth_db,
        "baseline_dbm": d.baseline_dbm,
        "duration_s": (d.t_end_ns - d.t_start_ns) / 1e9,
        "frames_count": d.frames,
        "attempts_count": fade.attempts,
        "failed_count": fade.failed,
        "failed_share": fade.failed / fade.attempts,
        "failed_outside_share": fade.outside,
        "p_value_share": fade.p_value,
        "dropped_packets_count": fade.lost,
        "wasted_airtime_s": fade.wasted_s,
    }
    lost = f", {fade.lost} packets were dropped" if fade.lost > 1 else ", a packet was dropped" if fade.lost else ""
    length = (d.t_end_ns - d.t_start_ns) / 1e9
    return air.finding(
        "signal_fade",
        fade.pair,
        d.t_start_ns,
        d.t_end_ns,
        cost_s=fade.cost_s,
        confidence=0.9,
        values=values,
        evidence=fade.evidence,
        sentence=(
            f"{air.subject(fade.pair)}: from {moment(d.t_start_ns)} for {duration(length)} the signal fell by {d.depth_db:.0f} dB "
            f"and {fade.failed} of {fade.attempts} attempts failed, where {fade.outside:.1%} do otherwise "
            f"({chance(fade.p_value)}){lost}; throughput for {duration(fade.cost_s)} is missing."
        ),
    )
