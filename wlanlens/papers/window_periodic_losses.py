from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.runner import detect
from wlanlens.papers._air import lost, payload, throughput_mbps
from wlanlens.pipeline.align import align
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment

if TYPE_CHECKING:
    from wlanlens.simulation.simulate import Run


@dataclass(frozen=True)
class _Losses:
    mbps: float
    #: Between lost copies: seconds, and data packets sent.
    gaps_s: tuple[float, ...]
    packets: tuple[int, ...]
    found_period_s: float
    p_value: float
    fast: int
    timeouts: int


def _measure(run: Run) -> _Losses:
    data = payload(run)
    gone = np.flatnonzero(lost(data))
    t = np.asarray(data["t_made_ns"]) / 1e9
    what = run.facts.events["what"].to_pylist()
    found = [f.values for f in detect(align([run.captures["sender"]]), only=["periodic_loss"])]
    return _Losses(
        throughput_mbps(run),
        tuple(np.diff(t[gone]).tolist()),
        tuple(np.diff(gone).tolist()),
        float(found[0]["period_s"]) if found else float("nan"),
        float(found[0]["p_value_share"]) if found else 1.0,
        what.count("recovery_began"),
        what.count("timeout"),
    )


@experiment("window_periodic_losses", study="window_size", source="time between losses and packets between losses")
def window_periodic_losses(lab: Lab) -> Result:
    """Losses two seconds apart: an access point that drops a packet at every poll; five seeds of 60 s.

    The analyser sees only the server's capture. Compared with the overflow of an access point's queue,
    whose cycles are not periodic by time, and with random losses.
    """
    long = {"duration_s": 60.0}
    polls, none, overflow, random = lab.measure_all(
        _measure,
        [
            ("periodic_access_point_drops", long),
            ("periodic_access_point_drops", {**long, "packets": 0}),
            ("access_point_overflow", long),
            ("small_window_loss", {**long, "window_segments": 15, "loss_rate": 0.001}),
        ],
        taps=("sender",),
    )
    gaps = np.array([g for run in polls for g in run.gaps_s])
    packets = np.array([n for run in polls for n in run.packets])
    others = [*none, *overflow, *random]
    rows = (
        Row("period in the truth (s)", "2", "Q", float(np.median(gaps)), (1.9, 2.1), because="the clock of the polls"),
        Row("period found by the analyser (s): smallest", "2", "Q", float(np.min([r.found_period_s for r in polls])), (1.9, 2.1),
            because="from the lost copies in the server's capture"),
        Row("the same: greatest", "2", "Q", float(np.max([r.found_period_s for r in polls])), (1.9, 2.1),
            because="in every run"),
        Row("its p-value, the greatest", "", "S", max(r.p_value for r in polls), holds=max(r.p_value for r in polls) < 1e-6,
            because="thirty losses, each within milliseconds of a tick"),
        Row("packets between losses", "about 860 at 5 Mb/s", "Q", float(np.mean(packets)), (780.0, 920.0),
            because="2 s of the air's pace"),
        Row("recoveries: fast, by timer", "fast retransmit", "S",
            f"{sum(r.fast for r in polls)}, {sum(r.timeouts for r in polls)}",
            holds=sum(r.fast for r in polls) > 20 * sum(r.timeouts for r in polls), because="single losses in windows of 15 segments"),
        Row("throughput (Mb/s)", "5", "Q", float(np.mean([r.mbps for r in polls])), (4.8, 5.4), because="one packet of 860"),
        Row("periods found without polls, with overflow, with random loss", "", "E",
            sum(not np.isnan(r.found_period_s) for r in others), (0, 0), because="no period, and none is found"),
    )  # fmt: skip
    import plotly.graph_objects as go

    figure = go.Figure()
    for name, runs in (("polls", polls), ("queue overflow", overflow), ("random", random)):
        x = [g for run in runs for g in run.gaps_s]
        y = [n for run in runs for n in run.packets]
        figure.add_scatter(x=x, y=y, mode="markers", name=name)
    figure.update_layout(
        xaxis_title="time between losses, s", yaxis_title="packets between losses", template="simple_white"
    )
    return Result(rows, (("Time between losses and packets sent between them", figure),))
