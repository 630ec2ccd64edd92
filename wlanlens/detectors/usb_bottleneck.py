from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.capture.usb import (
    FRAME_NS,
    FULL_SPEED_BYTES_PER_MS,
    FULL_SPEED_PACKET_BYTES,
    FULL_SPEED_PACKETS,
    HIGH_SPEED_BYTES_PER_MS,
    Transfers,
    bulk,
)
from wlanlens.detection.finding import Finding, Undecided, Value
from wlanlens.detection.toolkit.findings import make_finding
from wlanlens.formatting import bit_rate, count, duration
from wlanlens.registry import detector
from wlanlens.tables.columns import Array

if TYPE_CHECKING:
    from wlanlens.trace import Trace

#: Transactions from which a transfer tells a bus that carries one a frame from one that carries 19.
_TELLING = 4
#: A completion is reported at a frame's end: the interrupt's delay and the stamp's, in frames.
_JITTER = 0.25
#: Frames that a transfer may wait without reclamation beyond those it needs: one for a submission that missed the frame's
#: start, one more where an ACK had to come first, and a share of one for where the submission fell.
_TURNAROUND, _WAITS = 2.2, 2.6
#: Transfers in a row: fewer are a message of an application, which then has nothing more to send.
_ROW = 5
#: Periods of a deterministic bus: two segments and an ACK, with a second such pair for good measure.
_PERIODS = (1, 2, 3, 4)


@dataclass(frozen=True)
class _Mode:
    """What limits, how sure that is, and what the bus could carry otherwise."""

    name: str
    confidence: float
    better_bytes_per_ms: int
    says: str


_BREADTH = _Mode(
    "breadth first, no reclamation", 0.95, FULL_SPEED_BYTES_PER_MS, "carried one 64-byte transaction a frame"
)
_DEPTH = _Mode(
    "depth first, no reclamation", 0.7, FULL_SPEED_BYTES_PER_MS, "left frames idle after every transfer, always as many"
)
_TURNS = _Mode(
    "full speed, one transfer at a time",
    0.8,
    FULL_SPEED_BYTES_PER_MS,
    "stood still from the end of each transfer to the end of its frame",
)
_FULL = _Mode("full speed, saturated", 0.8, HIGH_SPEED_BYTES_PER_MS, "was as full as a full-speed bus can be")
_HIGH = _Mode("high speed, saturated", 0.8, 10 * HIGH_SPEED_BYTES_PER_MS, "was as full as a high-speed bus can be")


