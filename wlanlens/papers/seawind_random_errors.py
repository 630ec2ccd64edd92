from __future__ import annotations

from typing import Any

from wlanlens.papers._dcf import curves
from wlanlens.papers._seawind import LINE_BYTES_PER_S, bytes_per_s, mean, transaction_s
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment
from wlanlens.simulation.simulate import Run

ERRORS = (0.02, 0.05, 0.10)
SIZES = (3, 5, 7, 10, 20)
#: The study's table 2: what each optimization changes.
VARIANTS: dict[str, dict[str, Any]] = {
    "baseline": {},
    "iw3": {"initial_window_segments": 3},
    "iw4": {"initial_window_segments": 4},
    "win2K": {"receive_window_bytes": 2048},
    "win4K": {"receive_window_bytes": 3840},
    "sack": {"sack": True},
    "newreno_off": {"recovery": "reno"},
    "mss536": {"mss_bytes": 536},
}

#: ns-2's throughput in the order of `VARIANTS`, B/s, by error rate and buffer: means of ten seeds.
_NS2 = {
    (0.02, 3): "806, 821, 826, 817, 806, 839, 646, 940",
    (0.02, 7): "901, 913, 916, 946, 925, 915, 813, 1023",
    (0.02, 10): "900, 883, 909, 946, 943, 924, 872, 1027",
    (0.02, 20): "896, 831, 868, 946, 956, 960, 870, 933",
    (0.05, 3): "650, 664, 652, 659, 650, 675, 578, 789",
    (0.05, 7): "753, 760, 757, 766, 759, 795, 688, 910",
    (0.05, 10): "767, 762, 769, 766, 788, 794, 717, 959",
    (0.10, 3): "467, 469, 464, 468, 467, 470, 432, 583",
    (0.10, 7): "492, 488, 482, 488, 496, 524, 476, 638",
    (0.10, 20): "495, 493, 484, 488, 500, 529, 483, 660",
}


def _measure(run: Run) -> tuple[float, float]:
    """Throughput, B/s; time of the first 15 KB, s."""
    return bytes_per_s(run), transaction_s(run)


