"""Clock steps: detected ones, ones smaller than the delays, and what only looks like one."""

from __future__ import annotations

import numpy as np
import pytest

from tests.alignment.clock.made_pairs import EPOCH, MS, fit, fitted, pairs, stated_steps
from wlanlens.alignment import clock


@pytest.mark.parametrize("step_ms", [-2000, -128, 128, 5000])
def test_a_clock_step_starts_a_new_piece(step_ms: int) -> None:
    ref, cap, before = pairs()
    order = np.argsort(cap, kind="stable")
    ref, cap, before = ref[order], cap[order], before[order]
    late = cap >= EPOCH + 25 * 10**9
    made = fit("b", "a", ref, cap + late * step_ms * MS, before, np.arange(1, len(ref) + 1))
    assert made.steps == 1
    assert "clock step of" in made.sentence
    # The new piece starts at the right packet, or at one that fits both pieces.
    assert abs(made.pieces[1].first_packet - 1 - int(late.argmax())) <= 2
    assert np.abs(made.to_axis(cap + late * step_ms * MS, np.arange(1, len(ref) + 1)) - cap).mean() < 2 * MS
    axis = made.to_axis(np.sort(cap + late * step_ms * MS))
    assert (np.diff(axis) >= 0).all()
    assert made.reference_steps == 0
    turned = fit("a", "b", cap + late * step_ms * MS, ref, -before, np.arange(1, len(ref) + 1))
    assert turned.reference_steps == turned.steps == 1


@pytest.mark.parametrize("step_ms", [-1.2, -0.8, 0.8, 1.2])
def test_a_step_smaller_than_the_delays(step_ms: float) -> None:
    """The round trip takes at least 1.5 ms: no pair contradicts, but the least delays of both directions shift."""
    ref, cap, before = pairs(slowest_ms=4.0)
    order = np.argsort(cap, kind="stable")
    ref, cap, before = ref[order], cap[order], before[order]
    late = cap >= EPOCH + 25 * 10**9
    shown = cap + np.rint((cap - EPOCH) * 70e-6).astype(np.int64) + late * int(step_ms * MS)
    sizes = np.where(before == 1, 1448, 0)
    made = fit("b", "a", ref, shown, before, np.arange(1, len(ref) + 1), sizes=sizes)
    assert made.steps == 1
    assert stated_steps(made) == pytest.approx([step_ms / 1e3], abs=2e-5)
    assert abs(made.pieces[1].first_packet - 1 - int(late.argmax())) <= 40
    assert [p.drift_ppm for p in made.pieces] == pytest.approx([70.0, 70.0], abs=1.0)
    for piece, truly in zip(made.pieces, (0.0, step_ms * MS), strict=True):
        assert piece.bound_ns is not None
        drifted = (piece.at_ns - EPOCH - truly) * 70e-6 / (1 + 70e-6)
        assert abs(piece.offset_ns + truly + drifted) <= piece.bound_ns


@pytest.mark.parametrize("step_ms", [-1.2, 1.2])
def test_a_first_packet_without_queueing_delay_does_not_hide_a_step(step_ms: float) -> None:
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


def test_data_that_changes_direction_is_no_step() -> None:
    """An upload, then a download: the slow direction becomes fast and the fast one slow, because data changes direction."""
    ref, cap, before = pairs(slowest_ms=4.0)
    data = (ref < EPOCH + 30 * 10**9) == (before == 1)
    # Data takes 0.5 ms longer than ACKs, in both directions.
    ref, cap = ref + np.where(data & (before == -1), MS, 0), cap + np.where(data & (before == 1), MS // 2, 0)
    cap = cap - np.where(~data & (before == 1), MS // 2, 0)
    order = np.argsort(cap, kind="stable")
    ref, cap, before, data = ref[order], cap[order], before[order], data[order]
    sizes = np.where(data, 1448, 0)
    made = fit("b", "a", ref, cap, before, np.arange(1, len(ref) + 1), sizes=sizes)
    assert made.steps == 0
    assert made.bound_ns is not None
    assert abs(made.offset_ns) <= made.bound_ns
    # Without sizes it looks like a step.
    assert fit("b", "a", ref, cap, before, np.arange(1, len(ref) + 1)).steps == 1


@pytest.mark.parametrize("step_ms", [-1.4, -1.0, 1.0, 1.4])
def test_an_undetected_step_is_within_the_bound(step_ms: float) -> None:
    """Delays of one direction that do not return to their minimum hide a step; the bound includes one."""
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


def test_several_steps_and_one_during_a_silence() -> None:
    ref, cap, before = pairs()
    order = np.argsort(cap, kind="stable")
    ref, cap, before = ref[order], cap[order], before[order]
    silent = (cap > EPOCH + 20 * 10**9) & (cap < EPOCH + 30 * 10**9)
    ref, cap, before = ref[~silent], cap[~silent], before[~silent]
    set_at = [(12, -700), (25, 3000), (45, 60)]
    shown = cap + sum((cap >= EPOCH + at_s * 10**9) * step_ms * MS for at_s, step_ms in set_at)
    made = fit("b", "a", ref, shown, before, np.arange(1, len(ref) + 1))
    assert made.steps == 3
    # Except for a few packets under way during a step.
    off = np.abs(made.to_axis(shown, np.arange(1, len(ref) + 1)) - cap)
    assert np.quantile(off, 0.999) <= max(p.bound_most_ns or 0 for p in made.pieces)
    assert stated_steps(made) == pytest.approx([step_ms / 1e3 for _, step_ms in set_at], abs=1e-4)


def test_a_32_bit_counter_that_wraps() -> None:
    ref, cap, before = pairs()
    order = np.argsort(cap, kind="stable")
    ref, cap, before = ref[order], cap[order], before[order]
    counter = (cap - EPOCH) // 1000 + 2**32 - 20_000_000
    made = fit("b", "a", ref, counter % 2**32 * 1000, before, np.arange(len(ref)), tick_ns=1000)
    assert made.steps == 1
    assert "32-bit microsecond counter" in made.sentence
    assert (clock.unwrap(counter % 2**32) == counter).all()
