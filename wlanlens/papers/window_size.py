from __future__ import annotations

import numpy as np

from wlanlens.papers._air import fates, lost, payload, round_trips_s, throughput_mbps
from wlanlens.papers._dcf import curves
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment
from wlanlens.scenarios._download import MSS
from wlanlens.simulation.simulate import Run

#: Window, its size as printed, segments of 1460 bytes in it, share of packets lost, throughput in Mb/s, offered bytes, and RTT in ms.
TABLE = (
    ("128k", 128, 43, 0.039, 3.21, 62_780, 45.0),
    ("64k", 64, 32, 0.011, 3.84, 46_720, 37.0),
    ("32k", 32, 15, 0.010, 4.09, 21_900, 26.0),
    ("16k", 16, 7, 0.069, 3.2, 10_220, 10.0),
    ("8k", 8, 3, 0.062, 1.4, 4_380, 5.0),
    ("4k", 4, 2, 0.045, 1.2, 2_920, 2.5),
)


def _measure(run: Run) -> tuple[float, float, float, float, float]:
    """Throughput, Mb/s; share of packets that the access point's queue dropped; timeouts and fast recoveries per loss; median RTT, ms."""
    data = payload(run)
    losses = max(1, int(lost(data).sum()))
    what = run.facts.events["what"].to_pylist()
    return (
        throughput_mbps(run),
        float((fates(data) == "device_queue").mean()),
        what.count("timeout") / losses,
        what.count("recovery_began") / losses,
        1e3 * float(np.median(round_trips_s(run))),
    )


@experiment("window_size", study="window_size", source="effect of window size variation")
def window_size(lab: Lab) -> Result:
    """Throughput against the receiver's window, with the study's share of losses; five seeds of 30 s.

    The study states its losses in percent; only as fractions do they explain its throughput (4 KB: one loss in 22 packets, 214 ms
    each, which is a timeout of 200 ms). Losses are an input, so only shapes are asserted.
    """
    cases = [("small_window_loss", {"window_segments": k, "loss_rate": loss}) for _, _, k, loss, *_ in TABLE]
    cases += [("access_point_overflow", {"window_segments": k}) for k in (43, 15)]
    cases += [("small_window_loss", {"window_segments": k, "loss_rate": loss / 100}) for _, _, k, loss, *_ in TABLE]
    got = [np.mean(runs, axis=0) for runs in lab.measure_all(_measure, cases)]
    rate = {name: float(values[0]) for (name, *_), values in zip(TABLE, got, strict=False)}
    timeouts = {name: float(values[2]) for (name, *_), values in zip(TABLE, got, strict=False)}
    fast = {name: float(values[3]) for (name, *_), values in zip(TABLE, got, strict=False)}
    rtt = [float(values[4]) for values in got[: len(TABLE)]]
    full, fits, *rare = got[len(TABLE) :]
    best = max(rate, key=lambda name: rate[name])
    rows = [
        *(Row(f"window {name}: offered (bytes)", str(offered), "E", k * MSS, (offered, offered), because=f"{k} segments of 1460 bytes",
              origin="computed")
          for name, _, k, _, _, offered, _ in TABLE),
        Row("window with the highest throughput", "32k (4.09), 64k (3.84)", "S", f"{best} ({rate[best]:.2f})",
            holds=best in ("32k", "64k"), because="large enough for duplicate ACKs, and fits into the queue"),
        Row("128k below 64k (Mb/s)", "3.21 < 3.84", "S", f"{rate['128k']:.2f} < {rate['64k']:.2f}", holds=rate["128k"] < rate["64k"],
            because="more of it is lost"),
        Row("16k below 32k, 8k and 4k far below (Mb/s)", "3.2, 1.4, 1.2", "S",
            f"{rate['16k']:.2f}, {rate['8k']:.2f}, {rate['4k']:.2f}",
            holds=max(rate["8k"], rate["4k"]) < 0.5 * rate["16k"] < 0.5 * rate["32k"],
            because="below four segments three duplicate ACKs are impossible"),
        Row("4k over 32k", "0.29", "Q", rate["4k"] / rate["32k"], (0.12, 0.45), because="a timeout for every loss"),
        Row("timeouts per loss: 4k, 8k, 32k", "", "S", f"{timeouts['4k']:.2f}, {timeouts['8k']:.2f}, {timeouts['32k']:.2f}",
            holds=min(timeouts["4k"], timeouts["8k"]) > 0.7 and timeouts["32k"] < 0.2, because="only the timer detects it"),
        Row("fast recoveries per loss: 4k, 32k", "", "S", f"{fast['4k']:.2f}, {fast['32k']:.2f}", holds=fast["4k"] == 0.0 < 0.5 < fast["32k"],
            because="three duplicate ACKs"),
        Row("losses in an access point's queue of 30: 43 segments, 15", "overflow above 5 Mb/s", "S",
            f"{full[1]:.4f}, {fits[1]:.4f}", holds=full[1] > 0.0 == fits[1] and full[0] > 4.8,
            because="the whole window waits there, because the channel is slower than the wire"),
        Row("round trip grows with the window, 4k to 32k (ms)", "2.5/5/10/26", "S", "/".join(f"{ms:.1f}" for ms in rtt[:1:-1]),
            holds=all(np.diff(rtt[:1:-1]) > 0) and rtt[2] > 3 * rtt[5], because="the window waits in the queue before the channel"),
        Row("43 segments, access point's queue of 30 overflows: round trip (ms)", "45", "S", float(full[4]),
            holds=full[4] > 1.5 * rtt[2], because="a full queue: the study's 128k; random losses (below) keep the queue short"),
        *(Row(f"window {name}: round trip (ms)", f"{paper:g}", "N", ms, because="where the study measured it is not stated")
          for (name, *_, paper), ms in zip(TABLE, rtt, strict=True)),
        *(Row(f"window {name} (Mb/s)", str(paper), "N", rate[name], because="the losses' pattern is not known")
          for name, _, _, _, paper, *_ in TABLE),
        *(Row(f"window {name}, its losses as percent (Mb/s)", str(paper), "N", float(values[0]), because="then hardly anything is lost")
          for (name, _, _, _, paper, *_), values in zip(TABLE, rare, strict=True)),
        Row("losses as percent: 4k over 32k", "0.29", "S", float(rare[-1][0] / rare[2][0]), holds=rare[-1][0] > 0.8 * rare[2][0],
            because="the study's losses are fractions: as percent they do not explain its table"),
    ]  # fmt: skip
    x = [float(kilobytes) for _, kilobytes, *_ in TABLE]
    figure = curves(
        "window, KB",
        "throughput, Mb/s",
        [("the study", x, [paper for _, _, _, _, paper, *_ in TABLE])],
        [("simulation", x, [rate[name] for name, *_ in TABLE])],
    )
    figure.update_xaxes(type="log", dtick=None)
    return Result(tuple(rows), (("Throughput against the receiver's window", figure),))
