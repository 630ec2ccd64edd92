"""Drops of a transmitter's signal below its own baseline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from wlanlens.detection.toolkit.air import Air
from wlanlens.detection.toolkit.rows import key_groups
from wlanlens.tables.columns import NULL, Array

#: Bins without a low frame that do not end a drop.
_GAP_BINS = 2
#: Standard deviations of a normal variable in its median absolute deviation.
_SD_OF_MAD = 1.4826


@dataclass
class Drop:
    """An interval of low signal."""

    t_start_ns: int
    t_end_ns: int
    frames: int
    depth_db: float
    baseline_dbm: float


@dataclass(frozen=True)
class DropSearch:
    """What counts as a drop.

    Attributes
    ----------
    drop_db, spread_factor : float
        Least depth below the baseline, and least depth in usual spreads of the bins.
    bin_ns, block_ns, blocks : int
        Length of a bin and of a block, and blocks whose medians make the baseline.
    least : int
        Frames of a drop.
    """

    drop_db: float
    spread_factor: float
    bin_ns: int
    block_ns: int
    blocks: int
    least: int

    def drops(self, air: Air) -> Iterator[tuple[int, int, list[Drop]]]:
        """Each transmitter with drops: number of the capture, number of the address, the drops."""
        f = air.frames
        rows = np.flatnonzero((f.ta >= 0) & ~np.isnan(f.signal_dbm) & (f.t_ns != NULL))
        station = (f.capture[rows] << 24) + f.ta[rows]
        # NumPy sorts numbers of two bytes by counting, in one pass.
        small = station.astype(np.uint16) if len(station) and station.max() < 1 << 16 else station
        order = np.argsort(small, kind="stable")
        rows, station = rows[order], station[order]
        first, length = key_groups(station)
        for start, n in zip(first.tolist(), length.tolist(), strict=True):
            if n < 4 * self.least:
                continue
            mine = rows[start : start + n]
            t = f.t_ns[mine]
            if (t[1:] < t[:-1]).any():
                in_time = np.argsort(t, kind="stable")
                mine, t = mine[in_time], t[in_time]
            found = self._of_station(t, f.signal_dbm[mine])
            if found:
                yield int(station[start]) >> 24, int(station[start]) & 0xFFFFFF, found

    def _of_station(self, t_ns: Array, signal: Array) -> list[Drop]:
        found = []
        for start, end, depth, baseline in self._low_bins(t_ns, signal):
            low, high = np.searchsorted(t_ns, [start - self.bin_ns, end + self.bin_ns])
            below = t_ns[low:high][signal[low:high] < baseline - depth / 2]
            # A drop ends at its last low frame, not at the end of a bin.
            if len(below) >= self.least and below[-1] - below[0] >= self.bin_ns // 2:
                found.append(Drop(int(below[0]), int(below[-1]) + 1, len(below), depth, baseline))
        return found

    def _low_bins(self, t_ns: Array, signal: Array) -> list[tuple[int, int, float, float]]:
        """Runs of bins below the baseline: start, end, depth in dB, baseline in dBm."""
        bins, level = _medians(t_ns // self.bin_ns, signal)
        blocks, calm = _medians(t_ns // self.block_ns, signal)
        if len(blocks) > 1:
            padded = np.pad(calm, self.blocks // 2, mode="edge")
            calm = np.median(np.lib.stride_tricks.sliding_window_view(padded, self.blocks), axis=1)
        baseline = np.interp(bins * self.bin_ns, blocks * self.block_ns + self.block_ns // 2, calm)
        depth = baseline - level
        spread = _SD_OF_MAD * float(np.median(np.abs(depth - np.median(depth))))
        low = np.flatnonzero(depth >= max(self.drop_db, self.spread_factor * spread))
        if not len(low):
            return []
        begin = np.flatnonzero(np.concatenate(([True], np.diff(bins[low]) > _GAP_BINS + 1)))
        end = np.append(begin[1:], len(low)) - 1
        out = []
        for i, j in zip(begin.tolist(), end.tolist(), strict=True):
            inside = low[i : j + 1]
            start_ns, end_ns = int(bins[low[i]]) * self.bin_ns, (int(bins[low[j]]) + 1) * self.bin_ns
            out.append((start_ns, end_ns, float(np.median(depth[inside])), float(np.median(baseline[inside]))))
        return out


def _medians(group: Array, values: Array) -> tuple[Array, Array]:
    """Groups that occur, rising, and the lower median of each."""
    order = np.lexsort((values, group))
    first, length = key_groups(group[order])
    return group[order][first], values[order][first + (length - 1) // 2]
