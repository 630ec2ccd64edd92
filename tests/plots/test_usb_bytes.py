"""The figure of bytes per millisecond: exact when drawn whole, with its extremes when reduced."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.rows import table
from wlanlens.plots.usb_bytes import usb_bytes
from wlanlens.registry import units
from wlanlens.trace import Trace

MS = 1_000_000


def trace(times_ms: list[float], size: int = 100, **more: Any) -> Trace:
    rows = [
        {
            "packet": i + 1, "device": 7, "endpoint": 2, "direction": "out", "transfer": "bulk", "done_bytes": size,
            "t_submit_ns": int((t - 0.5) * MS), "t_complete_ns": int(t * MS), **more,
        }
        for i, t in enumerate(times_ms)
    ]  # fmt: skip
    return Trace.of_tables({"urbs": table("urbs", rows)}, duration_ns=int(max(times_ms, default=0) * MS))


def test_bytes_of_each_frame() -> None:
    size, depth = usb_bytes(trace([1.2, 1.7, 2.1, 7.5])).data
    assert np.allclose(size.x, [0.001, 0.002, 0.003, 0.007, 0.008])
    assert size.y.tolist() == [200, 100, 0, 100, 0]
    assert depth.y.tolist() == [1, 0, 1, 0, 1, 0, 1, 0][: len(depth.y)] or max(depth.y) == 2
    assert depth.y[-1] == 0


def test_reduced_lines_keep_the_extremes() -> None:
    times = [i * 0.5 + 1 for i in range(20_000)]
    held = trace(times)
    spike = held.table("urbs").to_pylist()
    spike[14_001]["done_bytes"] = 9999
    made = Trace.of_tables({"urbs": table("urbs", spike)}, duration_ns=held.duration_ns)
    figure = usb_bytes(made, most_points=2000)
    assert all(len(line.x) <= 2500 for line in figure.data)
    assert figure.data[0].y.max() == 10_099
    assert len(figure.data) == 2


def test_endpoints_are_chosen() -> None:
    rows = trace([1, 2]).table("urbs").to_pylist() + trace([3], direction="in", size=5000).table("urbs").to_pylist()
    both = Trace.of_tables({"urbs": table("urbs", rows)}, duration_ns=5 * MS)
    names = [line.name for line in usb_bytes(both).data]
    assert names[0] == "USB bus 0 device 7 endpoint 2 in"
    assert len(usb_bytes(both, direction="out").data) == 2
    assert len(usb_bytes(both, most_endpoints=1).data) == 2
    assert len(usb_bytes(both, capture="other").data) == 0
    assert units("plots")["usb_bytes"].needs == ("urbs",)  # type: ignore[attr-defined]