@detector("usb_bottleneck", needs=("urbs",))
def usb_bottleneck(
    trace: Trace,
    *,
    least_transfers_count: int = 20,
    pause_ms: float = 1.0,
    busy_share: float = 0.9,
    alike_share: float = 0.9,
    full_share: float = 0.8,
) -> Iterator[Finding | Undecided]:
    """The USB bus, not the air, limits what the adapter sends.

    What it finds
    -------------
    Bulk OUT endpoints that have transfers outstanding all the time and move bytes as fast as the mode of their bus
    allows, no faster and no slower: one 64-byte transaction a frame (breadth first without bandwidth reclamation: 512
    kbit/s, 0.44-0.46 Mbit/s of TCP), frames left idle after each transfer (depth first without reclamation: 2.9 Mbit/s
    of TCP one transfer at a time, 3.8 queued), a driver that waits for each transfer's completion, which comes at the
    frame's end (5.8 Mbit/s even with reclamation), or a bus that is full. The cost is the time these transfers took beyond
    what the bus needs with reclamation (19 transactions a frame); on a full one, beyond what the next faster bus needs.

    Why it happens
    --------------
    A UHCI host controller walks a list of queues once a frame of 1 ms. Breadth first it takes one transaction of each;
    depth first it empties one queue before the next, and a submission made after its walk waits for the next frame, for
    completions are told at the frame's end. Full-speed bandwidth reclamation links the list into a ring, so that the
    whole frame is used.

    How it decides
    --------------
    Stretches of five transfers and more in which no pause between them is longer than `pause_ms` (1: beyond a driver's
    reaction to a completion) and something is outstanding for `busy_share` of the time (0.9: an idle sender has
    nothing to wait for).
    Together they need `least_transfers_count` transfers (20: fewer can look alike by chance). A transfer's service runs
    from its submission, or the completion before it, to its completion; that of a stretch's first depends on when in
    a frame the application wrote, and is not judged.
    Breadth first: in `alike_share` of the transfers of four transactions or more, service takes as many frames as there
    are transactions, and up to 2.2 more for the turnaround. The air cannot do that: its backoff and retries spread.
    Depth first: services are whole frames, on the average 0.9 to 2.6 more than the bus needs, and `alike_share` of them
    repeat with a period of at most four transfers. Without the repetition the device may have held the bus back, and
    the case is undecided.
    One at a time: `alike_share` of the transfers end in the frame in which the bus can end them at the earliest, and
    none is submitted before the one before it is done. Where some are, the bus has begun each in a frame of its own,
    which is depth first again.
    Full: bytes a millisecond within `full_share` (0.8: controllers and hubs lose some) of what full or high speed carries.

    What fools it
    -------------
    An adapter that takes data only as fast as the air lets it refuses the bus's transactions (NAK): transfers are
    outstanding all the time as well. Its services vary; where they do not, as with a rate limit in its firmware, depth
    first is believed wrongly. Captures do not tell the bus's speed: a high-speed device at exactly full-speed's limit
    looks like a full bus. IN transfers are outstanding whether there is data or not and tell nothing.

    References
    ----------
    USB 2.0 sections 5.3.3 and 5.8.4; UHCI Design Guide 1.1 section 3.4; the study of 802.11b adapters on USB, section
    4.1.2, table 2 and appendix A.
    """
    for transfers in bulk(trace.table("urbs")):
        if transfers.who.direction != "out":
            continue
        busy = _Busy.of(transfers, int(pause_ms * 1e6), busy_share)
        if len(busy.size) < least_transfers_count:
            continue
        mode = busy.mode(alike_share, full_share)
        if mode is not None:
            yield _finding(trace, transfers, busy, mode)
        elif busy.may_wait_for_the_bus():
            yield Undecided(
                "usb_bottleneck",
                "Transfers were outstanding all the time and waited for whole frames, but not always as many: the bus may "
                "have limited, or the device, waiting for the air. A capture of the air would tell.",
                subject=str(transfers.who),
            )


