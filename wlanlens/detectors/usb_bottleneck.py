from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.capture.usb import FULL_SPEED_BYTES_PER_MS, HIGH_SPEED_BYTES_PER_MS, Transfers, bulk
from wlanlens.detection.remedy import Remedy
from wlanlens.detection.toolkit import BusyTransfers, Finding, Undecided, bit_rate, count, duration, make_finding
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace


@dataclass(frozen=True)
class _Mode:
    """What limits, how sure that is, and what the bus could carry otherwise."""

    name: str
    confidence: float
    better_bytes_per_ms: int
    clause: str


_BREADTH = _Mode(
    "breadth first, no reclamation", 0.95, FULL_SPEED_BYTES_PER_MS, "carried one 64-byte transaction per frame"
)
_DEPTH = _Mode(
    "depth first, no reclamation",
    0.7,
    FULL_SPEED_BYTES_PER_MS,
    "left the same number of frames idle after each transfer",
)
_TURNS = _Mode(
    "full speed, one transfer at a time",
    0.8,
    FULL_SPEED_BYTES_PER_MS,
    "was idle from the end of each transfer to the end of its frame",
)
_FULL = _Mode("full speed, saturated", 0.8, HIGH_SPEED_BYTES_PER_MS, "carried as much as full speed allows")
_HIGH = _Mode("high speed, saturated", 0.8, 10 * HIGH_SPEED_BYTES_PER_MS, "carried as much as high speed allows")


@detector(
    "usb_bottleneck",
    needs=("urbs",),
    phrase="the USB bus limited it",
    category="usb",
    saving="bus",
    remedy=Remedy(
        "Host's USB: connect the adapter to a faster port (USB 2 or 3, no hub); on a full-speed bus turn on "
        "bandwidth reclamation in the host controller's driver (Linux: uhci-hcd has it on) and let the "
        "adapter's driver queue several transfers.",
        "capture with usbmon again: the endpoint is idle for a part of the time, or moves more bytes in each "
        "millisecond.",
        by_value="mode",
        changes={
            _FULL.name: "Host's USB: connect the adapter to a port of USB 2 or later, without a full-speed hub between; an adapter "
            "of full speed (12 Mbit/s) cannot carry more.",
            _HIGH.name: "Host's USB: connect the adapter to a port of USB 3, without a hub that other devices share.",
            _TURNS.name: "Adapter's driver: submit the next transfer before the last is complete (several URBs); update it, or "
            "connect the adapter to a port of USB 2 or later.",
        },
    ),
)
def usb_bottleneck(
    trace: Trace,
    *,
    least_transfers_count: int = 20,
    pause_ms: float = 1.0,
    busy_share: float = 0.9,
    alike_share: float = 0.9,
    full_share: float = 0.8,
    over_full_factor: float = 1.02,
    run_count: int = 5,
    long_transfer_packets: int = 4,
    jitter_ms: float = 0.25,
    turnaround_ms: float = 2.2,
    least_wait_ms: float = 0.9,
    most_wait_ms: float = 2.6,
    period_count: int = 4,
) -> Iterator[Finding | Undecided]:
    """The USB bus, not the air, limits what the adapter sends.

    What it finds
    -------------
    Bulk OUT endpoints that always have transfers outstanding and move bytes exactly as fast as the mode of their bus
    allows: one 64-byte transaction per frame (breadth first without bandwidth reclamation: 512 kbit/s, 0.44-0.46 Mbit/s of
    TCP), frames left idle after each transfer (depth first without reclamation: 2.9 Mbit/s of TCP one transfer at a time,
    3.8 queued), a driver that waits for each transfer's completion, which comes at the frame's end (5.8 Mbit/s even with
    reclamation), or a full bus. The cost is the time of these transfers beyond what the bus needs with reclamation
    (19 transactions per frame); on a full bus, beyond what the next faster bus needs.

    Why it happens
    --------------
    A UHCI host controller walks a list of queues once per frame of 1 ms. Breadth first, it takes one transaction of each;
    depth first, it empties one queue before the next. A submission after its walk waits for the next frame, because
    completions are reported at the end of a frame. Full-speed bandwidth reclamation links the list into a ring, so that
    the whole frame is used.

    How it decides
    --------------
    A run is at least `run_count` transfers (fewer are one message of an application) with no pause longer than `pause_ms`
    (beyond a driver's reaction to a completion) and a transfer outstanding for `busy_share` of the time (an idle sender
    waits for nothing). All runs together need `least_transfers_count` transfers; fewer can look alike by chance. A
    transfer's service runs from its submission, or the completion before it, to its completion; the first of a run is not
    judged, because its service depends on when in a frame the application wrote.
    Breadth first: in `alike_share` of the transfers of at least `long_transfer_packets` transactions (fewer may fit one
    transaction per frame and 19 alike), service takes as many frames as transactions, and at most `turnaround_ms` more for a
    submission that missed the frame's start. Backoff and retries on the air would spread it.
    Depth first: services are whole frames (within `jitter_ms`: delay of the interrupt and of the timestamp), on average
    `least_wait_ms` to `most_wait_ms` more than the bus needs for them and for what the other endpoints, such as the one of received
    frames, moved meanwhile (a missed frame, and one more where an ACK had to come first); and `alike_share` of them either repeat
    with a period of at most `period_count` transfers (two segments and an ACK, twice), or take as many frames as most transfers
    beside which the bus carried as much. Otherwise the device may have limited the bus: undecided.
    One at a time: `alike_share` of the transfers end in the earliest possible frame beside the other endpoints, and none is submitted before the
    previous one is complete. If some are, the bus began each in its own frame, which is depth first.
    Full: bytes per millisecond from `full_share` (controllers and hubs lose some) to `over_full_factor` (rounding) of what
    full or high speed carries.

    What fools it
    -------------
    An adapter that accepts data only as fast as the air allows refuses the bus's transactions (NAK): transfers are always
    outstanding too. Its services vary; where they do not, as with a rate limit in its firmware, depth first is a wrong
    answer. Captures do not hold the speed of the bus: a high-speed device exactly at full speed's limit looks like a full
    bus. IN transfers are outstanding whether or not there is data, so they show nothing.

    References
    ----------
    USB 2.0 sections 5.3.3 and 5.8.4; UHCI Design Guide 1.1 section 3.4; the study of 802.11b adapters on USB, section
    4.1.2, table 2 and appendix A.
    """
    every = list(bulk(trace.table("urbs")))
    for transfers in every:
        if transfers.endpoint.direction != "out":
            continue
        busy = BusyTransfers.of(
            transfers,
            [t for t in every if t is not transfers and t.endpoint.is_on_bus_of(transfers.endpoint)],
            pause_ns=int(pause_ms * 1e6),
            busy_share=busy_share,
            least=run_count,
            jitter_ns=int(jitter_ms * 1e6),
        )
        if len(busy) < least_transfers_count:
            continue
        waits = busy.waits_for_frames(jitter_ms, least_wait_ms, most_wait_ms)
        mode: _Mode | None = None
        if busy.one_transaction_a_frame(long_transfer_packets, turnaround_ms) >= alike_share:
            mode = _BREADTH
        elif full_share <= busy.bytes_per_ms / FULL_SPEED_BYTES_PER_MS <= over_full_factor:
            mode = _FULL
        elif full_share <= busy.bytes_per_ms / HIGH_SPEED_BYTES_PER_MS <= over_full_factor:
            mode = _HIGH
        elif busy.earliest_end(jitter_ms) >= alike_share:
            mode = _TURNS if busy.depth.max(initial=0) == 1 else _DEPTH
        elif waits and max(busy.repeats(period_count), busy.alike(run_count)) >= alike_share:
            mode = _DEPTH
        if mode is not None:
            yield _finding(trace, transfers, busy, mode)
        elif waits:
            yield Undecided(
                "usb_bottleneck",
                "Transfers were always outstanding and waited for whole frames, but not always for the same number: the bus "
                "limited, or the device did while it waited for the air. A capture of the air would show which.",
                subject=str(transfers.endpoint),
                spans=((str(transfers.endpoint), *busy.span_ns(transfers)),),
            )


