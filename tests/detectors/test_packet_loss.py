"""packet_loss: data that was lost, and what it cost."""

from __future__ import annotations

import pytest

from tests.detectors.made import MS, again, interval, run, timeout, trace
from tests.firing import Small

CODE = "packet_loss"

#: A small simulated world in which it finds something. The contract tests read this name.
FIRES_ON = Small("genuine_timeout", 2.0, ("sender",))


def recovery(start_ms: int, end_ms: int, *, spurious: bool | None = False) -> dict[str, object]:
    row = {"packet": start_ms, "t_start_ns": start_ms * MS, "t_end_ns": end_ms * MS}
    return {**row, "ended_by": "acked", "retransmissions": 2, "spurious": spurious}


TIMES = [interval("fast_recovery", 1000, 1400), interval("rto_wait", 2000, 2300, timeout_packet=9)]


def test_losses_and_what_they_cost() -> None:
    lost = [
        again(3, 1000, 1449, spurious=False),
        again(4, 1010, 5000, spurious=False),
        again(9, 2300, 9000, spurious=False),
    ]
    made = trace(segments=lost, recoveries=[recovery(1000, 1400)], timeouts=[timeout(9, 2300)], intervals=TIMES)
    (finding,) = run(CODE, made)[0]
    assert finding.cost_s == pytest.approx(0.7)
    assert (finding.values["lost_count"], finding.values["episodes_count"]) == (3, 2)
    assert finding.rows("segments") == (3, 4, 9)


@pytest.mark.parametrize("spurious", [True, None])
def test_what_was_not_needed_is_no_loss(spurious: bool | None) -> None:
    lost = [again(3, 1000, 1449, spurious=spurious)]
    made = trace(segments=lost, recoveries=[recovery(1000, 1400, spurious=spurious)], intervals=TIMES)
    assert run(CODE, made) == ([], [])


def test_time_of_other_kinds_does_not_count() -> None:
    lost = [again(3, 1000, 1449, spurious=False)]
    held = timeout(9, 2300, kind="spurious")
    made = trace(segments=lost, recoveries=[recovery(900, 950)], timeouts=[held], intervals=TIMES)
    assert run(CODE, made)[0][0].cost_s == 0