@experiment("seawind_random_errors", study="seawind", source="section 6, table 2")
def seawind_random_errors(lab: Lab) -> Result:
    """Throughput under random errors: error rates, buffers and TCP optimizations; ten seeds each.

    Losses hit both directions, acknowledgments as often as data. Two results of the study depend on its kernel and are
    shown only: a window of 2 KB is worse, and disabling NewReno helps at low error rates.
    """
    cells = [(error, size, name) for error in ERRORS for size in SIZES for name in VARIANTS]
    runs = lab.measure_all(
        _measure,
        [("slow_line", {"loss_rate": error, "buffer_packets": size, **VARIANTS[name]}) for error, size, name in cells],
        seeds=10,
    )
    rate = {cell: mean(r for r, _ in got) for cell, got in zip(cells, runs, strict=True)}
    start_s = {cell: mean(s for _, s in got) for cell, got in zip(cells, runs, strict=True)}

    def over(error: float, name: str = "baseline", sizes: tuple[int, ...] = SIZES) -> float:
        return mean(rate[error, size, name] for size in sizes)

    def gains(name: str) -> str:
        return ", ".join(f"{100 * e:.0f} %: {100 * (over(e, name) / over(e) - 1):+.1f} %" for e in ERRORS)

    best = {e: over(e, sizes=(7, 10)) for e in ERRORS}
    sack = {e: over(e, "sack") / over(e) - 1 for e in ERRORS}
    mss = mean(rate[e, s, "mss536"] / rate[e, s, "baseline"] - 1 for e in ERRORS for s in SIZES)
    rows = [
        Row("10 % errors, all buffers, share of the link's", "half of the line rate", "Q", over(0.10) / LINE_BYTES_PER_S, (0.42, 0.55),
            because="most of the time goes to timeouts"),
        Row("2 % errors, all buffers, share of the link's", "adequate", "Q", over(0.02) / LINE_BYTES_PER_S, (0.78, 0.93),
            because="single losses are repaired in a round trip"),
        Row("buffers of 7 to 10 against 3 (B/s)", "7 to 10 best", "S",
            ", ".join(f"{best[e]:.0f} / {rate[e, 3, 'baseline']:.0f}" for e in ERRORS),
            holds=all(best[e] >= rate[e, 3, "baseline"] for e in ERRORS), because="fewer losses at the router; flat from 5 on"),
        *(Row(f"SACK against the baseline, buffer of {size}, {100 * e:.0f} % (B/s)", "best under all conditions", "S",
              f"{rate[e, size, 'sack']:.0f}, {rate[e, size, 'baseline']:.0f}",
              holds=rate[e, size, "sack"] >= rate[e, size, "baseline"], because="several holes are repaired in one round trip")
          for e in ERRORS for size in SIZES),
        Row("SACK gains more with more errors", "especially at high loss", "S", gains("sack"),
            holds=sack[0.10] > sack[0.02], because="more windows with several losses"),
        Row("4 KB window, buffer of 20, 2 % (B/s)", "helps larger buffers", "S",
            f"{rate[0.02, 20, 'win4K']:.0f}, {rate[0.02, 20, 'baseline']:.0f}",
            holds=rate[0.02, 20, "win4K"] > rate[0.02, 20, "baseline"], because="no start-up overflow"),
        Row("MSS of 536, mean gain (%)", "", "Q", 100 * mss, (12.0, 35.0), because="smaller share of headers, larger windows in bytes"),
        Row("initial window of 3", "slightly better", "N", gains("iw3"), because="within noise"),
        Row("initial window of 4", "slightly better", "N", gains("iw4"), because="within noise"),
        Row("2 KB window", "worse, most with small buffers", "N", gains("win2K"),
            because="its Linux counts socket memory by buffers, which reduces a 2 KB window further"),
        Row("New Reno off, 2 %, buffer of 20 (B/s)", "helps at few errors and large buffers", "N",
            f"{rate[0.02, 20, 'newreno_off']:.0f}, {rate[0.02, 20, 'baseline']:.0f}", because="a property of its kernel"),
    ]  # fmt: skip
    soon = {e: {name: mean(start_s[e, size, name] for size in SIZES) for name in VARIANTS} for e in ERRORS}
    others = ("baseline", "iw3", "iw4", "win2K", "win4K", "newreno_off")
    rows += [
        Row("first 15 KB with SACK, 5 and 10 %, all buffers (s)", "SACK better than other modifications", "S",
            "; ".join(f"{soon[e]['sack']:.1f}, best other {min(soon[e][name] for name in others):.1f}" for e in (0.05, 0.10)),
            holds=all(soon[e]["sack"] <= 1.02 * min(soon[e][name] for name in others) for e in (0.05, 0.10)),
            because="several holes are repaired in one round trip"),
        Row("first 15 KB at 2 %: 2 KB window, New Reno off, baseline (s)", "both quite helpful", "N",
            ", ".join(f"{soon[0.02][name]:.1f}" for name in ("win2K", "newreno_off", "baseline")),
            because="a property of its kernel, as for whole transfers"),
        *(Row(f"first 15 KB, {100 * e:.0f} %, buffer of {size} (s)", "optimum varies", "N",
              " ".join(f"{name} {start_s[e, size, name]:.1f}" for name in VARIANTS))
          for e in ERRORS for size in SIZES),
    ]  # fmt: skip
    rows += [
        Row(
            f"{100 * e:.0f} %, buffer of {size} (B/s)",
            "ns-2: " + _NS2[e, size] if (e, size) in _NS2 else "",
            "N",
            " ".join(f"{name} {rate[e, size, name]:.0f}" for name in VARIANTS),
        )
        for e in ERRORS
        for size in SIZES
    ]
    figures = [
        (
            f"Throughput against the buffer's size, {100 * e:.0f} % errors",
            curves(
                "router buffer, packets",
                "throughput, B/s",
                [],
                [(name, list(SIZES), [rate[e, size, name] for size in SIZES]) for name in VARIANTS],
            ),
        )
        for e in ERRORS
    ]
    return Result(tuple(rows), tuple(figures))
