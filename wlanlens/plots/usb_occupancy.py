"""How full the frames of a USB bus are: packets per 1 ms frame, and the share of the bus in use over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.capture.usb import (
    FRAME_NS,
    FULL_SPEED_BYTES_PER_MS,
    FULL_SPEED_PACKET_BYTES,
    HIGH_SPEED_BYTES_PER_MS,
    Transfers,
    bulk,
)
from wlanlens.plots._chart import Chart, Panel, Series, drawn, need, nothing, spans
from wlanlens.plots._figure import TIME
from wlanlens.plots._palette import LINES, STAGES
from wlanlens.registry import plot
from wlanlens.tables.columns import Array

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from wlanlens.detection.finding import Finding
    from wlanlens.trace import Trace

_NAME = "usb_occupancy"
_OUT = (STAGES["bus"].light, STAGES["bus"].dark)
_BINS = 20
"""Bars of the distribution on a high-speed bus: on a full-speed bus there is one for each number of 64-byte packets."""


@plot(_NAME, needs=("urbs",))
def usb_occupancy(
    trace: Trace,
    findings: Sequence[Finding] = (),
    *,
    capture: str | None = None,
    flow: int | None = None,  # noqa: ARG001  transfers belong to no flow
    direction: str | None = None,  # noqa: ARG001
    most_columns: int = 400,
) -> Figure:
    """Share of the 1 ms frames by how many bulk packets they carry, and the share of the bus in use over time.

    The bytes of an OUT transfer are spread over the frames from when it became the oldest outstanding until its
    completion; those of an IN transfer, which waits for the adapter, fill the frames before its completion. A full-speed
    frame holds 19 packets of 64 bytes (USB 2.0 table 5-9). Below, at most `most_columns` slices of time (400: two pixels
    each). Frames before the first and after the last transfer do not count.
    """
    return drawn(chart(trace, findings, capture=capture, most_columns=most_columns))


def chart(
    trace: Trace,
    findings: Sequence[Finding] = (),
    *,
    capture: str | None = None,
    flow: int | None = None,  # noqa: ARG001
    direction: str | None = None,  # noqa: ARG001
    most_columns: int = 400,
) -> Chart:
    """The figure as data.

    Raises
    ------
    NothingToDraw
        The capture has no bulk transfers with bytes.
    """
    need(trace, _NAME, "urbs")
    found = [t for t in bulk(trace.table("urbs")) if capture in (None, t.endpoint.capture) and t.size_bytes.sum()]
    if not found:
        raise nothing(
            trace, "no bulk transfer carried bytes", "capture the bus of the WLAN adapter: lsusb shows its number"
        )
    first, used, whole = frame_bytes(found)
    total = used["out"] + used["in"]
    step = FULL_SPEED_PACKET_BYTES if whole == FULL_SPEED_BYTES_PER_MS else -(-whole // _BINS)
    bins = whole // step
    series = []
    # Two bars beside each other.
    for name, values, colours, shift in (("out", used["out"], _OUT, -0.2), ("in", used["in"], LINES["ack"], 0.2)):
        n, share = distribution(values, step, bins)
        series.append(
            Series(
                f"{name.upper()} (to the adapter)" if name == "out" else "IN (from the adapter)",
                n,
                share,
                colours,
                "bars",
                width=0.38,
                shift=shift,
            )
        )
    wide = -(-len(total) // most_columns)
    starts = np.arange(0, len(total), wide)
    size = np.minimum(wide, len(total) - starts)
    for name, colours in (("out", _OUT), ("in", LINES["ack"])):
        percent = 100 * np.add.reduceat(used[name], starts) / (size * whole)
        label = series[0].name if name == "out" else series[1].name
        series.append(Series(label, (first + starts) * FRAME_NS / 1e9, percent, colours, kind="steps", panel=1))
    idle, busy = float((total == 0).mean()), float(total.sum()) / (whole * len(total))
    speed = "full-speed" if whole == FULL_SPEED_BYTES_PER_MS else "high-speed"
    unit = "packets of 64 bytes in a frame" if speed == "full-speed" else f"{step} bytes in a frame, times"
    return Chart(
        "Occupancy of the USB bus",
        f"Bulk transfers use {100 * busy:.3g} % of the {speed} bus ({whole} bytes a frame of 1 ms); {100 * idle:.3g} % of the "
        f"{len(total)} frames carry none.",
        (
            Panel(unit, "frames (%)", "how full the frames are", x_range=(-0.7, bins + 0.7)),
            Panel(TIME, "bus in use (%)", "over time", y_range=(0, 105), spans=spans(findings, flow=-1, direction="")),
        ),
        tuple(series),
    )


def frame_bytes(found: Sequence[Transfers]) -> tuple[int, dict[str, Array], int]:
    """(number of the first frame, bytes by direction in each frame from then on, bytes that a frame can carry)."""
    spread = [_spread(t) for t in found]
    first = min(int(frames.min()) for frames, _ in spread)
    count = max(int(frames.max()) for frames, _ in spread) - first + 1
    used = {name: np.zeros(count) for name in ("out", "in")}
    for transfers, (frames, size) in zip(found, spread, strict=True):
        used[transfers.endpoint.direction] += np.bincount(frames - first, size, count)
    # A full-speed bus cannot carry more; jitter of timestamps can put two frames' bytes in one.
    fast = float(np.quantile(used["out"] + used["in"], 0.99)) > 2 * FULL_SPEED_BYTES_PER_MS
    return first, used, HIGH_SPEED_BYTES_PER_MS if fast else FULL_SPEED_BYTES_PER_MS


def _spread(t: Transfers) -> tuple[Array, Array]:
    """Frames and the bytes of each transfer in each of them."""
    # The host learns of a completion at the end of a frame.
    last = np.maximum(t.t_complete_ns - 1, 0) // FRAME_NS
    least = -(-t.size_bytes // FULL_SPEED_BYTES_PER_MS)
    took = last - t.t_begin_ns // FRAME_NS + 1
    frames = np.maximum(1, took if t.endpoint.direction == "out" else np.minimum(least, took))
    part = np.repeat(np.arange(len(frames)), frames)
    place = np.arange(len(part)) - np.repeat(np.cumsum(frames) - frames, frames)
    return last[part] - place, (t.size_bytes / frames)[part]


def distribution(values: Array, step: int, bins: int) -> tuple[Array, Array]:
    """0 to `bins` steps of bytes, rounded up, and the share of the frames with as many, in percent."""
    steps = np.minimum(np.ceil(values / step - 1e-9), bins).astype(np.int64)
    return np.arange(bins + 1), 100 * np.bincount(steps, minlength=bins + 1) / len(values)
