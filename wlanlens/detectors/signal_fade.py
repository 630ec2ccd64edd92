from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.toolkit import (
    NULL,
    Air,
    Array,
    Drop,
    DropSearch,
    Facts,
    Finding,
    binomial_tail,
    capture_of,
    count,
    duration,
    moment,
    p_value_text,
    receiver_of,
    transmitter_of,
)
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace


@detector("signal_fade", needs=("frames", "exchanges"))
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
    `block_s`, `blocks_count`: the baseline is a running median over the medians of so many blocks; a walk moves it, a fade
    of up to ten seconds does not.
    `drop_db_ratio`: a fade is a run of bins so many dB below the baseline; 10 dB is the step from "all arrive" to "none do" at any rate.
    `spread_factor`: and below it by this many of the bins' usual spreads. It lasts from the first to the last frame below
    by more than half the depth; `least_frames_count`: with at least so many such frames.
    `failed_factor`: transmissions fail at least this many times as often as outside fades.
    `chance_share`: largest p-value (binomial) of so many failures in all fades; `one_fade_chance_share`: in one of them.
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
        station = _Station.of(air, capture, address, drops)
        if station is None or station.share < failed_factor * station.outside:
            continue
        if station.p_value > chance_share or station.share_of_shifts() > shifts_share:
            continue
        fades = (station.fade(drop, failed_factor, one_fade_chance_share, int(around_s * 1e9)) for drop in drops)
        found += [_finding(air, fade) for fade in fades if fade is not None]
    yield from air.costliest("signal_fade", found)


@dataclass
class _Fade:
    """A drop in which transmissions failed."""

    pair: int
    drop: Drop
    transmissions: int
    failed: int
    outside: float
    p_value: float
    wasted_s: float
    cost_s: float
    lost: int
    evidence: Array


@dataclass
class _Station:
    """Transmissions of known fate from or to a station, by time; `inside` its drops; share that failed outside them."""

    air: Air
    address: int
    touched: Array
    mine: Array
    t: Array
    bad: Array
    inside: Array
    outside: float

    @classmethod
    def of(cls, air: Air, capture: int, address: int, drops: list[Drop]) -> _Station | None:
        """None where no transmission is inside the drops or none is outside."""
        e, a = air.exchanges, air.transmissions
        touched = capture_of(e.pair) == capture
        touched &= (transmitter_of(e.pair) == address) | (receiver_of(e.pair) == address)
        mine = air.transmissions_of(np.flatnonzero(touched))
        mine = mine[(a.bad[mine] >= 0) & (a.t_ns[mine] != NULL)]
        mine = mine[np.argsort(a.t_ns[mine], kind="stable")]
        t, bad = a.t_ns[mine], a.bad[mine] == 1
        starts, ends = np.array([d.t_start_ns for d in drops]), np.array([d.t_end_ns for d in drops])
        drop = np.searchsorted(starts, t, side="right") - 1
        inside = (drop >= 0) & (t < ends[np.maximum(drop, 0)])
        if inside.all() or not inside.any():
            return None
        outside = float((bad & ~inside).sum() + 1) / (int((~inside).sum()) + 2)
        return cls(air, address, touched, mine, t, bad, inside, outside)

    @property
    def share(self) -> float:
        """Share of the transmissions inside the drops that failed."""
        return float((self.bad & self.inside).sum()) / int(self.inside.sum())

    @cached_property
    def p_value(self) -> float:
        """Of as many failures inside the drops, at the rate outside."""
        return binomial_tail(int((self.bad & self.inside).sum()), int(self.inside.sum()), self.outside)

    def share_of_shifts(self) -> float:
        """Share of the cyclic shifts of the drops that meet at least as many failures."""
        n = len(self.bad)
        failures, inside = (np.fft.rfft(x.astype(float)) for x in (self.bad, self.inside))
        met = np.fft.irfft(failures * np.conj(inside), n)
        return float((met >= met[0] - 0.5).sum() / n)

    def fade(self, drop: Drop, factor: float, chance_share: float, around_ns: int) -> _Fade | None:
        """A drop as a fade; None where it has too few failures."""
        e, a = self.air.exchanges, self.air.transmissions
        which = np.arange(*np.searchsorted(self.t, [drop.t_start_ns, drop.t_end_ns]))
        failed = int(self.bad[which].sum())
        if len(which) < 3 or failed < max(3.0, factor * self.outside * len(which)):
            return None
        if binomial_tail(failed, len(which), self.outside) > chance_share:
            return None
        exchange = a.exchange[self.mine[which]]
        pair = e.pair[exchange]
        own = pair[transmitter_of(pair) == self.address]
        names, times = np.unique(own if len(own) else pair, return_counts=True)
        failures = self.mine[which][self.bad[which]]
        return _Fade(
            pair=int(names[times.argmax()]),
            drop=drop,
            transmissions=len(which),
            failed=failed,
            outside=self.outside,
            p_value=self.p_value,
            wasted_s=float(np.nansum(a.airtime_us[failures])) / 1e6,
            cost_s=self._missing_s(drop, around_ns),
            lost=int(e.dropped[np.unique(exchange)].sum()),
            evidence=a.packet[failures],
        )

    @cached_property
    def _deliveries(self) -> tuple[Array, Array]:
        """Times of deliveries, and the bytes delivered before each and in all."""
        e = self.air.exchanges
        done = np.flatnonzero(self.touched & e.delivered)
        done = done[np.argsort(e.t_last_ns[done], kind="stable")]
        return e.t_last_ns[done], np.concatenate(([0], np.cumsum(np.maximum(e.mpdu_bytes[done], 0))))

    def _missing_s(self, drop: Drop, around_ns: int) -> float:
        """Seconds of the throughput around a drop that are missing in it."""
        times, total = self._deliveries

        def delivered(start: int, end: int) -> int:
            low, high = np.searchsorted(times, [start, end])
            return int(total[high] - total[low])

        length = drop.t_end_ns - drop.t_start_ns
        reach = max(length, around_ns)
        before, after = max(int(self.t[0]), drop.t_start_ns - reach), min(int(self.t[-1]), drop.t_end_ns + reach)
        outside_ns = max(0, drop.t_start_ns - before) + max(0, after - drop.t_end_ns)
        outside = delivered(before, drop.t_start_ns) + delivered(drop.t_end_ns, after)
        within = delivered(drop.t_start_ns, drop.t_end_ns)
        missing = max(0.0, 1 - within / length / (outside / outside_ns)) if outside and outside_ns else 0.0
        return missing * length / 1e9


def _finding(air: Air, fade: _Fade) -> Finding:
    d = fade.drop
    length_s = (d.t_end_ns - d.t_start_ns) / 1e9
    lost = f", {count(fade.lost, 'packet was', 'packets were')} dropped" if fade.lost else ""
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
            f"and {fade.failed} of {fade.transmissions} transmissions failed, against {fade.outside:.1%} otherwise "
            f"({p_value_text(fade.p_value)}){lost}; this cost {duration(fade.cost_s)} of throughput."
        ),
    )
