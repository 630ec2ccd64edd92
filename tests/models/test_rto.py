"""The closed-form timers compared with the rules of RFC 6298 and the simulator's estimator."""

from __future__ import annotations

import pytest

from wlanlens.models.rto import Rto


def test_rfc_6298() -> None:
    first = Rto(flavour="rfc6298", least_s=1.0)
    assert first.timeout_s() == 1.0
    sampled = first.sampled(0.1)
    # Rules 2.2 and 2.4: SRTT 100 ms, RTTVAR 50 ms, 300 ms rounded up to a second.
    assert (sampled.srtt_s, sampled.deviation_s, sampled.timeout_s()) == (0.1, 0.05, 1.0)
    assert sampled.formula_s() == pytest.approx(0.3)
    assert sampled.expired().expired().timeout_s() == 4.0


def test_linux_22_doubles_from_its_floor_and_stops_at_two_minutes() -> None:
    timer = Rto(flavour="linux22", srtt_s=0.03, deviation_s=0.01, cwnd_segments=8)
    waits = []
    for _ in range(12):
        waits.append(timer.timeout_s())
        timer = timer.expired()
    assert waits[:5] == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2])
    assert max(waits) == 120.0


def test_linux_24_bounds_the_variance_not_the_sum() -> None:
    timer = Rto(flavour="linux24")
    for _ in range(100):
        timer = timer.sampled(0.02)
    assert timer.timeout_s() == pytest.approx(0.02 + 0.2)
    # A shorter round trip does not raise the deviation as a longer one does.
    assert timer.sampled(0.001).deviation_s < timer.sampled(0.039).deviation_s / 2


def test_an_unknown_flavour() -> None:
    with pytest.raises(ValueError, match="linux22"):
        Rto(flavour="vegas")
