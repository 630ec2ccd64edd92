"""The fit of a clock to pairs of packets: offset, bound, direction and resolution."""

from __future__ import annotations

import numpy as np
import pytest

from tests.alignment.clock.made_pairs import EPOCH, MS, fit, fitted, pairs
from wlanlens.alignment import clock
from wlanlens.alignment.clock import NoClockFit
from wlanlens.alignment.clock.feasible_region import FeasibleRegion
from wlanlens.alignment.clock_map import ClockMap, Piece


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


def test_wrong_pairs_do_not_change_the_fit() -> None:
    """A few pairs of different copies, half a second off in either direction."""
    ref, cap, before = pairs()
    wrong = np.random.default_rng(2).choice(len(cap), 12, replace=False)
    ref = ref.copy()
    ref[wrong] += np.where(np.arange(12) % 2, 500, -500) * MS
    order = np.argsort(cap, kind="stable")
    made = fit("b", "a", ref[order], cap[order], before[order], np.arange(len(cap)))
    assert made.steps == 0
    assert made.bound_ns is not None
    assert abs(made.offset_ns) <= made.bound_ns < 2 * MS
    # A pair that is too early contradicts; one that is too late is only slow.
    assert 0 < made.contradictions <= 12


@pytest.mark.parametrize("drift_ppm", [-200.0, 200.0])
def test_pairs_across_a_silence_are_no_round_trip(drift_ppm: float) -> None:
    """During the silence the clocks drift by more than the delays."""
    ref, cap, before = pairs(400, span_s=20.0, slowest_ms=0.5)
    order = np.argsort(cap, kind="stable")
    ref, cap, before = ref[order], cap[order], before[order]
    early, late = cap < EPOCH + 4 * 10**9, cap > EPOCH + 17 * 10**9
    # The packets next to the silence have opposite directions: one sign of drift makes them look fast, the other slow.
    early[np.flatnonzero(early & (before == 1))[-1] + 1 :] = False
    late[: np.flatnonzero(late & (before == -1))[0]] = False
    ref, cap, before = (v[early | late] for v in (ref, cap, before))
    shown = cap + np.rint((cap - EPOCH) * drift_ppm * 1e-6).astype(np.int64)
    made = fit("b", "a", ref, shown, before, np.arange(len(ref)))
    assert made.two_way_ns is not None
    assert made.bound_ns is not None
    assert made.two_way_ns >= 1.4 * MS
    assert made.bound_ns <= made.two_way_ns


def test_delays_far_below_a_tick() -> None:
    """Two captures on one host: their order is not known within a tick, and either is accepted."""
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


def test_packets_of_one_direction() -> None:
    ref, cap, before = pairs()
    one = before == 1
    made = fitted(ref[one], cap[one], before[one])
    assert made.bound_ns is None
    assert "in one direction only" in made.sentence
    # The fastest packet counts as one without delay.
    assert -2 * MS < made.offset_ns <= -MS + 1000
    unknown = fitted(ref, cap, np.zeros(len(ref), np.int8))
    assert unknown.bound_ns is None
    assert "unknown direction" in unknown.sentence
    with pytest.raises(NoClockFit, match="no packet in common"):
        fitted(ref[:0], cap[:0], before[:0])


def test_first_capture_point_of_packets() -> None:
    ref, cap, before = pairs()
    order = np.argsort(ref, kind="stable")
    ref, cap, before = ref[order], cap[order] + 77 * 10**9, before[order]
    src, dst = np.where(before == 1, 1, 2), np.where(before == 1, 2, 1)
    assert (clock.passed_first(ref, cap, src, dst) == before).all()
    assert (clock.passed_first(cap, ref, src, dst) == -before).all()
    # One direction does not decide it, unless the time to live does or the host's side is known.
    one = before == 1
    assert not clock.passed_first(ref[one], cap[one], src[one], dst[one]).any()
    assert (clock.passed_first(ref[one], cap[one], src[one], dst[one], np.full(one.sum(), 3)) == 1).all()
    third = dst.copy()
    third[:50] = np.where(src[:50] == 1, 9, third[:50])
    assert (clock.passed_first(ref, cap, src, third) == before).all()


def test_tick_of_a_clock() -> None:
    rng = np.random.default_rng(1)
    for tick in (1, 1000, MS, 15_625_000):
        assert clock.tick_of(EPOCH // tick * tick + rng.integers(0, 10**4, 500) * tick) == tick
    assert clock.tick_of(EPOCH + np.arange(100) * MS) == MS
    assert clock.tick_of(np.array([EPOCH, EPOCH + MS])) == 1000
    assert clock.tick_of(np.array([EPOCH + 1])) == 1


def test_identity() -> None:
    own = ClockMap.identity("a.pcap")
    assert own.to_axis(np.array([5, 7])).tolist() == [5, 7]
    assert own.words() == "a.pcap: the reference clock"


@pytest.mark.parametrize(
    ("drift_ppm", "bound_ppm", "said"),
    [
        (-0.02, 76.94, "drift +0.0 ± 76.9 ppm"),
        (-142.15, 1178.3, "drift -142.2 ± 1178 ppm"),
        (0.004, None, "drift +0.00 ppm"),
    ],
)
def test_drift_in_words(drift_ppm: float, bound_ppm: float | None, said: str) -> None:
    piece = Piece(1, 0, 0, 0, drift_ppm, 0, 0, 2, None, bound_ppm)
    assert said in ClockMap("a.pcap", drift_ppm=drift_ppm, pieces=(piece,)).words()


def test_limits_through_one_point_add_no_corners() -> None:
    # With an exact clock all limits meet in one point.
    region = FeasibleRegion(0.0, 0.0)
    for n in range(1000):
        assert region.clip(float(n), 1000.0, 1)
    assert len(region.corners) <= 6


@pytest.mark.parametrize("seed", range(8))
def test_any_pairs_give_a_map(seed: int) -> None:
    """Few pairs, equal timestamps, one direction, no order, distant timestamps: a map or a reason, never an error."""
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
        assert all(p.bound_ns is None or min(p.bound_ns, p.bound_most_ns or 0) >= 0 for p in made.pieces)


def test_times_are_integers_for_unsigned_packet_numbers() -> None:
    ref = EPOCH + np.arange(64) * MS + 123
    sides = np.where(np.arange(64) % 2, 1, -1).astype(np.int8)
    made = fit("b", "a", ref, ref + sides.astype(np.int64) * 1000 + 7, sides, np.arange(64, dtype=np.uint64))
    assert made.pieces[0].from_ns == int(ref[0]) - 993
    assert isinstance(made.pieces[0].from_ns, int)
