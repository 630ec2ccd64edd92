from __future__ import annotations

from typing import Any

from wlanlens.models.dcf_tcp import DcfTcp, mean_packets
from wlanlens.papers._dcf import curves, mean, mean_delay_s
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment

#: Files of each seed; all seeds and cases have the same sizes in another order.
FILES = 1000


@experiment("dcf_short_transfers", study="dcf_tcp", source="tables 2 and 3, section 5.3")
def dcf_short_transfers(lab: Lab) -> Result:
    """Session delay of Pareto files (mean 30 kB, shape 1.5), one connection each.

    Sizes are the same in every case and have the distribution's mean exactly: with shape 1.5 the mean of 10 000
    independent files is uncertain by 13 %, which is the report's confidence interval.
    """
    model = DcfTcp()
    settings: list[dict[str, Any]] = [
        {"window_segments": 1, "delayed_ack_segments": 1},
        *({"delayed_ack_segments": d} for d in (1, 2, 3, 4, 5)),
        {"dynamic": True},
    ]
    cases = [("short_transfers", {"files": FILES, **s}) for s in settings]
    stop, *delays, dynamic = (mean(runs) for runs in lab.measure_all(mean_delay_s, cases, seeds=5))
    rows = [
        Row(
            "mean size, segments",
            "30.51 (derived)",
            "E",
            mean_packets(),
            (30.505, 30.515),
            because="Pareto in segments",
        ),
        Row(
            "W = 1, s",
            "0.1099 [0.0956, 0.1243]",
            "Q",
            stop,
            (0.100, 0.118),
            because="set-up and one cycle for each segment",
        ),
        Row("W >> 1, d=1, s", "0.1064 [0.0928, 0.1199]", "Q", delays[0], (0.098, 0.115), because="contended cycles"),
    ]
    printed = (
        "0.1044 [0.0934, 0.1154]",
        "0.1053 [0.0951, 0.1156]",
        "0.1043 [0.0945, 0.1141]",
        "0.1090 [0.0993, 0.1188]",
    )
    rows += [
        Row(
            f"d={d}, timer 40 ms, s",
            said,
            "Q",
            g,
            (0.088, 0.118),
            because="shorter cycles, and at most ends a wait for the timer",
        )
        for d, said, g in zip((2, 3, 4, 5), printed, delays[1:], strict=True)
    ]
    rows += [
        Row(
            "W >> 1 is faster than W = 1",
            "0.1064 < 0.1099",
            "S",
            f"{delays[0]:.4f} < {stop:.4f}",
            holds=delays[0] < stop,
            because="counters that run together",
        ),
        Row(
            "dynamic delayed ACK, s",
            "0.1080 [0.0980, 0.1180]",
            "S",
            f"{dynamic:.4f}, d=2 {delays[1]:.4f}",
            holds=dynamic > 0.97 * delays[1],
            because="no better than d=2 beyond what is significant (3 %)",
        ),
    ]
    x = [1.0, 2.0, 3.0, 4.0, 5.0]
    figure = curves(
        "ACK every d segments",
        "mean session delay, s",
        [
            ("model", x, [model.mean_session_s(d) for d in range(1, 6)]),
            ("report", x, [0.1064, 0.1044, 0.1053, 0.1043, 0.1090]),
        ],
        [("simulation", x, delays), ("simulation, W = 1", [1.0], [stop]), ("simulation, dynamic", [4.0], [dynamic])],
    )
    figure.update_yaxes(rangemode="tozero")
    return Result(tuple(rows), (("Tables 2 and 3: session delay against d.", figure),))
