from __future__ import annotations

import numpy as np

from wlanlens.papers._air import lost, payload, throughput_mbps
from wlanlens.papers._dcf import curves
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment
from wlanlens.simulation.simulate import Run

RATES_MBPS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
#: Ten segments at a time, so that the interval is long compared with the transmission of a frame.
_WRITE_BYTES = 14_480


def _measure(run: Run) -> tuple[float, float]:
    """Throughput, Mb/s; share of data lost, %."""
    return throughput_mbps(run), 100 * float(lost(payload(run)).mean())


@experiment("window_application_rate", study="window_size", source="TCP average statistics: throughput and packet loss")
def window_application_rate(lab: Lab) -> Result:
    """Throughput against the rate at which an application writes: complete up to the channel's capacity.

    The slide shows a plot without numbers, with a capacity of 4 to 6 Mb/s; five seeds of 20 s.
    """
    cases = [
        ("application_pause", {"write_bytes": _WRITE_BYTES, "pause_s": _WRITE_BYTES * 8e-6 / rate, "duration_s": 20.0})
        for rate in RATES_MBPS
    ]
    got = [np.mean(runs, axis=0) for runs in lab.measure_all(_measure, cases)]
    mbps = {rate: float(values[0]) for rate, values in zip(RATES_MBPS, got, strict=True)}
    below, above = [r for r in RATES_MBPS if r <= 4], [r for r in RATES_MBPS if r > 5]
    rows = (
        Row("throughput over application rate, up to 4 Mb/s, smallest (%)", "100", "Q", 100 * min(mbps[r] / r for r in below),
            (97.0, 101.0), because="the channel has room for all of it"),
        Row("throughput above the capacity (Mb/s)", "4 to 6", "Q", float(np.mean([mbps[r] for r in above])), (4.0, 6.0),
            because="the air limits"),
        Row("throughput above the capacity does not grow with the application's rate", "highly variable", "S",
            "/".join(f"{mbps[r]:.2f}" for r in above), holds=max(mbps[r] for r in above) <= 1.02 * min(mbps[r] for r in above),
            because="without interference it is constant; the study's varies with its channel"),
    )  # fmt: skip
    figure = curves(
        "application rate, Mb/s",
        "throughput, Mb/s",
        [("all of it", list(RATES_MBPS), list(RATES_MBPS))],
        [("simulation", list(RATES_MBPS), list(mbps.values()))],
    )
    return Result(rows, (("Throughput against the rate of the application", figure),))