def _finding(trace: Trace, transfers: Transfers, busy: BusyTransfers, mode: _Mode) -> Finding:
    rows, endpoint = busy.rows, transfers.endpoint
    start_ns, end_ns = busy.span_ns(transfers)
    moved = int(busy.size.sum())
    busy_s = busy.lasted_ns / 1e9
    cost_s = busy_s - moved / mode.better_bytes_per_ms / 1e3
    depth = int(busy.depth.max(initial=0))
    speed = moved * 8 / busy_s if busy_s > 0 else 0.0
    return make_finding(
        code="usb_bottleneck",
        t_start_ns=start_ns,
        t_end_ns=end_ns,
        capture=endpoint.capture,
        subject=str(endpoint),
        cost_s=cost_s,
        lifetime_s=trace.duration_ns / 1e9,
        confidence=mode.confidence,
        values={
            "mode": mode.name,
            "queueing": "queued" if depth > 1 else "one at a time",
            "busy_s": busy_s,
            "throughput_bps": speed,
            "moved_bytes_per_ms": busy.bytes_per_ms,
            "transfers_count": len(rows),
            "service_mean_ms": float(busy.service_ns.mean()) / 1e6,
            "service_sd_ms": float(busy.service_ns.std()) / 1e6,
            "unused_frames_count": int(np.maximum(busy.whole_frames - busy.needed_frames, 0).sum()),
            "queue_depth_max_count": depth,
        },
        evidence={"urbs": transfers.packet[rows]},
        sentence=(
            f"{endpoint}: the bus {mode.clause} ({mode.name}): {count(len(rows), 'transfer')} moved {bit_rate(speed)}, "
            f"some always outstanding, and took {duration(max(0.0, cost_s))} longer than a better bus needs."
        ),
    )
