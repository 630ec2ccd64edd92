from __future__ import annotations

from typing import Any

from wlanlens.papers._dcf import curves, mean, mean_delay_s
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment

#: Number of nodes, access point included.
NODES = (10, 20, 30, 40, 50)
#: Files per station.
FILES = 100
CASES: dict[str, dict[str, Any]] = {
    "d=1": {"delayed_ack_segments": 1},
    "d=2": {"delayed_ack_segments": 2},
    "d=3": {"delayed_ack_segments": 3},
    "dynamic": {"dynamic": True},
}


@experiment("dcf_hot_spot", study="dcf_tcp", source="figure 10, section 5.4")
def dcf_hot_spot(lab: Lab) -> Result:
    """Short transfers of many stations at one access point, 100 each, 10 s of thinking time between them: delayed ACKs help under load.

    The report shows a plot without numbers: only the shape is asserted.
    """
    cases = [
        ("short_transfers", {"stations": n - 1, "files": FILES, "think_s": 10.0, "duration_s": 3000.0, **setting})
        for setting in CASES.values()
        for n in NODES
    ]
    got = [mean(runs) for runs in lab.measure_all(mean_delay_s, cases, seeds=2)]
    by = {name: got[i * len(NODES) : (i + 1) * len(NODES)] for i, name in enumerate(CASES)}
    first, last = by["d=1"][0], by["d=1"][-1]
    gains = [a / b - 1 for a, b in zip(by["d=1"], by["d=2"], strict=True)]
    rows = [
        Row(
            "delay grows with the stations, d=1, s",
            "grows",
            "S",
            "/".join(f"{d:.3f}" for d in by["d=1"]),
            holds=last > 1.5 * first,
            because="sessions overlap",
        ),
    ]
    rows += [
        Row(
            f"{name} is faster than d=1 with 50 nodes, s",
            "faster",
            "S",
            f"{by[name][-1]:.3f}, d=1 {last:.3f}",
            holds=by[name][-1] < last,
            because="fewer ACKs leave more airtime under load",
        )
        for name in ("d=2", "d=3", "dynamic")
    ]
    rows.append(
        Row(
            "gain of d=2 over d=1 grows with the stations, %",
            "grows",
            "S",
            "/".join(f"{100 * g:.0f}" for g in gains),
            holds=gains[-1] > gains[0],
            because="with one station, the wait for the timer cancels the gain",
        )
    )
    x = [float(n) for n in NODES]
    figure = curves(
        "nodes n", "mean session delay, s", [], [(f"simulation, {name}", x, values) for name, values in by.items()]
    )
    figure.update_traces(mode="lines+markers")
    figure.update_yaxes(rangemode="tozero")
    return Result(tuple(rows), (("Figure 10: session delay against the number of nodes.", figure),))
