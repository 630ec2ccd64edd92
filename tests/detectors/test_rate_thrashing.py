"""rate_thrashing: cycles of careless probing that end at the retry limit."""

from __future__ import annotations

import numpy as np
import pytest

from tests.detectors import changed, worlds
from tests.detectors.air import SUBJECT_AB
from tests.detectors.made import run

CODE = "rate_thrashing"


@pytest.mark.parametrize(("world", "period", "limit"), [("thrashing a", 11, 8), ("thrashing c", 7, 10)])
def test_the_cycle(world: str, period: int, limit: int) -> None:
    made = worlds.made(world, 3)
    finding = next(f for f in run(CODE, made.trace())[0] if f.subject == SUBJECT_AB)
    assert finding.values["period_packets"] == pytest.approx(period, abs=1)
    assert finding.values["retry_limit_count"] == limit
    assert finding.values["best_steady_rate_mbps"] == 1.0
    assert finding.values["highest_rate_mbps"] == 11.0
    dropped = sum(m.outcome == "dropped" for m in made.msdus if m.kind == "data")
    assert finding.values["dropped_packets_count"] == pytest.approx(dropped, abs=3)
    assert finding.values["tcp_retransmissions_count"] == pytest.approx(len(made.retransmissions), rel=0.05)
    assert finding.severity == "serious"


def test_the_cost_is_the_gain_of_the_steady_rate() -> None:
    """In the lost time the best steady rate carries the missing packets."""
    made = worlds.made("thrashing b", 3)
    finding = next(f for f in run(CODE, made.trace())[0] if f.subject == SUBJECT_AB)
    steady = worlds.made("thrashing b, fixed", 3)
    have, could = (sum(m.outcome == "delivered" for m in a.msdus if m.kind == "data") for a in (made, steady))
    assert finding.cost_s == pytest.approx(made.world.seconds * (1 - have / could), rel=0.15)


def test_without_rates_it_is_undecided() -> None:
    made = worlds.made("thrashing a", 3).trace()
    found, undecided = run(CODE, changed.replaced(made, exchanges=changed.without_rates(made.table("exchanges"))))
    assert not found
    assert [u.count for u in undecided] == [2]


def test_many_missed_transmissions_are_undecided() -> None:
    made = worlds.made("thrashing a", 3).trace()
    table = made.table("exchanges")
    missed = np.asarray(table.column("attempts").to_numpy()) // 2
    found, undecided = run(
        CODE, changed.replaced(made, exchanges=changed.with_column(table, "attempts_inferred", missed))
    )
    assert len(undecided) == (0 if found else 1)
