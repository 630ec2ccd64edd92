from __future__ import annotations

import itertools

import numpy as np

from wlanlens.models.dcf_tcp import DcfTcp
from wlanlens.papers._dcf import aggregate_mbps, curves, mean
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment
from wlanlens.simulation.simulate import Run

#: Number of nodes, access point included: n - 1 flows.
NODES = (2, 3, 4, 5, 6, 8, 10, 15)
EVERY = (1, 2, 3, 4, 5)


def _resent(run: Run) -> float:
    """Segments that the servers retransmitted."""
    return float((np.asarray(run.facts.packets["copy"]) > 0).sum())


@experiment("dcf_several_flows", study="dcf_tcp", source="figures 6 to 8, equations 17 to 21")
def dcf_several_flows(lab: Lab) -> Result:
    """Several downlink flows together: throughput stays flat where equation 18 falls.

    One queue at the access point feeds all flows, so about two stations contend at any time.
    Equations 17 to 20 model n - 1 access points; ns-2 and this simulator have one.
    """
    model = DcfTcp()
    cases = [
        ("many_downloads", {"downloads": n - 1, "window_segments": w, "duration_s": 60.0})
        for w in (20, 1)
        for n in NODES
    ]
    cases += [("many_downloads", {"downloads": 9, "delayed_ack_segments": d, "duration_s": 60.0}) for d in EVERY]
    cases += [("many_downloads", {"downloads": 14, "queue_packets": 200, "duration_s": 60.0})]
    got = [mean(runs) for runs in lab.measure_all(aggregate_mbps, cases, seeds=5)]
    wide, single, thinned, short = got[:8], got[8:16], got[16:21], got[21]
    resent = mean(lab.measure("many_downloads", _resent, seeds=5, downloads=14, queue_packets=200, duration_s=60.0))
    eq18 = [model.split_access_point_mbps(n) for n in NODES]
    rows = []
    for n, said, w, one in zip(NODES, eq18, wide, single, strict=True):
        if n >= 3:
            for name, g in (("W=20", w), ("W=1", one)):
                rows.append(
                    Row(
                        f"n={n}, {name}, all flows, Mb/s",
                        "2.35 to 2.50 (ns-2)",
                        "Q",
                        g,
                        (2.35, 2.50),
                        because="one queue",
                    )
                )
        rows.append(
            Row(
                f"n={n}, equation 18, Mb/s",
                f"{said:.3f} (eq. 18)",
                "N",
                w,
                because="the model's n - 1 access points collide with each other; one access point cannot",
            )
        )
    rows.append(
        Row(
            "n=15, W=20, 200 packets at the access point, Mb/s",
            "unchanged (ns-2)",
            "Q",
            short,
            (2.35, 2.50),
            because="losses are repaired while other flows have packets",
        )
    )
    rows.append(
        Row(
            "the same: retransmitted segments in 60 s",
            "ns-2: 484",
            "S",
            resent,
            holds=resent > 0,
            because="14 windows of 20 segments do not fit into 200 packets",
        )
    )
    rows.append(
        Row(
            "n=15: W = 1 against W = 20, %",
            "a little ahead (figure 8)",
            "N",
            f"{100 * (single[-1] / wide[-1] - 1):+.1f}",
            because="the report's advantage comes from equation 18, whose contention one queue does not have",
        )
    )
    for d, g in zip(EVERY, thinned, strict=True):
        said = model.split_access_point_delayed_mbps(10, d)
        rows.append(
            Row(f"n=10, d={d}, Mb/s", f"{said:.3f} (eq. 20)", "N", g, because="as equation 18; closer for larger d")
        )
    rows.append(
        Row(
            "n=10: throughput rises with d",
            "rises (figure 7)",
            "S",
            "/".join(f"{g:.2f}" for g in thinned),
            holds=all(a < b for a, b in itertools.pairwise(thinned)),
            because="fewer ACKs",
        )
    )
    x, ds = [float(n) for n in NODES], [float(d) for d in EVERY]
    figures = (
        (
            "Figures 6 and 8: all flows together against the number of nodes.",
            curves(
                "nodes n",
                "Mb/s, n - 1 flows together",
                [("equation 18", x, eq18), ("equation 21, W = 1", x, [model.stop_and_wait_mbps()] * len(x))],
                [("simulation, W = 20", x, wide), ("simulation, W = 1", x, single)],
            ),
        ),
        (
            "Figure 7: throughput against d, ten nodes.",
            curves(
                "ACK every d segments",
                "Mb/s, nine flows together",
                [("equation 20", ds, [model.split_access_point_delayed_mbps(10, d) for d in EVERY])],
                [("simulation", ds, thinned)],
            ),
        ),
    )
    return Result(tuple(rows), figures)
