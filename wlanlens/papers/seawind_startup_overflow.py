from __future__ import annotations

from typing import Any

from wlanlens.papers._air import sequence_figure
from wlanlens.papers._dcf import curves
from wlanlens.papers._seawind import Start, bytes_per_s, startup
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment
from wlanlens.scenarios._slow_line import UNLIMITED
from wlanlens.simulation.simulate import Run


def _measure(run: Run) -> tuple[Start, float, int]:
    """The start-up, the throughput, and the finding that the detector must make."""
    return startup(run), bytes_per_s(run), sum(f.code == "startup_overflow" for f in run.truth)


def _queue(run: Run) -> tuple[list[float], list[int], list[float]]:
    """Length of the router's queue over time, and its drops."""
    q = run.facts.queues.filter([name == "wire 1 a2b" for name in run.facts.queues["queue"].to_pylist()])
    rows = q.to_pylist()
    drops = [r["t_ns"] / 1e9 for r in rows if r["dropped"] is not None]
    return [r["t_ns"] / 1e9 for r in rows], [r["length_packets"] for r in rows], drops


@experiment("seawind_startup_overflow", study="seawind", source="section 3.1, figures 3 and 8")
def seawind_startup_overflow(lab: Lab) -> Result:
    """Slow start overshoots the router's buffer; NewReno repairs one hole per round trip.

    One run each, without errors: the link is deterministic. The dual threshold is the study's proposal, which it did not
    test; an early single loss, its other observation, has the same effect.
    """
    base: dict[str, Any] = {"loss_rate": 0.0}
    cases = [
        ("startup_overflow", {**base, "buffer_packets": 7}),
        ("startup_overflow", {**base, "buffer_packets": 15}),
        ("startup_overflow", {**base, "buffer_packets": UNLIMITED}),
        ("startup_overflow", {**base, "buffer_packets": 30}),
        ("early_drop_at_buffer", {}),
    ]
    ((seven, _, found), (fifteen, _, _), (none, _, not_found), (tail, tail_rate, _), (two, two_rate, none_left)) = (
        runs[0] for runs in lab.measure_all(_measure, cases, seeds=1)
    )
    t, lengths, drops = lab.measure("startup_overflow", _queue, seeds=1, loss_rate=0.0)[0]
    taken = [lost for lost in seven.pattern if lost]
    until_last = len(seven.pattern) - seven.pattern[::-1].index(True)
    longest = max(len(run) for run in "".join("x" if lost else " " for lost in seven.pattern).split())
    rows = (
        Row("segments lost, buffer of 7", "10", "Q", seven.losses, (8, 12), because="slow start continues for one round trip"),
        Row("first loss, buffer of 7 (s)", "ns-2: 3.2", "N", seven.first_s, because="its delayed ACKs are sent sooner"),
        Row("made good, buffer of 7 (s)", "about 20", "Q", seven.recovered_s, (14.0, 24.0),
            because="one hole per round trip of 0.7 to 2 s"),
        Row("segments lost, buffer of 15", "ns-2: 17", "N", fifteen.losses, because="a flight of about twice the buffer"),
        Row("repaired, buffer of 15 (s)", "40", "Q", fifteen.recovered_s, (25.0, 45.0),
            because="twice the holes; new data sent in recovery shortens it"),
        Row("flight at the first retransmission (segments), buffer of 7", "about twice the buffer", "S", seven.window,
            holds=14 <= seven.window <= 28, because="the queue is full for a whole round trip"),
        Row("share of it that is lost", "every second segment", "S", len(taken) / until_last,
            holds=0.3 <= len(taken) / until_last <= 0.7 and longest <= 2, because="two segments for each ACK into a full queue"),
        Row("losses without a bound on the buffer", "0", "E", none.losses, (0, 0), because="nothing overflows"),
        Row("findings required: 7 packets, no bound", "", "E", found - not_found, (1, 1),
            because="computed from the ground truth"),
        Row("dual threshold: losses before the first retransmission, hard limit 30", "proposed: one", "E", two.losses, (1, 1),
            because="one packet is dropped at 10, and the sender slows down"),
        Row("the same without it", "", "S", tail.losses, holds=tail.losses > 10 and none_left == 0,
            because="tail drop at 30 loses all packets that overflow"),
        Row("dual threshold against tail drop, buffer of 30 (B/s)", "proposed", "S", f"{two_rate:.0f}, {tail_rate:.0f}",
            holds=two_rate > tail_rate, because="no run of holes to fill"),
    )  # fmt: skip
    queue = curves(
        "time, s",
        "packets",
        [("router's queue", t, [float(n) for n in lengths])],
        [("dropped", drops, [7.0] * len(drops))],
    )
    return Result(
        rows,
        (
            ("The start-up overflow, buffer of 7 (figures 3b and 8)", sequence_figure(seven.shown, "")),
            ("The same with a buffer of 15", sequence_figure(fifteen.shown, "")),
            ("The router's queue, buffer of 7", queue),
        ),
    )
