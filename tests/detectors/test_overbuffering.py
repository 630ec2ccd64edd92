"""overbuffering: the flow's own data in an over-large queue."""

from __future__ import annotations

import pytest

from tests import kernel
from tests.detectors.made import MS, ack, flows, interval, run, trace

CODE = "overbuffering"


def samples(*, follows: bool = True) -> list[dict[str, object]]:
    """ACKs whose round-trip time grows with the flight, or does not."""
    out = []
    for i in range(20):
        flight = 10_000 + 5_000 * (i if follows else (i * 7) % 3)
        out.append(ack(i + 10, 100.0 * i, 1 + i, rtt_ns=(20 + 25 * i) * MS, flight_bytes=flight))
    return out


def stood(rtt_ms: float = 420.0) -> list[dict[str, object]]:
    """A short start on an empty path, then 4 s at this round trip."""
    return [
        interval("slow_start", 0, 1000),
        interval("transfer", 1000, 5000, rtt_ns=int(rtt_ms * MS), acked_bytes=500_000),
    ]


def test_fires_with_delay_and_bytes() -> None:
    found, _ = run(CODE, trace(intervals=stood(), segments=samples()))
    (finding,) = found
    assert finding.values["queueing_mean_ms"] == pytest.approx(400)
    assert finding.values["queued_bytes"] == pytest.approx(50_000)
    assert finding.cost_s == pytest.approx(4 * 400 / 420)


def test_a_long_path_is_silent() -> None:
    rows = [interval("transfer", 0, 9000, rtt_ns=600 * MS, rtt_min_ns=590 * MS)]
    assert run(CODE, trace(intervals=rows, segments=samples())) == ([], [])


def test_delay_that_does_not_follow_the_flight_is_silent() -> None:
    assert run(CODE, trace(intervals=stood(), segments=samples(follows=False))) == ([], [])


def test_little_is_silent() -> None:
    assert run(CODE, trace(intervals=stood(rtt_ms=150), segments=samples())) == ([], [])


def test_beside_the_receiver_undecided() -> None:
    found, undecided = run(CODE, trace(flows(tap="near_receiver"), intervals=stood(), segments=samples()))
    assert not found
    assert "beside the receiver" in undecided[0].sentence


@kernel.needed
def test_a_hundred_packets_at_one_megabit() -> None:
    (finding,) = kernel.of(kernel.found("bloat100"), CODE)
    assert finding.values["queueing_max_ms"] == pytest.approx(1194, rel=0.05)
    assert finding.values["queued_max_bytes"] == pytest.approx(100 * 1500, rel=0.1)


@kernel.needed
@pytest.mark.parametrize("name", [n for n in kernel.NAMES if n != "bloat100"])
def test_look_alikes(name: str) -> None:
    assert not kernel.of(kernel.found(name), CODE)
