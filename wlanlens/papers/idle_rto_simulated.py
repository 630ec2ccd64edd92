from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wlanlens.papers._air import Packets, packets, payload, sequence_figure
from wlanlens.papers._idle_rto import linux22_timer
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment
from wlanlens.simulation.simulate import Run

#: Table 2: event, srtt and mdev (ms), cwnd, ssthresh, retransmits, backoff, packets_out.
_TABLE = (
    ("start", 30, 10, 8, None, 0, 0, 8),
    ("expiry 1", 30, 10, 1, 4, 1, 1, 8),
    ("expiry 2", 30, 10, 1, 4, 2, 2, 8),
    ("expiry 3", 30, 10, 1, 4, 3, 3, 8),
    ("expiry 4", 30, 10, 1, 4, 4, 4, 8),
    ("ack(4)", 400, 750, 2, 4, 4, 4, 5),
    ("ack(6)", 350, 660, 3, 4, 4, 4, 3),
    ("ack(8)", 310, 580, 4, 4, 4, 4, 1),
)
_COUNTS = ("cwnd_segments", "ssthresh_segments", "expiries", "backoff", "outstanding_segments")
_NAMES = ("snd_cwnd", "snd_ssthresh", "retransmits", "backoff", "packets_out")
#: Half of the jiffy of 10 ms to which the study prints times.
_HALF_JIFFY_MS = 5.0
_EXPIRIES_S = (0.2, 0.6, 1.4, 3.0)
#: The timer of row 8 given that its terms are printed to 10 ms, as in `idle_rto_table`.
_IDLE_S = (57.2, 57.95)
_MSS_BYTES = 1448


@dataclass(frozen=True)
class _Measured:
    states: tuple[dict[str, Any], ...]
    expiries_s: tuple[float, ...]
    rtos_s: tuple[float, ...]
    #: Segments of the window that were retransmitted, from 1.
    again: tuple[int, ...]
    idle_s: float
    sequence: Packets


def _measure(run: Run) -> _Measured:
    events = [e for e in run.facts.events.to_pylist() if e["mdev_ns"] is not None]
    start = next(e for e in events if e["what"] == "timeout")
    after = [e for e in events if e["what"] == "loss_state"][: len(_TABLE) - 1]
    data = payload(run)
    sent, copy = np.asarray(data["t_made_ns"]) / 1e9, np.asarray(data["copy"])
    segment = (np.asarray(data["rel_seq"]) - start["rel_seq"]) // _MSS_BYTES + 1
    gaps = np.diff(np.sort(sent))
    at = float(np.sort(sent)[int(gaps.argmax())])
    began = start["t_ns"] / 1e9
    # The retransmission timer was last set 200 ms before it expired.
    zero = began - start["rto_ns"] / 1e9
    return _Measured(
        states=(start, *after),
        expiries_s=tuple(e["t_ns"] / 1e9 - zero for e in after[:4]),
        rtos_s=tuple(e["rto_ns"] / 1e9 for e in (start, *after)),
        again=tuple(sorted({int(n) for n in segment[(copy > 0) & (sent >= began) & (sent <= at)]})),
        idle_s=float(gaps.max()),
        sequence=packets(run, began - 0.3, at + float(gaps.max()) + 0.3),
    )


@experiment("idle_rto_simulated", study="bursty_errors", source="table 2, all columns; figure 2")
def idle_rto_simulated(lab: Lab) -> Result:
    """Table 2 by the simulated TCP: the losses of figure 2 one by one, and the sender's variables after each event.

    Only the start (a round trip of about 30 ms) and the losses are set. The study prints times to jiffies of 10 ms. Deterministic.
    """
    run = lab.measure("lost_window", _measure, seeds=1)[0]
    rows = []
    for n, (printed, state, rto) in enumerate(zip(_TABLE, run.states, run.rtos_s, strict=True), 1):
        event, srtt, mdev, *counts = printed
        name = f"row {n}, {event}"
        for column, key, ms in (("srtt", "srtt_ns", srtt), ("mdev", "mdev_ns", mdev)):
            because = "set by the link" if n == 1 else "unchanged" if n <= 5 else _SAMPLES[n]
            rows.append(
                Row(f"{name}: {column} (ms)", str(ms), "E", (state[key] or 0) / 1e6,
                    (ms - _HALF_JIFFY_MS, ms + _HALF_JIFFY_MS), because=because)
            )  # fmt: skip
        for column, key, value in zip(_NAMES, _COUNTS, counts, strict=True):
            measured = state[key]
            if value is None:
                shown = "none" if measured is None else measured
                rows.append(Row(f"{name}: {column}", "?", "N", shown, because="of an earlier loss"))
            else:
                got = float("nan") if measured is None else measured
                rows.append(Row(f"{name}: {column}", str(value), "E", got, (value, value), because=_COLUMNS[column]))
        if 2 <= n <= 5:
            at = _EXPIRIES_S[n - 2]
            rows.append(Row(f"{name}: time since the timer was set (s)", f"{at}", "E", run.expiries_s[n - 2],
                            (at - 0.005, at + 0.005), because="200 ms, doubled"))  # fmt: skip
        if n >= 6:
            said, between = _timer(n, printed)
            rows.append(
                Row(f"{name}: retransmission timer (s)", said, "E", rto, between, because="equation 1 with backoff 4")
            )
    rows += [
        Row("segments of the window that are retransmitted", "1, 4, 6, 7, 8", "S", ", ".join(map(str, run.again)),
            holds=run.again == (1, 4, 6, 7, 8), because="segments 2, 3 and 5 had arrived"),
        Row("longest idle time (s)", "57.4", "E", run.idle_s, _IDLE_S, because="the timer after ack(8); its ACK is lost"),
    ]  # fmt: skip
    return Result(tuple(rows), (("Segments around the idle time (figure 2)", sequence_figure(run.sequence)),))


_SAMPLES = {
    6: "a sample of three seconds: the echo of segment 3's first transmission",
    7: "a sample of one jiffy",
    8: "another",
}
_COLUMNS = {
    "snd_cwnd": "1 at each expiry; one more for each ACK",
    "snd_ssthresh": "half of the window, once",
    "retransmits": "expiries, kept until nothing is outstanding",
    "backoff": "kept until nothing is outstanding",
    "packets_out": "sent and not acknowledged",
}


def _timer(n: int, printed: tuple[Any, ...]) -> tuple[str, tuple[float, float]]:
    """What the study says of the timer of a row, and what equation 1 gives with values within half a jiffy of the printed ones."""
    _, srtt, mdev, cwnd, _, _, backoff, _ = printed
    if n == 8:
        return "57", _IDLE_S

    def timer_s(half_ms: float) -> float:
        return linux22_timer(srtt + half_ms, mdev + half_ms, cwnd, backoff).timeout_s()

    return f"not printed; equation 1: {timer_s(0):.1f}", (timer_s(-_HALF_JIFFY_MS), timer_s(_HALF_JIFFY_MS))
