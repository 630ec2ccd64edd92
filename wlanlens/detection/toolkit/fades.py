"""Fades: drops of a station's signal in which its transmissions fail more often than outside them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wlanlens.detection.toolkit.air import Air
from wlanlens.detection.toolkit.signal_drops import Drop
from wlanlens.detection.toolkit.station_pairs import capture_of, receiver_of, transmitter_of
from wlanlens.detection.toolkit.statistics import binomial_tail
from wlanlens.tables.columns import NULL, Array


@dataclass
class Fade:
    """A drop in which transmissions failed.

    Attributes
    ----------
    pair : int
        The station pair with most of the transmissions.
    drop : Drop
    transmissions, failed : int
    outside, p_value : float
        Share that failed outside all drops of the station, and p-value of the failures inside.
    wasted_s, cost_s : float
        Airtime of failed transmissions, and seconds of throughput that are missing.
    lost : int
        Dropped packets.
    evidence : array
        Packets of the failed transmissions.
    """

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
class StationDrops:
    """Transmissions of known fate from or to a station, by time, inside and outside the drops of its signal.

    Attributes
    ----------
    air : Air
    address : int
        Number of the station's address.
    exchanges : array of bool
        The station's exchanges.
    mine, t, bad, inside : array
        Transmissions: position in `Air.transmissions`, time, whether it failed, whether it is inside a drop.
    outside : float
        Share of those outside the drops that failed; never quite 0.
    """

    air: Air
    address: int
    exchanges: Array
    mine: Array
    t: Array
    bad: Array
    inside: Array
    outside: float

    @classmethod
    def of(cls, air: Air, capture: int, address: int, drops: list[Drop]) -> StationDrops | None:
        """None where no transmission is inside the drops or none is outside."""
        e, a = air.exchanges, air.transmissions
        exchanges = capture_of(e.pair) == capture
        exchanges &= (transmitter_of(e.pair) == address) | (receiver_of(e.pair) == address)
        mine = air.transmissions_of(np.flatnonzero(exchanges))
        mine = mine[(a.bad[mine] >= 0) & (a.t_ns[mine] != NULL)]
        mine = mine[np.argsort(a.t_ns[mine], kind="stable")]
        t, bad = a.t_ns[mine], a.bad[mine] == 1
        starts, ends = np.array([d.t_start_ns for d in drops]), np.array([d.t_end_ns for d in drops])
        drop = np.searchsorted(starts, t, side="right") - 1
        inside = (drop >= 0) & (t < ends[np.maximum(drop, 0)])
        if inside.all() or not inside.any():
            return None
        outside = float((bad & ~inside).sum() + 1) / (int((~inside).sum()) + 2)
        return cls(air, address, exchanges, mine, t, bad, inside, outside)

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

    def fade(self, drop: Drop, factor: float, chance_share: float, around_ns: int) -> Fade | None:
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
        return Fade(
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
        done = np.flatnonzero(self.exchanges & e.delivered)
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
