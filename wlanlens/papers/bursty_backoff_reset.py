from __future__ import annotations

from typing import Any

import numpy as np

from wlanlens.papers._bursts import transfer
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment

_SEEDS = 20


@experiment("bursty_backoff_reset", study="bursty_errors", source="section 2, last paragraph; section 3")
def bursty_backoff_reset(lab: Lab) -> Result:
    """The study's remedy: end RTO backoff at the first ACK of new data.

    It helps if the link is down for some time and then good again (errors by time). If bursts last for a number of frames,
    the timer's own retransmissions have to use them up, and it helps little. Twenty seeds.
    """
    fix: dict[str, Any] = {"rto": "linux22_reset"}
    size: dict[str, Any] = {"file_bytes": 10 << 20}
    cases: list[tuple[str, dict[str, Any]]] = [
        ("kept_backoff", size),
        ("kept_backoff", {**size, **fix}),
        ("bursty_errors", {"test": 2}),
        ("bursty_errors", {"test": 2, **fix}),
    ]
    kept, reset, frames, frames_reset = (
        np.array([r.longest_idle_s for r in runs]) for runs in lab.measure_all(transfer, cases, seeds=_SEEDS)
    )
    left_by_time, left_by_frame = float(reset.mean() / kept.mean()), float(frames_reset.mean() / frames.mean())
    return Result(
        rows=(
            Row("link down by time: longest idle time (s), backoff kept", "57.4 and 120", "Q", float(kept.max()), (98.0, 120.1),
                because="the timeout of a dead time of two seconds, times a sample of it"),
            Row("the same, doublings ended", "not measured", "Q", float(reset.max()), (3.0, 25.0), because="the remedy"),
            Row("link down by time: mean of the longest idle times (s), backoff kept", "not measured", "Q",
                float(kept.mean()), (7.0, 22.0), because="two minutes in some transfers"),
            Row("the same, doublings ended", "not measured", "Q", float(reset.mean()), (2.0, 3.4), because="the remedy"),
            Row("share of the longest idle times left by the remedy: errors by time, and by frames (test 2)", "not measured", "S",
                f"{left_by_time:.2f}, {left_by_frame:.2f}", holds=left_by_frame > 2 * left_by_time,
                because="the channel state does not change while TCP waits, and its retransmissions meet the rest of the burst"),
        )
    )  # fmt: skip
