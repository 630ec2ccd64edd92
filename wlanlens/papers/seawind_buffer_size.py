from __future__ import annotations

import numpy as np

from wlanlens.papers._air import answers
from wlanlens.papers._dcf import curves
from wlanlens.papers._seawind import bytes_per_s, data_of, mean
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment
from wlanlens.scenarios._slow_line import UNLIMITED
from wlanlens.simulation.simulate import Run

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 40, 60, 80, 100)


def _measure(run: Run) -> tuple[float, int, float]:
    """Throughput, the largest flight in segments, and the longest round trip of a first transmission, s."""
    d, acks = data_of(run), answers(run)
    t, ack = np.asarray(acks["t_end_ns"]) / 1e9, np.maximum.accumulate(np.asarray(acks["rel_ack"]).astype(np.int64))
    known = np.concatenate(([1], ack))[np.searchsorted(t, d.made_s, side="right")]
    flight = int(((d.end - known) // run.scenario.mss_bytes).max())  # type: ignore[attr-defined]
    answered = np.searchsorted(ack, d.end)
    whole = (answered < len(t)) & (d.copy == 0)
    return bytes_per_s(run), flight, float((t[answered[whole]] - d.made_s[whole]).max())


@experiment("seawind_buffer_size", study="seawind", source="section 6, figures 6(a) and 7")
def seawind_buffer_size(lab: Lab) -> Result:
    """Throughput of a transfer without errors against the router's buffer.

    The link is deterministic, so one run for each size is enough; a congestion cycle at the very end moves single sizes by 5 to
    10 %, as the study explains for its sixth.
    """
    (clean,), *runs = lab.measure_all(
        _measure, [("slow_line", {"buffer_packets": size}) for size in (UNLIMITED, *SIZES)], seeds=1
    )
    at = {size: got[0][0] for size, got in zip(SIZES, runs, strict=True)}
    flat = [at[size] for size in (5, 6, 7, 10, 12, 15)]
    rows = (
        Row("unlimited buffer (B/s)", "1002", "Q", clean[0], (990.0, 1012.0),
            because="256 of 304 bytes at 1200 B/s, minus the start"),
        Row("greatest flight (segments)", "127", "E", clean[1], (127, 127), because="the receiver's window of 32696 bytes"),
        Row("round trip at that flight (s)", "32", "Q", clean[2], (31.0, 33.5), because="127 x 0.253 s in the queue"),
        Row("buffers of 5 to 15 alike (B/s)", "best from 3 to 12", "S", "/".join(f"{x:.0f}" for x in flat),
            holds=max(flat) / min(flat) - 1 <= 0.06 and all(abs(x / mean(flat) - 1) <= 0.03 for x in flat),
            because="the link needs 3 packets in flight; further packets only wait"),
        Row("a buffer of 3 is slower (B/s)", "ns-2: 906 against 966", "S", at[3], holds=at[3] < mean(flat),
            because="after a loss, half of the window does not fill the link"),
        Row("a buffer of 20 is slower (B/s)", "worse from 15 on; ns-2: 939", "S", at[20], holds=at[20] < min(flat),
            because="a larger buffer is overshot by more"),
        Row("a buffer of 40 is slower (B/s)", "worse from 15 on; ns-2: 892", "S", f"{at[20]:.0f}, {at[40]:.0f}",
            holds=at[40] < at[20] < mean(flat), because="a larger buffer is overshot by more"),
        *(Row(f"buffer of {size} (B/s)", "ns-2: " + ns2, "N", at[size], because="single runs: tails of cycles count")
          for size, ns2 in ((3, "906"), (5, "967"), (6, "971"), (7, "966"), (10, "957"), (12, "957"), (15, "954"), (20, "939"))),
    )  # fmt: skip
    figure = curves(
        "router buffer, packets",
        "throughput, B/s",
        [("without a bound", [SIZES[0], SIZES[-1]], [clean[0]] * 2)],
        [("no errors", list(SIZES), [at[size] for size in SIZES])],
    )
    return Result(rows, (("Throughput against the buffer's size, no errors (figure 7)", figure),))