@dataclass(frozen=True)
class _Busy:
    """The transfers of an endpoint while something was outstanding; `follows`: not the first of its stretch."""

    rows: Array
    size: Array
    service_ns: Array
    depth: Array
    follows: Array
    lasted_ns: int

    @classmethod
    def of(cls, t: Transfers, pause_ns: int, busy_share: float) -> _Busy:
        """Those of stretches without long pauses, outstanding nearly all the time."""
        rows = np.flatnonzero(t.size_bytes > 0)
        begin, end = t.t_begin_ns[rows], t.t_complete_ns[rows]
        service = end - begin
        stretch = np.zeros(len(rows), np.int64)
        if len(rows):
            stretch[1:] = np.cumsum(begin[1:] - end[:-1] > pause_ns)
        first = np.flatnonzero(np.diff(stretch, prepend=-1))
        last = np.append(first[1:], len(rows)) - 1
        lasted = end[last] - begin[first]
        waited = np.add.reduceat(service, first) if len(rows) else service
        good = (waited >= busy_share * lasted) & (last - first >= _ROW - 1)
        kept = good[stretch] if len(rows) else np.zeros(0, bool)
        follows = np.ones(len(rows), bool)
        follows[first] = False
        return cls(
            rows[kept],
            t.size_bytes[rows][kept],
            service[kept],
            t.queue_depth[rows][kept],
            follows[kept],
            int(lasted[good].sum()),
        )

    @property
    def transactions(self) -> Array:
        """Full-speed packets of each transfer."""
        return -(-self.size // FULL_SPEED_PACKET_BYTES)

    @property
    def needed_frames(self) -> Array:
        """Frames that each needs when all of a frame is used."""
        return -(-self.transactions // FULL_SPEED_PACKETS)

    @property
    def frames(self) -> Array:
        """Frames that each took."""
        return np.asarray(np.rint(self.service_ns / FRAME_NS).astype(np.int64))

    @property
    def bytes_per_ms(self) -> float:
        """Bytes moved in a millisecond."""
        return float(self.size.sum()) * FRAME_NS / max(1, self.lasted_ns)

    def mode(self, alike: float, full: float) -> _Mode | None:
        """The mode whose signature this is."""
        if self._one_a_frame() >= alike:
            return _BREADTH
        for mode, most in ((_FULL, FULL_SPEED_BYTES_PER_MS), (_HIGH, HIGH_SPEED_BYTES_PER_MS)):
            if full * most <= self.bytes_per_ms <= 1.02 * most:
                return mode
        if self._needs_all() >= alike:
            return _TURNS if self.depth.max(initial=0) == 1 else _DEPTH
        return _DEPTH if self.may_wait_for_the_bus() and self._repeats() >= alike else None

    def _one_a_frame(self) -> float:
        """Share of the telling transfers that took a frame for each transaction."""
        telling = (self.transactions >= _TELLING) & self.follows
        over = (self.service_ns / FRAME_NS - self.transactions)[telling]
        return float(np.mean((over >= -0.5) & (over <= _TURNAROUND))) if len(over) >= self.follows.sum() / 2 else 0.0

    def _needs_all(self) -> float:
        """Share of the transfers that took the frames they need, from a frame's begin, and no more."""
        if not self.follows.any():
            return 0.0
        over = (self.service_ns / FRAME_NS - self.needed_frames)[self.follows]
        return float(np.mean(np.abs(over) <= _JITTER))

    def may_wait_for_the_bus(self) -> bool:
        """Services are whole frames, some more than needed."""
        off = np.abs(self.service_ns / FRAME_NS - self.frames)[self.follows]
        waits = float(np.mean((self.frames - self.needed_frames)[self.follows]))
        return bool(np.mean(off <= _JITTER) >= 0.9 and 0.9 <= waits <= _WAITS)

    def _repeats(self) -> float:
        """Share of the transfers of the commonest length that took as many frames as some transfers before."""
        transactions, frames = self.transactions[self.follows], self.frames[self.follows]
        kinds, times = np.unique(transactions, return_counts=True)
        frames = frames[transactions == kinds[np.argmax(times)]]
        return max(float(np.mean(frames[p:] == frames[:-p])) if len(frames) > p else 0.0 for p in _PERIODS)


def _finding(trace: Trace, transfers: Transfers, busy: _Busy, mode: _Mode) -> Finding:
    rows, who = busy.rows, transfers.who
    moved = int(busy.size.sum())
    busy_s = busy.lasted_ns / 1e9
    cost_s = busy_s - moved / mode.better_bytes_per_ms / 1e3
    unused = int(np.maximum(busy.frames - busy.needed_frames, 0).sum())
    depth = int(busy.depth.max(initial=0))
    speed = moved * 8 / busy_s if busy_s > 0 else 0.0
    values: dict[str, Value] = {
        "mode": mode.name,
        "queueing": "queued" if depth > 1 else "one at a time",
        "busy_s": busy_s,
        "throughput_bps": speed,
        "moved_bytes_per_ms": busy.bytes_per_ms,
        "transfers_count": len(rows),
        "service_mean_ms": float(busy.service_ns.mean()) / 1e6,
        "service_sd_ms": float(busy.service_ns.std()) / 1e6,
        "unused_frames_count": unused,
        "queue_depth_max_count": depth,
    }
    return make_finding(
        code="usb_bottleneck",
        t_start_ns=int(transfers.t_begin_ns[rows[0]]),
        t_end_ns=int(transfers.t_complete_ns[rows[-1]]),
        capture=who.capture,
        subject=str(who),
        cost_s=cost_s,
        lifetime_s=trace.duration_ns / 1e9,
        confidence=mode.confidence,
        values=values,
        evidence={"urbs": transfers.packet[rows]},
        sentence=(
            f"{who}: the bus {mode.says} ({mode.name}): {count(len(rows), 'transfer')} moved {bit_rate(speed)} while some "
            f"were outstanding all the time, and took {duration(max(0.0, cost_s))} longer than a better bus needs."
        ),
    )
