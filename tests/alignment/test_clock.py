"""The fit of a clock to made pairs, and its parts."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from wlanlens.alignment import clock
from wlanlens.alignment.clock import ClockMap, Drift, NoClockFit
from wlanlens.alignment.clock.feasible_region import FeasibleRegion

MS = 1_000_000
EPOCH = 1_700_000_000 * 10**9


def pairs(count: int = 4000, *, span_s: float = 60.0, seed: int = 1, slowest_ms: float = 40.0) -> tuple[Any, Any, Any]:
    """True times at both taps, and which the packets passed first: at least 1 ms there and 0.5 ms back."""
    rng = np.random.default_rng(seed)
    first = EPOCH + np.sort(rng.integers(0, int(span_s * 1e9), count))
    before = np.where(rng.random(count) < 0.5, 1, -1).astype(np.int8)
    delay = np.where(before == 1, MS, MS // 2) + (rng.random(count) ** 3 * slowest_ms * MS).astype(np.int64)
    return np.where(before == 1, first, first + delay), np.where(before == 1, first + delay, first), before


def fit(capture: str, reference: str, *pairs: Any, **options: Any) -> ClockMap:
    """The map as two captures' own pairs have it."""
    return clock.Fit(capture, reference, *pairs, **options).map()


def fitted(ref: Any, cap: Any, before: Any, **options: Any) -> ClockMap:
    order = np.argsort(cap, kind="stable")
    return fit("b", "a", ref[order], cap[order], before[order], np.arange(1, len(ref) + 1), **options)


def _set_by(made: ClockMap) -> list[float]:
    """The steps that it states, s."""
    return [float(step) for step in re.findall(r"was set by (\S+) s", made.sentence)]


@pytest.mark.parametrize("drift_ppm", [-200.0, 0.0, 17.0, 200.0])
def test_offset_drift_and_bound(drift_ppm: float) -> None:
    ref, cap, before = pairs()
    shown = cap + 3_600 * 10**9 + np.rint((cap - EPOCH) * drift_ppm * 1e-6).astype(np.int64)
    made = fitted(ref, shown, before)
    assert made.drift_ppm == pytest.approx(drift_ppm, abs=1.0)
    within = made.pieces[0].drift_bound_ppm
    assert within is not None
    assert abs(made.drift_ppm - drift_ppm) <= within
    assert made.bound_ns is not None
    assert made.two_way_ns is not None
    assert made.bound_ns <= made.two_way_ns
    assert np.abs(made.to_axis(shown) - cap).max() <= made.pieces[0].bound_most_ns
    assert (made.steps, made.contradictions) == (0, 0)


def test_wrong_pairs_do_not_move_it() -> None:
    """A few pairs of another copy, half a second off, either way."""
    ref, cap, before = pairs()
    wrong = np.random.default_rng(2).choice(len(cap), 12, replace=False)
    ref = ref.copy()
    ref[wrong] += np.where(np.arange(12) % 2, 500, -500) * MS
    order = np.argsort(cap, kind="stable")
    made = fit("b", "a", ref[order], cap[order], before[order], np.arange(len(cap)))
    assert made.steps == 0
    assert made.bound_ns is not None
    assert abs(made.offset_ns) <= made.bound_ns < 2 * MS
    # Those that are too early for their direction contradict; those that are too late are merely slow.
    assert 0 < made.contradictions <= 12


@pytest.mark.parametrize("step_ms", [-2000, -128, 128, 5000])
def test_a_step_is_cut(step_ms: int) -> None:
    ref, cap, before = pairs()
    order = np.argsort(cap, kind="stable")
    ref, cap, before = ref[order], cap[order], before[order]
    late = cap >= EPOCH + 25 * 10**9
    made = fit("b", "a", ref, cap + late * step_ms * MS, before, np.arange(1, len(ref) + 1))
    assert made.steps == 1
    assert "was set by" in made.sentence
    # Cut at the right packet, but for those that fit both.
    assert abs(made.pieces[1].first_packet - 1 - int(late.argmax())) <= 2
    assert np.abs(made.to_axis(cap + late * step_ms * MS, np.arange(1, len(ref) + 1)) - cap).mean() < 2 * MS
    axis = made.to_axis(np.sort(cap + late * step_ms * MS))
    assert (np.diff(axis) >= 0).all()
    assert made.reference_steps == 0
    turned = fit("a", "b", cap + late * step_ms * MS, ref, -before, np.arange(1, len(ref) + 1))
    assert turned.reference_steps == turned.steps == 1


