"""Clock drift: of two clocks, of coarse clocks, and the consensus of several."""

from __future__ import annotations

import numpy as np
import pytest

from tests.alignment.clock.made_pairs import EPOCH, MS, coarse, fit, fitted, pairs
from wlanlens.alignment import clock
from wlanlens.alignment.clock import Drift


def test_one_very_fast_packet_does_not_change_the_drift() -> None:
    ref, cap, before = pairs(slowest_ms=4.0)
    # One of each direction near one end, faster by 0.4 ms.
    for side, late_ns in ((-1, ref), (1, cap)):
        early = int(np.flatnonzero((before == side) & (ref > EPOCH + 5 * 10**9))[0])
        late_ns[early] = min(ref[early], cap[early]) + (MS // 10 if side < 0 else 6 * MS // 10)
    made = fitted(ref, cap + np.rint((cap - EPOCH) * -55e-6).astype(np.int64), before)
    assert made.drift_ppm == pytest.approx(-55.0, abs=0.5)


def test_a_few_very_fast_packets_do_not_change_the_drift() -> None:
    """A slow bus: all delays agree to a few us, but the first packet finds it empty, and a few ACKs do not wait for a frame."""
    rng = np.random.default_rng(4)
    count = 2000
    first = EPOCH + np.sort(rng.integers(0, 70 * 10**9, count))
    before = np.where(rng.random(count) < 0.6, 1, -1).astype(np.int8)
    delay = np.where(before == 1, 30 * MS, MS // 2) + rng.integers(0, 2000, count)
    delay[np.flatnonzero(before == 1)[0]] = 5 * MS
    acks = np.flatnonzero(before == -1)
    early = rng.choice(acks, 12, replace=False)
    delay[early] -= rng.integers(MS // 10, MS // 3, len(early))
    ref, cap = np.where(before == 1, first, first + delay), np.where(before == 1, first + delay, first)
    made = fitted(ref, cap + np.rint((cap - EPOCH) * 120e-6).astype(np.int64), before)
    assert made.drift_ppm == pytest.approx(120.0, abs=0.1)


def test_acoarse_clock_beside_a_fine_one() -> None:
    """Timestamps are the last tick: the bound is that of the delays, not of the tick, and the drift is known."""
    for turned in (False, True):
        ref, cap, before = pairs(12_000, slowest_ms=4.0)
        shown = cap + 77 * 10**9 + np.rint((cap - EPOCH) * 150e-6).astype(np.int64)
        coarse = shown // MS * MS
        pair = (coarse, ref, -before) if turned else (ref, coarse, before)
        order = np.argsort(coarse, kind="stable")
        ticks = {"tick_ns": 1, "reference_tick_ns": MS} if turned else {"tick_ns": MS, "reference_tick_ns": 1}
        made = fit("b", "a", *(v[order] for v in pair), np.arange(len(ref)), **ticks)
        truly = 1 / (1 + 150e-6) - 1 if turned else 150e-6
        assert made.drift_ppm == pytest.approx(truly * 1e6, abs=0.5)
        assert made.bound_ns is not None
        assert made.bound_ns < MS
        assert made.steps == made.contradictions == 0


def test_twocoarse_clocks() -> None:
    """The mean of many timestamps gives the drift where the envelope is a staircase with two steps."""
    ref, cap, before = pairs(20_000, slowest_ms=4.0)
    shown = cap + 77 * 10**9 + np.rint((cap - EPOCH) * 9e-6).astype(np.int64)
    order = np.argsort(cap, kind="stable")
    made = fit("b", "a", ref[order] // MS * MS, shown[order] // MS * MS, before[order], np.arange(len(ref)), tick_ns=MS)
    assert made.drift_ppm == pytest.approx(9.0, abs=1.0)


@pytest.mark.parametrize("drift_ppm", [4.0, 90.0])
def test_packets_in_step_with_acoarse_clock_leave_the_drift_open(drift_ppm: float) -> None:
    """One packet every 10 ms: at 4 ppm the coarse timestamps stay 10 ms apart for a minute, as without drift."""
    count = 6000
    first = EPOCH + MS // 3 + np.arange(count) * 10 * MS
    before = np.where(np.arange(count) % 2, 1, -1).astype(np.int8)
    ref, cap = np.where(before == 1, first, first + MS // 10), np.where(before == 1, first + MS // 10, first)
    made = clock.Fit(
        "b", "a", ref, coarse(cap, drift_ppm, MS), before, np.arange(count), tick_ns=MS, reference_tick_ns=1
    )
    assert made.drift is not None
    off = abs(made.drift.slope / 1e3 - drift_ppm)
    assert off <= 2 * made.drift.error / 1e3
    assert (off > 1) == (drift_ppm < 10)


def test_a_third_capture_gives_the_drift_of_two() -> None:
    """A queue between two coarse clocks. A fine clock before the queue is compared with both, through the fast direction."""
    rng = np.random.default_rng(3)
    count = 3000
    first = EPOCH + np.sort(rng.integers(0, 70 * 10**9, count))
    before = np.where(rng.random(count) < 0.5, 1, -1).astype(np.int8)
    hop, queue = MS // 5, (MS * (2 + 30 * rng.random(count) ** 0.3)).astype(np.int64)
    # a, then b, then the queue, then c.
    a = np.where(before == 1, first, first + queue + hop)
    b = np.where(before == 1, first + hop, first + queue)
    c = np.where(before == 1, first + hop + MS // 10, first)
    c, b, a = (np.where(before == 1, v, v + MS // 3) for v in (c, b, a))
    rates = {0: 35.0, 1: 0.0, 2: -80.0}
    shown = [coarse(a, rates[0], MS), coarse(b, rates[1], 1), coarse(c, rates[2], MS)]
    ticks = (MS, 1, MS)
    fits = {}
    for i, j in ((0, 1), (0, 2), (1, 2)):
        order = np.argsort(shown[j], kind="stable")
        fits[i, j] = clock.Fit(
            "b", "a", shown[i][order], shown[j][order], before[order], np.arange(count),
            tick_ns=ticks[j], reference_tick_ns=ticks[i],
        )  # fmt: skip
    drifts = {pair: made.drift for pair, made in fits.items() if made.drift is not None}
    known = clock.agreed(drifts, dict.fromkeys(drifts, 0))
    for (i, j), drift in known.items():
        truly = ((1 + rates[j] * 1e-6) / (1 + rates[i] * 1e-6) - 1) * 1e6
        assert abs(drift.slope / 1e3 - truly) <= 3 * drift.error / 1e3
        assert drift.error <= drifts[i, j].error
        made = fits[i, j].map(drift).pieces[0]
        assert made.drift_ppm == drift.slope / 1e3
        assert made.drift_error_ppm == drift.error / 1e3
        assert made.drift_bound_ppm is not None
        assert abs(made.drift_ppm - truly) <= made.drift_bound_ppm
    assert known[0, 2].error < drifts[0, 2].error / 2


def test_drifts_agree_between_all_clocks() -> None:
    # The product of 200 ppm and 200 ppm is 0.04 ppm.
    rates = (0.0, 200.0, -150.0)
    truly = {(i, j): ((1 + rates[j] * 1e-6) / (1 + rates[i] * 1e-6) - 1) * 1e9 for i, j in ((0, 1), (2, 1), (0, 2))}
    drifts = {pair: Drift(slope, 10.0) for pair, slope in truly.items()}
    off = {**drifts, (0, 2): Drift(truly[0, 2] + 5000.0, 5000.0)}
    none = dict.fromkeys(drifts, 0)
    known = clock.agreed(off, none)
    for pair, slope in truly.items():
        assert known[pair].slope == pytest.approx(slope, abs=0.1)
        assert known[pair].error < 20.0
    # A step between 0 and 1, none between 1 and 2: either clock 0 was stepped, and 0 to 2 misses it, or clock 1, and 2 to 1 does.
    hidden = clock.agreed(off, {**none, (0, 1): 1})
    assert [d.slope for d in hidden.values()] == pytest.approx([d.slope for d in off.values()])
    # A step between 0 and 2 too: clock 0 was stepped, and no pair misses it.
    assert clock.agreed(off, {**none, (0, 1): 1, (0, 2): 1}) == known
    assert clock.agreed({}, {}) == {}
    reverse = drifts[0, 1].reversed()
    assert reverse.slope == pytest.approx((1 / (1 + 200e-6) - 1) * 1e9)
    assert reverse.reversed().slope == pytest.approx(truly[0, 1])
