"""How long a USB bus takes for the transfers of an endpoint that always has one outstanding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wlanlens.capture.usb import FRAME_NS, FULL_SPEED_PACKET_BYTES, FULL_SPEED_PACKETS, Transfers
from wlanlens.tables.columns import Array


@dataclass(frozen=True)
class BusyTransfers:
    """Transfers of an endpoint in runs without long pauses.

    A transfer's service runs from its submission, or the completion before it, to its completion.

    Attributes
    ----------
    rows : array
        Positions in the endpoint's transfers.
    size : array
        Bytes.
    service_ns : array
        Service of each.
    depth : array
        Transfers outstanding after submission.
    follows : array of bool
        Not the first of its run. The service of the first depends on when within a frame the application wrote.
    received : array
        Full-speed packets of the transfers of other endpoints of the bus that were completed in the service.
    lasted_ns : int
        Length of all runs.
    """

    rows: Array
    size: Array
    service_ns: Array
    depth: Array
    follows: Array
    received: Array
    lasted_ns: int

    @classmethod
    def of(
        cls, t: Transfers, others: Sequence[Transfers], *, pause_ns: int, busy_share: float, least: int, jitter_ns: int
    ) -> BusyTransfers:
        """Find the runs.

        Parameters
        ----------
        t : Transfers
            Transfers of one endpoint.
        others : sequence of Transfers
            Those of the other endpoints of its bus.
        pause_ns : int
            Longest pause within a run.
        busy_share : float
            Least share of a run with a transfer outstanding.
        least : int
            Fewest transfers of a run.
        jitter_ns : int
            Completions of one frame are no further apart.
        """
        rows = np.flatnonzero(t.size_bytes > 0)
        begin, end = t.t_begin_ns[rows], t.t_complete_ns[rows]
        service = end - begin
        if not len(rows):
            none = np.zeros(0, np.int64)
            return cls(none, none, none, none, np.zeros(0, bool), none, 0)
        run = np.concatenate(([0], np.cumsum(begin[1:] - end[:-1] > pause_ns)))
        first = np.flatnonzero(np.diff(run, prepend=-1))
        last = np.append(first[1:], len(rows)) - 1
        lasted = end[last] - begin[first]
        good = (np.add.reduceat(service, first) >= busy_share * lasted) & (last - first >= least - 1)
        kept = good[run]
        follows = np.ones(len(rows), bool)
        follows[first] = False
        return cls(
            rows[kept],
            t.size_bytes[rows][kept],
            service[kept],
            t.queue_depth[rows][kept],
            follows[kept],
            _carried(others, begin[kept] + jitter_ns, end[kept] + jitter_ns),
            int(lasted[good].sum()),
        )

    def __len__(self) -> int:
        return len(self.size)

    def span_ns(self, t: Transfers) -> tuple[int, int]:
        """From the first of these transfers to the end of the last; `t`: as in `of`."""
        return int(t.t_begin_ns[self.rows[0]]), int(t.t_complete_ns[self.rows[-1]])

    @property
    def service_frames(self) -> Array:
        """Service of each in frames of the bus; not whole numbers."""
        return np.asarray(self.service_ns / FRAME_NS)

    @property
    def transactions(self) -> Array:
        """Full-speed packets of each transfer."""
        return -(-self.size // FULL_SPEED_PACKET_BYTES)

    @property
    def needed_frames(self) -> Array:
        """Frames that each transfer needs if the whole of a frame is used, with those of the other endpoints."""
        return -(-(self.transactions + self.received) // FULL_SPEED_PACKETS)

    @property
    def whole_frames(self) -> Array:
        """Frames that each transfer took, rounded."""
        return np.asarray(np.rint(self.service_frames).astype(np.int64))

    @property
    def bytes_per_ms(self) -> float:
        """Bytes moved in a frame of 1 ms."""
        return float(self.size.sum()) * FRAME_NS / max(1, self.lasted_ns)

    def one_transaction_a_frame(self, least: int, turnaround: float) -> float:
        """Share of the transfers of at least `least` transactions that took a frame for each, and a turnaround."""
        long = (self.transactions >= least) & self.follows
        over = (self.service_frames - self.transactions)[long]
        enough = len(over) >= self.follows.sum() / 2
        return float(np.mean((over >= -0.5) & (over <= turnaround))) if enough else 0.0

    def earliest_end(self, jitter: float) -> float:
        """Share of the transfers that took exactly the frames they need, or up to those needed with the other endpoints."""
        if not self.follows.any():
            return 0.0
        alone = -(-self.transactions // FULL_SPEED_PACKETS)
        inside = (self.whole_frames >= alone) & (self.whole_frames <= self.needed_frames)
        return float(np.mean((inside & (np.abs(self.service_frames - self.whole_frames) <= jitter))[self.follows]))

    def waits_for_frames(self, jitter: float, least: float, most: float) -> bool:
        """Whether services are whole frames (90 % of them), on average `least` to `most` more than needed."""
        off = np.abs(self.service_frames - self.whole_frames)[self.follows]
        waits = float(np.mean((self.whole_frames - self.needed_frames)[self.follows]))
        return bool(np.mean(off <= jitter) >= 0.9 and least <= waits <= most)

    def repeats(self, most: int) -> float:
        """Share of the transfers of the commonest length whose frames repeat with a period of at most `most` transfers."""
        transactions, frames = self.transactions[self.follows], self.whole_frames[self.follows]
        kinds, times = np.unique(transactions, return_counts=True)
        frames = frames[transactions == kinds[np.argmax(times)]]
        periods = range(1, most + 1)
        return max(float(np.mean(frames[p:] == frames[:-p])) if len(frames) > p else 0.0 for p in periods)

    def alike(self, least: int) -> float:
        """Share of the transfers that took as many frames as most of those with as many packets of their own and of others on the
        bus; of fewer than `least` nothing shows that, and they are at most half of all."""
        kinds = np.stack((self.transactions, self.received))[:, self.follows]
        frames = self.whole_frames[self.follows]
        _, kind, times = np.unique(kinds, axis=1, return_inverse=True, return_counts=True)
        pairs, number = np.unique(np.stack((kind.ravel(), frames)), axis=1, return_counts=True)
        most = np.zeros(len(times), np.int64)
        np.maximum.at(most, pairs[0], number)
        often = times >= least
        known = int(times[often].sum())
        return float(most[often].sum() / known) if 2 * known >= len(frames) > 0 else 0.0


def _carried(others: Sequence[Transfers], after_ns: Array, until_ns: Array) -> Array:
    """Full-speed packets of the transfers completed in each time; a short packet, at times an empty one, ends each."""
    t_ns = np.concatenate([np.zeros(0, np.int64), *(t.t_complete_ns for t in others)])
    size = np.concatenate([np.zeros(0, np.int64), *(t.size_bytes for t in others)])
    order = np.argsort(t_ns, kind="stable")
    packets = np.where(size > 0, size // FULL_SPEED_PACKET_BYTES + 1, 0)[order]
    total, t_ns = np.concatenate(([0], np.cumsum(packets))), t_ns[order]
    before, until = (np.searchsorted(t_ns, limit, side="right") for limit in (after_ns, until_ns))
    return np.asarray(total[until] - total[before])
