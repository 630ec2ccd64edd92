from __future__ import annotations

import numpy as np

from wlanlens.papers._air import Packets, lost, packets, payload, sequence_figure, throughput_mbps
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment
from wlanlens.simulation.simulate import Run


def _measure(run: Run) -> tuple[float, int, int, int, Packets, float]:
    """Throughput, Mb/s; data lost; fast recoveries; timeouts; some seconds of it; share of data lost, %."""
    what = run.facts.events["what"].to_pylist()
    gone = lost(payload(run))
    recoveries, timeouts = what.count("recovery_began"), what.count("timeout")
    return (
        throughput_mbps(run),
        int(gone.sum()),
        recoveries,
        timeouts,
        packets(run, 0.0, 12.0),
        100 * float(gone.mean()),
    )


@experiment("window_line_of_sight", study="window_size", source="effect of signal level variation")
def window_line_of_sight(lab: Lab) -> Result:
    """Two access points with and without line of sight; five seeds of 60 s.

    The Airport drops a packet at its polls; without line of sight its losses are single. The Belkin drops nothing; without line
    of sight the signal is lost for some time. The depth of the study's fades is unknown: only the order and the recovery are asserted.
    """
    long = {"duration_s": 60.0}
    names = ("Airport, in sight", "Belkin, in sight", "Airport, out of sight", "Belkin, out of sight")
    cases = [
        ("periodic_access_point_drops", long),
        ("periodic_access_point_drops", {**long, "packets": 0}),
        ("obstructed_client", {**long, "fade_db": 0.0, "frame_error_rate": 0.28}),
        ("obstructed_client", long),
    ]
    got = dict(zip(names, lab.measure_all(_measure, cases), strict=True))
    mbps = {name: float(np.mean([r[0] for r in runs])) for name, runs in got.items()}
    total = {name: tuple(sum(r[i] for r in runs) for i in (1, 2, 3)) for name, runs in got.items()}
    (_, fast, timers), (_, rarely, often) = total[names[2]], total[names[3]]
    rows = (
        Row("Airport, in sight (Mb/s)", "5", "Q", mbps[names[0]], (4.8, 5.4), because="the limit is the air"),
        Row("Belkin, in sight (Mb/s)", "5.22", "Q", mbps[names[1]], (4.8, 5.4), because="the limit is the air"),
        Row("Belkin, in sight: losses", "0", "E", total[names[1]][0], (0, 0), because="nothing drops"),
        Row("Airport without line of sight below with (Mb/s)", "1.44 < 5", "S", f"{mbps[names[2]]:.2f} < {mbps[names[0]]:.2f}",
            holds=mbps[names[2]] < 0.8 * mbps[names[0]], because="retries and recoveries"),
        Row("Belkin without line of sight below with (Mb/s)", "2.43 < 5.22", "S", f"{mbps[names[3]]:.2f} < {mbps[names[1]]:.2f}",
            holds=mbps[names[3]] < 0.8 * mbps[names[1]], because="no signal, and a timer longer than the fade"),
        *(Row(f"{name}: losses (%)", printed, "N", float(np.mean([r[5] for r in got[name]])),
              because="the depth of the fades is not stated, nor whether the column is percent")
          for name, printed in zip(names, ("2.5e-5", "0", "0.6", "18e-5"), strict=True)),
        Row("Airport: fast recoveries, expiries", "fast retransmit", "S", f"{fast}, {timers}", holds=fast > 3 * timers,
            because="single losses leave duplicate ACKs"),
        Row("Belkin: fast recoveries, expiries", "timeouts that back off", "S", f"{rarely}, {often}", holds=often > 3 * rarely,
            because="a fade loses the whole window and its retransmissions"),
    )  # fmt: skip
    return Result(rows, tuple((f"Start of a run: {name}", sequence_figure(got[name][0][4], "")) for name in names[2:]))
