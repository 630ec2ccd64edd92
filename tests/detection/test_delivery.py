"""How far a trouble set a transfer back, by what was acknowledged."""

from __future__ import annotations

import numpy as np
import pytest

from wlanlens.detection.savings.at_rate import AtRate
from wlanlens.detection.savings.delivery import Delivery, merged

MS = 10**6
SEGMENT = 1000


def acks(*stretches: tuple[float, float, float]) -> Delivery:
    """A transfer by its ACKs: (start, end, time between two ACKs of a segment), in ms."""
    t = np.concatenate([np.arange(start, end, gap) for start, end, gap in stretches])
    ns = np.sort(np.round(t * MS)).astype(np.int64)
    return Delivery.of(ns, SEGMENT * np.arange(1, len(ns) + 1), 10 * MS)


def setback_s(d: Delivery, start_ms: int, end_ms: int) -> float:
    span = start_ms * MS, end_ms * MS
    return one_setback_s(d, *span, d.usual([span]), d.end_ns)


def one_setback_s(
    d: Delivery, start_ns: int, end_ns: int, rate: float, limit_ns: int, since_ns: int = 0, *, after_ack: bool = False
) -> float:
    start, end, limit, since = (np.array([t]) for t in (start_ns, end_ns, limit_ns, since_ns))
    return float(AtRate(d, rate).setbacks_s(start, end, limit, since, after_ack=after_ack)[0])


def regained_ns(d: Delivery, after_ns: int, rate: float, limit_ns: int) -> int:
    return int(AtRate(d, rate).regained_ns(np.array([after_ns]), np.array([limit_ns]))[0])


def test_idle_time_is_lost_in_whole() -> None:
    d = acks((0, 1000, 1), (1500, 3000, 1))
    assert d.usual([(1000 * MS, 1500 * MS)]) == pytest.approx(SEGMENT / MS, rel=0.01)
    assert setback_s(d, 1000, 1500) == pytest.approx(0.5, abs=0.005)


def test_what_a_burst_brings_was_not_lost() -> None:
    """ACKs of a path that stayed busy were held for 300 ms: their burst acknowledges what was delivered meanwhile."""
    ns = np.sort(np.concatenate([np.arange(0, 1000), np.full(300, 1300), np.arange(1300, 3000)]) * MS).astype(np.int64)
    d = Delivery.of(ns, SEGMENT * np.arange(1, len(ns) + 1), 10 * MS)
    assert setback_s(d, 1000, 1300) == pytest.approx(0.0, abs=0.01)


def test_a_slow_start_after_the_silence_counts() -> None:
    d = acks((0, 1000, 1), (1500, 1900, 4), (1900, 3000, 1))
    # 400 ms at a quarter of the rate lose 300 ms more.
    assert setback_s(d, 1000, 1500) == pytest.approx(0.8, abs=0.02)


def test_a_rate_regained_after_thousands_of_acks_is_found() -> None:
    d = acks((0, 1000, 1), (1500, 9500, 4), (9500, 12000, 1))
    rate = SEGMENT / MS
    assert regained_ns(d, 1500 * MS, rate, d.end_ns) == pytest.approx(9500 * MS, abs=30 * MS)
    # The pace is good again, but not for long enough before the limit, until the last ACK.
    assert regained_ns(d, 1500 * MS, rate, 9000 * MS) == 9000 * MS


def test_a_trouble_ends_where_the_next_begins() -> None:
    d = acks((0, 1000, 1), (1500, 1900, 4), (2500, 4000, 1))
    rate = d.usual([(1000 * MS, 2500 * MS)])
    first = one_setback_s(d, 1000 * MS, 1500 * MS, rate, 1900 * MS)
    assert first == pytest.approx(0.8, abs=0.02)
    assert one_setback_s(d, 1900 * MS, 2500 * MS, rate, d.end_ns) == pytest.approx(0.6, abs=0.02)


def test_losses_noticed_late_began_with_the_silence() -> None:
    """ACKs stop at 1000 ms; the span begins with the third duplicate ACK at 1030 ms."""
    d = acks((0, 1000, 1), (1500, 3000, 1))
    assert setback_s(d, 1030, 1500) == pytest.approx(0.5, abs=0.02)


def test_the_usual_rate_is_that_of_most_of_the_time() -> None:
    """A window that grows for a third of the time has many paces; the full path has one."""
    grows = [(200.0 * i, 200.0 * (i + 1), 4 - 0.5 * i) for i in range(5)]
    assert acks(*grows, (1000, 3000, 1)).usual([]) == pytest.approx(SEGMENT / MS, rel=0.001)


def test_a_trouble_ends_where_the_silence_of_the_next_begins() -> None:
    """The next loss is noticed at 1750 ms, but its ACKs stopped at 1700 ms: those 50 ms are not the first one's."""
    d = acks((0, 1000, 1), (1500, 1700, 1), (2000, 3000, 1))
    rate = d.usual([(1000 * MS, 1500 * MS), (1700 * MS, 2000 * MS)])
    first = one_setback_s(d, 1000 * MS, 1500 * MS, rate, 1750 * MS)
    second = one_setback_s(d, 1750 * MS, 2000 * MS, rate, d.end_ns, since_ns=1500 * MS)
    assert first == pytest.approx(0.5, abs=0.01)
    assert second == pytest.approx(0.3, abs=0.01)


def test_the_path_rate_is_that_inside_trains() -> None:
    """Eight ACKs 1 ms apart, then rest until the next round trip of 40 ms."""
    starts = np.arange(0, 2000, 40)
    ns = (np.add.outer(starts, np.arange(8)).ravel() * MS).astype(np.int64)
    d = Delivery.of(ns, SEGMENT * np.arange(1, len(ns) + 1), 40 * MS)
    assert d.path_rate() == pytest.approx(SEGMENT / MS, rel=0.01)
    assert d.usual([]) == pytest.approx(8 * SEGMENT / (40 * MS), rel=0.1)


def test_many_setbacks_are_those_of_each_alone() -> None:
    draw = np.random.default_rng(7)
    for _ in range(200):
        ns = np.sort(draw.integers(0, 3000, 400)) * MS
        ns = ns[(ns < 900 * MS) | (ns > 1400 * MS)]
        d = Delivery.of(ns, SEGMENT * np.cumsum(draw.integers(0, 3, len(ns))), 10 * MS)
        times = np.sort(draw.integers(0, 3200, 12)) * MS
        start, end = times[::2], times[1::2]
        limit, since = np.append(start[1:], d.end_ns), np.append(0, end[:-1])
        rate = d.usual(list(zip(start.tolist(), end.tolist(), strict=True)))
        for after_ack in (False, True):
            alone = [
                one_setback_s(d, start[i], end[i], rate, limit[i], since[i], after_ack=after_ack) for i in range(6)
            ]
            assert AtRate(d, rate).setbacks_s(start, end, limit, since, after_ack=after_ack).tolist() == alone
            assert min(alone) >= 0


def test_spans_that_touch_are_one() -> None:
    assert merged([(5, 9), (1, 3), (3, 5), (20, 20)]) == [(1, 9)]
