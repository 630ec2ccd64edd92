from __future__ import annotations

import numpy as np

from wlanlens.paper import Lab, Result, Row, experiment
from wlanlens.papers._bursts import transfer

_SEEDS = 20


@experiment("bursty_backoff_reset", study="bursty_errors", source="section 2, last paragraph; section 3")
def bursty_backoff_reset(lab: Lab) -> Result:
    """The study's remedy: end the timer's doublings with the first ACK of new data.

    It helps where the link is dead for some time and then well again (a clock of time); where bursts go on only with frames,
    the timer's own retransmissions have to burn them, and it helps little. Twenty seeds.
    """
    fix = {"rto": "linux22_reset"}
    cases = [
        ("kept_backoff", {}),
        ("kept_backoff", fix),
        ("bursty_errors", {"test": 2}),
        ("bursty_errors", {"test": 2, **fix}),
    ]
    kept, reset, frames, frames_reset = (
        np.array([r.longest_idle_s for r in runs]) for runs in lab.measure_all(transfer, cases, seeds=_SEEDS)
    )
    before, after = float(np.median(frames)), float(np.median(frames_reset))
    return Result(
        rows=(
            Row("dead times by the clock: worst idle time (s), doublings kept", "57.4 and 120", "Q", float(kept.max()), (98.0, 120.1),
                because="the timeout of a dead time of two seconds, times a sample of it"),
            Row("the same, doublings ended", "not measured", "Q", float(reset.max()), (3.0, 25.0), because="the remedy"),
            Row("dead times by the clock: mean of the longest idle times (s), doublings kept", "not measured", "Q",
                float(kept.mean()), (7.0, 22.0), because="two minutes in some transfers"),
            Row("the same, doublings ended", "not measured", "Q", float(reset.mean()), (2.0, 3.4), because="the remedy"),
            Row("bursts by the frame, test 2: median of the longest idle times (s), kept and ended", "not measured", "S",
                f"{before:.1f}, {after:.1f}", holds=0.3 * before <= after <= before,
                because="the channel stands still while TCP waits, and its retransmissions meet what is left of the burst"),
        )
    )  # fmt: skip