@pytest.mark.parametrize("step_ms", [-1.2, -0.8, 0.8, 1.2])
def test_a_step_smaller_than_the_delays(step_ms: float) -> None:
    """The round trip is 1.5 ms at least: no pair contradicts, but one direction gets slower and the other as much quicker."""
    ref, cap, before = pairs(slowest_ms=4.0)
    order = np.argsort(cap, kind="stable")
    ref, cap, before = ref[order], cap[order], before[order]
    late = cap >= EPOCH + 25 * 10**9
    shown = cap + np.rint((cap - EPOCH) * 70e-6).astype(np.int64) + late * int(step_ms * MS)
    sizes = np.where(before == 1, 1448, 0)
    made = fit("b", "a", ref, shown, before, np.arange(1, len(ref) + 1), sizes=sizes)
    assert made.steps == 1
    assert _set_by(made) == pytest.approx([step_ms / 1e3], abs=2e-5)
    assert abs(made.pieces[1].first_packet - 1 - int(late.argmax())) <= 40
    assert [p.drift_ppm for p in made.pieces] == pytest.approx([70.0, 70.0], abs=1.0)
    for piece, truly in zip(made.pieces, (0.0, step_ms * MS), strict=True):
        assert piece.bound_ns is not None
        drifted = (piece.at_ns - EPOCH - truly) * 70e-6 / (1 + 70e-6)
        assert abs(piece.offset_ns + truly + drifted) <= piece.bound_ns


@pytest.mark.parametrize("step_ms", [-1.2, 1.2])
def test_a_first_packet_that_meets_no_queue_hides_no_step(step_ms: float) -> None:
    ref, cap, before = pairs(slowest_ms=4.0)
    first = int(np.flatnonzero(before == 1)[0])
    cap[first] = ref[first] + MS // 10
    order = np.argsort(cap, kind="stable")
    ref, cap, before = ref[order], cap[order], before[order]
    shown = cap + (cap >= EPOCH + 25 * 10**9) * int(step_ms * MS)
    made = fit("b", "a", ref, shown, before, np.arange(1, len(ref) + 1))
    assert made.steps == 1
    for piece, truly in zip(made.pieces, (0.0, step_ms * MS), strict=True):
        assert piece.bound_ns is not None
        assert abs(piece.offset_ns + truly) <= piece.bound_ns


