from __future__ import annotations

from typing import Any

from wlanlens.papers._dcf import curves
from wlanlens.papers._seawind import aggregate_bytes_per_s, bytes_per_s, mean
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment

SIZES = (5, 7, 10, 15, 20, 30, 40)
#: Results of ns-2 with tail drop and with RED.
NS2 = {7: "966, 878", 10: "957, 944", 20: "939, 907", 40: "892, 526"}


@experiment("seawind_red", study="seawind", source="section 6")
def seawind_red(lab: Lab) -> Result:
    """Random early detection before the slow link, with ns-2's automatic thresholds, compared with tail drop.

    One transfer, then two at once; ten seeds, because RED is random. With this link and packets of 304 bytes the automatic
    thresholds are 5 and 15 packets on average over ten round trips.
    """
    kinds = ("tail_drop", "red")
    cases: list[tuple[str, dict[str, Any]]] = [
        ("slow_line", {"buffer_packets": size, "discipline": kind}) for kind in kinds for size in SIZES
    ]
    one = lab.measure_all(bytes_per_s, cases, seeds=10)
    both = lab.measure_all(aggregate_bytes_per_s, [(name, {**p, "flows": 2}) for name, p in cases], seeds=10)
    rate = {(p["discipline"], p["buffer_packets"]): mean(got) for (_, p), got in zip(cases, one, strict=True)}
    two = {(p["discipline"], p["buffer_packets"]): got for (_, p), got in zip(cases, both, strict=True)}
    rows = [
        Row("one transfer: RED no better than tail drop at any size (B/s)", "worsens the performance", "S",
            ", ".join(f"{size}: {rate['red', size]:.0f} / {rate['tail_drop', size]:.0f}" for size in SIZES),
            holds=all(rate["red", size] <= rate["tail_drop", size] for size in SIZES),
            because="the average reacts too late for slow start, and drops later packets"),
        Row("one transfer: RED worse with a buffer of 40 (B/s)", "ns-2: 526 against 892", "S",
            f"{rate['red', 40]:.0f}, {rate['tail_drop', 40]:.0f}", holds=rate["red", 40] < 0.95 * rate["tail_drop", 40],
            because="it drops packets while the overflow is being repaired"),
        *(Row(f"one transfer, buffer of {size}: tail drop, RED (B/s)", f"ns-2: {text}", "N",
              f"{rate['tail_drop', size]:.0f}, {rate['red', size]:.0f}", because="ns-2 counts the limit in mean packets of 500 bytes")
          for size, text in NS2.items()),
        *(Row(f"two transfers, buffer of {size}: tail drop, RED (B/s together; fairness)", "RED better at 20 and 40", "N",
              ", ".join(f"{mean(x for x, _ in two[kind, size]):.0f} ({mean(j for _, j in two[kind, size]):.2f})" for kind in kinds),
              because="not asserted: the study prints no numbers")
          for size in (7, 20, 40)),
    ]  # fmt: skip
    names = {"tail_drop": "tail drop", "red": "RED"}
    figure = curves(
        "router buffer, packets",
        "throughput, B/s",
        [],
        [(names[kind], [float(s) for s in SIZES], [rate[kind, size] for size in SIZES]) for kind in kinds]
        + [
            (
                f"{names[kind]}, two transfers",
                [float(s) for s in SIZES],
                [mean(x for x, _ in two[kind, size]) for size in SIZES],
            )
            for kind in kinds
        ],
    )
    return Result(tuple(rows), (("Throughput against the buffer's size: RED and tail drop", figure),))
