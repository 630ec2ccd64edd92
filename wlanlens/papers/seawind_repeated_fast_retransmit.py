from __future__ import annotations

from dataclasses import dataclass

from wlanlens.papers._air import Packets, packets, sequence_figure
from wlanlens.papers._seawind import bytes_per_s, data_of
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment
from wlanlens.simulation.simulate import Run


@dataclass(frozen=True)
class _Cuts:
    cases: int
    recoveries: int
    spurious: int
    rate: float
    shown: Packets


def _measure(run: Run) -> _Cuts:
    d = data_of(run)
    events = [e["what"] for e in run.facts.events.to_pylist()]
    seen: dict[int, int] = {}
    for start, fate in zip(d.start.tolist(), d.fate.tolist(), strict=True):
        seen[start] = seen.get(start, 0) + (fate == "delivered")
    return _Cuts(
        sum(f.code == "repeated_fast_retransmit" for f in run.truth),
        events.count("recovery_began"),
        sum(count - 1 for count in seen.values() if count > 1),
        bytes_per_s(run),
        packets(run, 25.0, 75.0),
    )


@experiment("seawind_repeated_fast_retransmit", study="seawind", source="section 6")
def seawind_repeated_fast_retransmit(lab: Lab) -> Result:
    """Several fast retransmits for one window, after a long delay and after a block of losses; one run each.

    The link is deterministic. The careful variant of RFC 6582 prevents the first, NewReno the second.
    """
    cases = [
        ("repeated_fast_retransmit", {}),
        ("repeated_fast_retransmit", {"recovery": "newreno"}),
        ("block_loss_without_sack", {}),
        ("block_loss_without_sack", {"recovery": "newreno"}),
        ("separate_losses", {}),
    ]
    careless, careful, reno, newreno, separate = (runs[0] for runs in lab.measure_all(_measure, cases, seeds=1))
    rows = (
        Row("a long delay, without the careful variant: cases", "multiple fast retransmits", "S", careless.cases,
            holds=careless.cases > 0, because="duplicate ACKs of the retransmissions are treated as a loss"),
        Row("a long delay, with it", "should be implemented in all TCPs", "E", careful.cases, (0, 0),
            because="duplicate ACKs up to the recovery point are no loss"),
        Row("throughput, without and with it (B/s)", "adversely affects the performance", "S",
            f"{careless.rate:.0f}, {careful.rate:.0f}", holds=careless.rate < careful.rate, because="the window is halved without a loss"),
        Row("a block of losses, Reno: cases", "multiple fast retransmits", "S", reno.cases, holds=reno.cases > 0,
            because="the first partial ACK ends its recovery"),
        Row("a block of losses, New Reno", "", "E", newreno.cases, (0, 0), because="one recovery for the window"),
        Row("separate losses: recoveries, cases", "", "S", f"{separate.recoveries}, {separate.cases}",
            holds=separate.recoveries >= 4 and separate.cases == 0, because="each loss is in its own window"),
    )  # fmt: skip
    return Result(
        rows,
        (
            ("After a delay of 12 s, without the careful variant", sequence_figure(careless.shown, "")),
            ("The same with it", sequence_figure(careful.shown, "")),
        ),
    )