def test_packets_that_change_places_are_no_step() -> None:
    """An upload, then a download: the slow direction gets quick and the quick one slow, for the data goes the other way."""
    ref, cap, before = pairs(slowest_ms=4.0)
    data = (ref < EPOCH + 30 * 10**9) == (before == 1)
    # Data need 0.5 ms more than ACKs, either way.
    ref, cap = ref + np.where(data & (before == -1), MS, 0), cap + np.where(data & (before == 1), MS // 2, 0)
    cap = cap - np.where(~data & (before == 1), MS // 2, 0)
    order = np.argsort(cap, kind="stable")
    ref, cap, before, data = ref[order], cap[order], before[order], data[order]
    sizes = np.where(data, 1448, 0)
    made = fit("b", "a", ref, cap, before, np.arange(1, len(ref) + 1), sizes=sizes)
    assert made.steps == 0
    assert made.bound_ns is not None
    assert abs(made.offset_ns) <= made.bound_ns
    # By their times alone it would have been one.
    assert fit("b", "a", ref, cap, before, np.arange(1, len(ref) + 1)).steps == 1


@pytest.mark.parametrize("step_ms", [-1.4, -1.0, 1.0, 1.4])
def test_a_step_that_nothing_shows_is_inside_the_bound(step_ms: float) -> None:
    """Delays of one direction that never come back to their least hide a step; the bound allows for one."""
    ref, cap, before = pairs(400)
    late = cap >= EPOCH + 35 * 10**9
    shown = cap + late * int(step_ms * MS)
    made = fitted(ref, shown, before)
    assert made.steps == 0
    piece = made.pieces[0]
    assert piece.bound_ns is not None
    assert min(abs(piece.offset_ns), abs(piece.offset_ns + step_ms * MS)) <= piece.bound_ns
    assert piece.drift_bound_ppm is not None
    assert abs(piece.drift_ppm) <= piece.drift_bound_ppm
    assert made.two_way_ns is not None
    assert piece.bound_ns <= made.two_way_ns


def test_several_steps_and_one_in_a_silence() -> None:
    ref, cap, before = pairs()
    order = np.argsort(cap, kind="stable")
    ref, cap, before = ref[order], cap[order], before[order]
    silent = (cap > EPOCH + 20 * 10**9) & (cap < EPOCH + 30 * 10**9)
    ref, cap, before = ref[~silent], cap[~silent], before[~silent]
    set_at = [(12, -700), (25, 3000), (45, 60)]
    shown = cap + sum((cap >= EPOCH + at_s * 10**9) * step_ms * MS for at_s, step_ms in set_at)
    made = fit("b", "a", ref, shown, before, np.arange(1, len(ref) + 1))
    assert made.steps == 3
    # But for a packet or two that were under way.
    off = np.abs(made.to_axis(shown, np.arange(1, len(ref) + 1)) - cap)
    assert np.quantile(off, 0.999) <= max(p.bound_most_ns or 0 for p in made.pieces)
    assert _set_by(made) == pytest.approx([step_ms / 1e3 for _, step_ms in set_at], abs=1e-4)


def test_a_packet_quicker_than_all_others_does_not_tilt_the_line() -> None:
    ref, cap, before = pairs(slowest_ms=4.0)
    # One of each direction near one end, quicker by 0.4 ms.
    for side, late_ns in ((-1, ref), (1, cap)):
        early = int(np.flatnonzero((before == side) & (ref > EPOCH + 5 * 10**9))[0])
        late_ns[early] = min(ref[early], cap[early]) + (MS // 10 if side < 0 else 6 * MS // 10)
    made = fitted(ref, cap + np.rint((cap - EPOCH) * -55e-6).astype(np.int64), before)
    assert made.drift_ppm == pytest.approx(-55.0, abs=0.5)


def test_packets_far_quicker_than_all_others_do_not_tilt_the_line() -> None:
    """A slow bus: all need as long to some us, but the first finds it empty, and a few ACKs do not wait for its next frame."""
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


@pytest.mark.parametrize("drift_ppm", [-200.0, 200.0])
def test_neighbours_over_a_silence_are_no_round_trip(drift_ppm: float) -> None:
    """In the silence the clocks drift by more than the packets need."""
    ref, cap, before = pairs(400, span_s=20.0, slowest_ms=0.5)
    order = np.argsort(cap, kind="stable")
    ref, cap, before = ref[order], cap[order], before[order]
    early, late = cap < EPOCH + 4 * 10**9, cap > EPOCH + 17 * 10**9
    # Those beside the silence go opposite ways, so that one sign of drift makes them seem quick, the other slow.
    early[np.flatnonzero(early & (before == 1))[-1] + 1 :] = False
    late[: np.flatnonzero(late & (before == -1))[0]] = False
    ref, cap, before = (v[early | late] for v in (ref, cap, before))
    shown = cap + np.rint((cap - EPOCH) * drift_ppm * 1e-6).astype(np.int64)
    made = fit("b", "a", ref, shown, before, np.arange(len(ref)))
    assert made.two_way_ns is not None
    assert made.bound_ns is not None
    assert made.two_way_ns >= 1.4 * MS
    assert made.bound_ns <= made.two_way_ns


def test_a_coarse_clock_beside_a_fine_one() -> None:
    """Stamps are the last tick: the bound is that of the delays, not of the tick, and the drift is known."""
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


def test_delays_far_below_a_tick_leave_the_order_open() -> None:
    """Two taps of one host: which comes first is within the tick, and either may be named."""
    rng = np.random.default_rng(1)
    first = EPOCH + np.sort(rng.integers(0, 60 * 10**9, 4000))
    before = np.where(rng.random(4000) < 0.5, 1, -1).astype(np.int8)
    ref, cap = np.where(before == 1, first, first + 5000), np.where(before == 1, first + 5000, first)
    order = np.argsort(cap, kind="stable")
    for said in (before, -before):
        made = fit("b", "a", ref[order], cap[order] // MS * MS, said[order], np.arange(4000), tick_ns=MS)
        assert made.steps == made.contradictions == 0
        assert made.bound_ns is not None
        assert abs(made.offset_ns) <= made.bound_ns < 3 * MS


def test_two_coarse_clocks() -> None:
    """The mean of many stamps knows the drift where the envelope is a staircase of two steps."""
    ref, cap, before = pairs(20_000, slowest_ms=4.0)
    shown = cap + 77 * 10**9 + np.rint((cap - EPOCH) * 9e-6).astype(np.int64)
    order = np.argsort(cap, kind="stable")
    made = fit("b", "a", ref[order] // MS * MS, shown[order] // MS * MS, before[order], np.arange(len(ref)), tick_ns=MS)
    assert made.drift_ppm == pytest.approx(9.0, abs=1.0)


def test_a_32_bit_counter_that_wraps() -> None:
    ref, cap, before = pairs()
    order = np.argsort(cap, kind="stable")
    ref, cap, before = ref[order], cap[order], before[order]
    counter = (cap - EPOCH) // 1000 + 2**32 - 20_000_000
    made = fit("b", "a", ref, counter % 2**32 * 1000, before, np.arange(len(ref)), tick_ns=1000)
    assert made.steps == 1
    assert "32-bit counter" in made.sentence
    assert (clock.unwrap(counter % 2**32) == counter).all()


def test_one_direction_is_said() -> None:
    ref, cap, before = pairs()
    one = before == 1
    made = fitted(ref[one], cap[one], before[one])
    assert made.bound_ns is None
    assert "in one direction only" in made.sentence
    # As if the quickest packet had no delay.
    assert -2 * MS < made.offset_ns <= -MS + 1000
    unknown = fitted(ref, cap, np.zeros(len(ref), np.int8))
    assert unknown.bound_ns is None
    assert "not known" in unknown.sentence
    with pytest.raises(NoClockFit, match="no packet in common"):
        fitted(ref[:0], cap[:0], before[:0])


def test_which_tap_comes_first() -> None:
    ref, cap, before = pairs()
    order = np.argsort(ref, kind="stable")
    ref, cap, before = ref[order], cap[order] + 77 * 10**9, before[order]
    src, dst = np.where(before == 1, 1, 2), np.where(before == 1, 2, 1)
    assert (clock.passed_first(ref, cap, src, dst) == before).all()
    assert (clock.passed_first(cap, ref, src, dst) == -before).all()
    # One direction tells nothing, unless a router counted it or the host's side is known.
    one = before == 1
    assert not clock.passed_first(ref[one], cap[one], src[one], dst[one]).any()
    assert (clock.passed_first(ref[one], cap[one], src[one], dst[one], np.full(one.sum(), 3)) == 1).all()
    third = dst.copy()
    third[:50] = np.where(src[:50] == 1, 9, third[:50])
    assert (clock.passed_first(ref, cap, src, third) == before).all()


def test_ticks() -> None:
    rng = np.random.default_rng(1)
    for tick in (1, 1000, MS, 15_625_000):
        assert clock.tick_of(EPOCH // tick * tick + rng.integers(0, 10**4, 500) * tick) == tick
    assert clock.tick_of(EPOCH + np.arange(100) * MS) == MS
    assert clock.tick_of(np.array([EPOCH, EPOCH + MS])) == 1000
    assert clock.tick_of(np.array([EPOCH + 1])) == 1


def test_the_axis_itself() -> None:
    own = ClockMap.identity("a.pcap")
    assert own.to_axis(np.array([5, 7])).tolist() == [5, 7]
    assert own.words() == "a.pcap: its clock is the axis"


def test_limits_through_a_corner_add_no_corners() -> None:
    # A clock that is exactly right makes all limits meet in one point.
    polygon = FeasibleRegion(0.0, 0.0)
    for n in range(1000):
        assert polygon.clip(float(n), 1000.0, 1)
    assert len(polygon.corners) <= 6


@pytest.mark.parametrize("seed", range(8))
def test_any_pairs_make_a_map(seed: int) -> None:
    """Few pairs, equal stamps, one direction, no order, stamps far apart: a map or a reason, never an error."""
    rng = np.random.default_rng(seed)
    for count in (1, 2, 3, 5, 8, 16, 33, 63, 64, 65, 71, 72, 80, 150):
        span = int(rng.choice([1, 10**6, 10**11]))
        ref, cap = (rng.integers(0, span, count) * int(rng.choice([1, MS])) for _ in range(2))
        before = rng.choice([[1, -1, 0], [1, 1, -1], [1, 1, 1]][seed % 3], count).astype(np.int8)
        tick, other = (int(v) for v in rng.choice([1, 1000, MS], 2))
        sizes = rng.choice([0, 1448], count)
        made = fit("b", "a", ref, cap, before, np.arange(count), tick_ns=tick, reference_tick_ns=other, sizes=sizes)
        assert made.pairs == count
        assert len(made.to_axis(cap, np.arange(count))) == count
        assert all(p.bound_ns is None or 0 <= p.bound_ns <= (p.bound_most_ns or 0) for p in made.pieces)


def _coarse(time_ns: Any, drift_ppm: float, tick_ns: int) -> Any:
    return (time_ns + np.rint((time_ns - EPOCH) * drift_ppm * 1e-6).astype(np.int64)) // tick_ns * tick_ns


def test_a_third_tap_tells_the_drift_of_two() -> None:
    """A queue between two coarse clocks; a fine one lies on its near side, and knows the far one by the quick way back."""
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
    shown = [_coarse(a, rates[0], MS), _coarse(b, rates[1], 1), _coarse(c, rates[2], MS)]
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


def test_drifts_that_all_clocks_agree_on() -> None:
    # 0.04 ppm are the product of 200 and 200 ppm.
    rates = (0.0, 200.0, -150.0)
    truly = {(i, j): ((1 + rates[j] * 1e-6) / (1 + rates[i] * 1e-6) - 1) * 1e9 for i, j in ((0, 1), (2, 1), (0, 2))}
    told = {pair: Drift(slope, 10.0) for pair, slope in truly.items()}
    off = {**told, (0, 2): Drift(truly[0, 2] + 5000.0, 5000.0)}
    none = dict.fromkeys(told, 0)
    known = clock.agreed(off, none)
    for pair, slope in truly.items():
        assert known[pair].slope == pytest.approx(slope, abs=0.1)
        assert known[pair].error < 20.0
    # Between 0 and 1 a step shows, between 1 and 2 none: either 0 was set, and 0 to 2 hides it, or 1, and 2 to 1 does.
    hidden = clock.agreed(off, {**none, (0, 1): 1})
    assert [d.slope for d in hidden.values()] == pytest.approx([d.slope for d in off.values()])
    # That between 0 and 2 shows too: 0 was set, and nothing is hidden.
    assert clock.agreed(off, {**none, (0, 1): 1, (0, 2): 1}) == known
    assert clock.agreed({}, {}) == {}
    turned = told[0, 1].turned()
    assert turned.slope == pytest.approx((1 / (1 + 200e-6) - 1) * 1e9)
    assert turned.turned().slope == pytest.approx(truly[0, 1])


@pytest.mark.parametrize("drift_ppm", [4.0, 90.0])
def test_packets_in_step_with_a_coarse_clock_leave_the_drift_open(drift_ppm: float) -> None:
    """One each 10 ms: at 4 ppm the coarse stamps stay 10 ms apart for a minute, as if there were no drift."""
    count = 6000
    first = EPOCH + MS // 3 + np.arange(count) * 10 * MS
    before = np.where(np.arange(count) % 2, 1, -1).astype(np.int8)
    ref, cap = np.where(before == 1, first, first + MS // 10), np.where(before == 1, first + MS // 10, first)
    made = clock.Fit(
        "b", "a", ref, _coarse(cap, drift_ppm, MS), before, np.arange(count), tick_ns=MS, reference_tick_ns=1
    )
    assert made.drift is not None
    off = abs(made.drift.slope / 1e3 - drift_ppm)
    assert off <= 2 * made.drift.error / 1e3
    assert (off > 1) == (drift_ppm < 10)


def test_times_are_whole_whatever_the_numbers_are() -> None:
    ref = EPOCH + np.arange(64) * MS + 123
    sides = np.where(np.arange(64) % 2, 1, -1).astype(np.int8)
    made = fit("b", "a", ref, ref + sides.astype(np.int64) * 1000 + 7, sides, np.arange(64, dtype=np.uint64))
    assert made.pieces[0].from_ns == int(ref[0]) - 993
    assert isinstance(made.pieces[0].from_ns, int)
