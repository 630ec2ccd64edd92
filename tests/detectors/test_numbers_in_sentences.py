"""Numbers with their units in sentences."""

from __future__ import annotations

from wlanlens.formatting import bit_rate, count, duration, moment, times


def test_numbers_with_their_units() -> None:
    assert [duration(s) for s in (2.5e-5, 0.0123, 1.5, 123.4)] == ["25 us", "12.3 ms", "1.5 s", "123 s"]
    assert moment(1_324_000_000) == "t = 1.324 s"
    assert [bit_rate(b) for b in (900, 4.46e6, 1.2e9)] == ["900 bit/s", "4.46 Mbit/s", "1.2 Gbit/s"]


def test_counts_agree_with_their_nouns() -> None:
    assert [count(n, "packet") for n in (1, 2)] == ["1 packet", "2 packets"]
    assert count(2, "expiry", "expiries") == "2 expiries"
    assert [times(n) for n in (1, 2, 3)] == ["once", "twice", "3 times"]
