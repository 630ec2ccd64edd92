"""Ties: first transmissions of two stations that began in one slot and failed together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wlanlens.detection.toolkit.air import Air
from wlanlens.detection.toolkit.air_vectors import Exchanges
from wlanlens.detection.toolkit.airtime import DSSS_CW, OFDM_CW, is_dsss
from wlanlens.tables.columns import NULL, Array


@dataclass(frozen=True)
class TieSearch:
    """Pairs failed exchanges of one side with those of the other.

    Attributes
    ----------
    air : Air
        The exchanges.
    near : int
        Most exchanges between the retries of the two sides of a tie.
    around : int
        Exchanges around an event from which the rate of failures is taken.
    tie_ns : int
        Longest time between the starts of two transmissions in one slot.
    silence_ns : int
        Longest silence that a tie explains which the sniffer did not hear, besides its frames.
    """

    air: Air
    near: int
    around: int
    tie_ns: int
    silence_ns: int

    def pairs(self, data: Array, acks: Array, both: Array) -> tuple[Array, Array, Array]:
        """Failed exchanges that can be one tie, one to one.

        Parameters
        ----------
        data, acks : array
            Failed exchanges of either side.
        both : array
            All exchanges of both sides.

        Returns
        -------
        tuple of array
            The exchanges of data, those of ACKs, and whether the sniffer heard both first transmissions.
        """
        e = self.air.exchanges
        place = _places(e, both)
        data = data[np.argsort(place[data], kind="stable")]
        # Every failed ACK against the failed data around it.
        at = np.searchsorted(place[data], place[acks])[:, None] + np.arange(-self.near, self.near)
        inside = (at >= 0) & (at < len(data))
        other = data[np.clip(at, 0, len(data) - 1)]
        mine = np.broadcast_to(acks[:, None], other.shape)
        distance = np.abs(place[other] - place[mine])
        heard = e.first_heard[other] & e.first_heard[mine]
        overlap = _overlap(*(self._began(which, e.first_heard[which]) for which in (mine, other)))
        possible = np.where(heard, self._same_slot(mine, other), overlap)
        possible &= inside & (distance <= self.near)
        possible &= heard | ~self._silent(mine, other)
        # Of a tie the sniffer hears both frames or, more often, none.
        mixed = e.first_heard[other] != e.first_heard[mine]
        far = 4 * self.near
        score = np.where(possible, distance + (mixed - 2 * heard) * self.near, far)
        best = score.argmin(axis=1)
        rows = np.arange(len(acks))
        found = score[rows, best] < far
        made = np.stack((other[rows, best], acks, heard[rows, best], score[rows, best]))[:, found]
        # Each failed data frame pairs with one ACK: the nearest.
        made = made[:, np.lexsort((made[3], made[0]))]
        made = made[:, np.unique(made[0], return_index=True)[1]]
        return made[0], made[1], made[2] == 1

    def _same_slot(self, a: Array, b: Array) -> Array:
        """Whether two first transmissions began in one slot; timestamps may be of starts or of ends."""
        first, t_ns = self.air.exchanges.first, self.air.transmissions.t_ns
        apart = t_ns[first[a]] - t_ns[first[b]]
        length = self.air.transmissions.airtime_us * 1e3
        ends_apart = apart - (length[first[a]] - length[first[b]])
        return np.asarray((np.abs(apart) <= self.tie_ns) | (np.abs(ends_apart) <= self.tie_ns))

    def _began(self, which: Array, heard: Array) -> tuple[Array, Array]:
        """Between which times the first transmissions of exchanges began: one that the sniffer missed came after the station's exchange
        before and before its first retry heard."""
        e = self.air.exchanges
        before = np.maximum(which - 1, 0)
        # The first ACK heard may not have reached the transmitter: copies follow it.
        done = np.where(e.t_ack_ns[before] != NULL, np.maximum(e.t_ack_ns, e.t_last_ns)[before], e.t_last_ns[before])
        done = np.where((which == before) | (e.pair[before] != e.pair[which]), 0, done)
        t = e.t_first_ns[which]
        return np.where(heard, t - self.tie_ns, done), np.where(heard, t + self.tie_ns, t)

    def _silent(self, a: Array, b: Array) -> Array:
        """Whether the air was silent before the first retry of the two for longer than one tie takes."""
        e, frames = self.air.exchanges, self.air.frames
        sooner = np.where(e.t_first_ns[a] <= e.t_first_ns[b], a, b)
        row = self.air.frame_rows(e.pair[sooner] >> 48, e.first_packet[sooner])
        before = np.maximum(row - 1, 0)
        gap = frames.t_ns[row] - frames.t_ns[before]
        tie_us = np.fmax(mean_airtime_us(e, a), mean_airtime_us(e, b))
        # Timestamps are of starts or of ends: the frame at either end of the gap may be part of it.
        ends_us = np.fmax(np.fmax(frames.airtime_us[row], frames.airtime_us[before]), tie_us)
        longest = self.silence_ns + np.nan_to_num(tie_us + ends_us, nan=np.inf) * 1e3
        known = (row > 0) & (frames.t_ns[before] != NULL) & ~e.first_heard[sooner]
        return np.asarray(known & (gap > longest))

    def expected(self, data: Array, failed_acks: Array, both: Array) -> tuple[float, float]:
        """Expected number of failed ACKs that chance pairs with failed data: of pairs that the sniffer missed, and of those of which
        it heard one frame. It hears both only of a tie.

        Each data exchange near an ACK whose first transmission may have begun with the ACK's pairs with it if it failed, which is as
        likely as for the data around. `data`: all of it; the others as in `pairs`.
        """
        e = self.air.exchanges
        place = _places(e, both)
        data = data[np.argsort(place[data], kind="stable")]
        at = np.searchsorted(place[data], place[failed_acks])
        failed, heard = e.failed[data], e.first_heard[data]
        near = at[:, None] + np.arange(-self.near, self.near)
        other = data[np.clip(near, 0, len(data) - 1)]
        mine = np.broadcast_to(failed_acks[:, None], other.shape)
        inside = (near >= 0) & (near < len(data)) & (np.abs(place[other] - place[mine]) <= self.near)
        # An exchange that failed and was not heard lasts longer, by its retry.
        earliest, latest = self._began(data, np.zeros(len(data), bool))
        took, missed = latest - earliest, failed & ~heard
        longer = int(np.median(took[missed]) - np.median(took)) if missed.any() else 0
        whole = np.where(e.failed[other], 0, max(0, longer))
        acks_heard = e.first_heard[failed_acks]
        mine_began = self._began(mine, e.first_heard[mine])

        def by_chance(among: Array, other_heard: bool) -> Array:
            begins, ends = self._began(other, np.full(other.shape, other_heard))
            possible = inside & _overlap(mine_began, (begins, ends if other_heard else ends + whole))
            chance = np.clip(self._share_around(among, at), 0, 0.999)
            return np.asarray(1 - (1 - chance) ** possible.sum(axis=1))

        by_missed = by_chance(missed, other_heard=False)
        by_heard = by_chance(failed & heard, other_heard=True)
        return float(by_missed[~acks_heard].sum()), float(by_missed[acks_heard].sum() + by_heard[~acks_heard].sum())

    def _share_around(self, mask: Array, at: Array) -> Array:
        """Share of the rows around each place, without those near it, that are in the mask."""
        hits = np.concatenate(([0], np.cumsum(mask)))

        def within(reach: int) -> tuple[Array, Array]:
            low, high = np.maximum(at - reach, 0), np.minimum(at + reach, len(mask))
            return hits[high] - hits[low], high - low

        (near, near_n), (wide, wide_n) = within(self.near), within(self.around)
        return np.asarray((wide - near) / np.maximum(wide_n - near_n, 1))


def _overlap(a: tuple[Array, Array], b: tuple[Array, Array]) -> Array:
    """Whether two times between these limits can be one."""
    return np.asarray(np.maximum(a[0], b[0]) <= np.minimum(a[1], b[1]))


def ties_of_dcf(air: Air, acks: Array) -> float:
    """Expected ties of DCF if each ACK contends once: one in a contention window, for each station that sends ACKs."""
    e, a = air.exchanges, air.transmissions
    slots = np.where(is_dsss(a.rate_mbps[e.first[acks]]), DSSS_CW, OFDM_CW)
    return float((1 / slots).sum()) * len(np.unique(e.pair[acks]))


def mean_airtime_us(e: Exchanges, which: Array) -> Array:
    """Mean airtime of one transmission of these exchanges."""
    return np.asarray(e.airtime_us[which] / np.maximum(e.heard[which], 1))


def _places(e: Exchanges, both: Array) -> Array:
    """Positions of exchanges in their common order of time, by exchange."""
    both = both[e.lead[both]]
    out = np.full(len(e), NULL, np.int64)
    out[both[np.argsort(e.t_first_ns[both], kind="stable")]] = np.arange(len(both))
    return out
