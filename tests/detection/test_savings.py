"""What a transfer would have saved: by a clock that stands still while its application sends nothing."""

from __future__ import annotations

import pytest

from tests.detectors.made import MSS, S, ack, flows
from tests.rows import intervals, table
from wlanlens.detection.finding import Finding
from wlanlens.detection.savings.estimates import with_savings
from wlanlens.ledger import ledger
from wlanlens.trace import Trace

#: A segment each 10 ms for 2 s; a timer for 0.5 s; 2 s at the same rate; a pause of 4 s; 2 s at the same rate.
STATES = [("transfer", 2 * S), ("rto_wait", S // 2), ("transfer", 2 * S), ("idle", 4 * S), ("transfer", 2 * S)]
SENDING_MS = [*range(0, 2000, 10), *range(2500, 4500, 10), *range(8500, 10500, 10)]


def saved_s(start_s: float, end_s: float) -> float:
    """`saved_s` of a timeout at a time."""
    rows = table("intervals", intervals(STATES))
    acks = [ack(i + 1, t, 1 + (i + 1) * MSS) for i, t in enumerate(SENDING_MS)]
    held = {"segments": table("segments", acks), "intervals": rows, "ledger": ledger.from_intervals(rows)}
    trace = Trace.of_tables({**held, "flows": table("flows", flows())}, duration_ns=11 * S)
    found = Finding("tail_loss", round(start_s * S), round(end_s * S), "test.pcap", "", "serious", 0.9, end_s - start_s,
                    flow=0, direction="a2b")  # fmt: skip
    (made,) = with_savings(trace, [found], lambda code, error: pytest.fail(f"{code}: {error}"))
    assert made.saved_s is not None
    return made.saved_s


def test_a_timer_is_saved_and_the_application_s_pause_is_not() -> None:
    assert saved_s(2.0, 2.5) == pytest.approx(0.5, abs=0.03)


def test_a_loss_before_a_pause_saves_no_more_than_its_time() -> None:
    # The next ACK comes 4.5 s after the last one: 4 s of them are the application's.
    assert saved_s(4.5, 4.6) <= 0.1
