"""Clocks of simulated captures, against the true ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.alignment.simulated import Case, case, identities
from wlanlens.alignment import packet_matching
from wlanlens.simulation.config import TapClock

HOUR_NS = 3_600_000_000_000
MS, US = 1_000_000, 1_000

#: (scenario, parameters): fast and lossy ones.
WORLDS = (
    ("clean_link", {"duration_s": 60.0}),
    ("ack_holding", {"duration_s": 60.0}),
    ("bursty_errors", {"duration_s": 20.0}),
    ("rate_thrashing", {"duration_s": 20.0}),
    ("slow_line", {"duration_s": 60.0}),
)


def check(made: Case, *, steps: int = 0) -> None:
    """Check the clock of the second capture."""
    clock_map = made.trace.clocks[1]
    assert clock_map.steps == steps, clock_map.sentence
    for (error_ns, bound_ns, drift_error_ppm), piece in zip(made.errors_ns(), clock_map.pieces, strict=True):
        assert error_ns <= bound_ns
        assert piece.drift_bound_ppm is not None
        # The product of two drifts is allowed: clocks multiply.
        assert drift_error_ppm <= piece.drift_bound_ppm + 0.05
        # Without a step the fastest packets of both directions bound it: timestamps round them by a tick of each clock.
        assert piece.two_way_ns is not None
        assert error_ns <= piece.two_way_ns / 2 + 2 * clock_map.tick_ns


@pytest.mark.parametrize(("name", "parameters"), WORLDS, ids=[w[0] for w in WORLDS])
@pytest.mark.parametrize("tick_ns", [US, MS])
@pytest.mark.parametrize("sign", [-1, 1])
def test_offset_and_drift(tmp_path: Path, name: str, parameters: dict[str, float], tick_ns: int, sign: int) -> None:
    receiver = TapClock(offset_ns=-sign * HOUR_NS + 12_345, drift_ppm=sign * 200.0, tick_ns=tick_ns, missed_share=0.05)
    made = case(tmp_path, name, TapClock(missed_share=0.05), receiver, seed=7 + sign, **parameters)
    check(made)
    whole = made.trace.clocks[1].pieces[0]
    span_s = made.trace.duration_ns / 1e9
    if span_s >= 59 and tick_ns == US:
        assert made.errors_ns()[0][2] < 1.0, whole
    elif span_s >= 59:
        # With timestamps in milliseconds, a packet one tick off at either end is 17 ppm of a minute.
        assert made.errors_ns()[0][2] < 5.0, whole


@pytest.mark.parametrize("seed", range(6))
def test_many_clocks(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    clocks = [
        TapClock(
            offset_ns=int(rng.uniform(-HOUR_NS, HOUR_NS)),
            drift_ppm=float(rng.uniform(-200, 200)),
            tick_ns=int(rng.choice([1, US, MS])),
            missed_share=0.05,
        )
        for _ in range(2)
    ]
    name, parameters = WORLDS[seed % len(WORLDS)]
    check(case(tmp_path, name, *clocks, seed=seed, **parameters))


@pytest.mark.parametrize("step_ns", [-3_000 * MS, -130 * MS, 130 * MS, 10_000 * MS])
@pytest.mark.parametrize("name", ["clean_link", "ack_holding"])
def test_one_step(tmp_path: Path, name: str, step_ns: int) -> None:
    """ntpd steps a clock from 128 ms on."""
    receiver = TapClock(offset_ns=77 * MS, drift_ppm=-31.0, step_at_s=9.0, step_ns=step_ns, missed_share=0.05)
    made = case(tmp_path, name, TapClock(missed_share=0.05), receiver, seed=3, duration_s=20.0)
    check(made, steps=1)
    before, after = made.trace.clocks[1].pieces
    assert before.offset_ns - after.offset_ns == pytest.approx(step_ns, abs=30 * MS)
    # No packets are linked wrongly at the step.
    links = made.trace.table("links").to_pandas()
    both = links[links.captures_seen == 2]
    assert (both.one_way_ns < 2_500 * MS).all()


def test_a_step_of_the_reference(tmp_path: Path) -> None:
    """The axis is the clock that was not stepped."""
    sender = TapClock(step_at_s=5.0, step_ns=2_000 * MS)
    made = case(tmp_path, "clean_link", sender, TapClock(), seed=3, duration_s=10.0)
    assert [m.pieces == () for m in made.trace.clocks] == [False, True]
    assert made.trace.clocks[0].steps == 1


@pytest.mark.parametrize(("name", "parameters"), WORLDS, ids=[w[0] for w in WORLDS])
def test_every_copy_is_linked_to_itself(tmp_path: Path, name: str, parameters: dict[str, float]) -> None:
    sender = TapClock(tick_ns=1, missed_share=0.05)
    receiver = TapClock(tick_ns=1, offset_ns=-5 * HOUR_NS, drift_ppm=40.0, missed_share=0.05)
    made = case(tmp_path, name, sender, receiver, seed=5, **parameters)
    ids = [identities(made, n) for n in (0, 1)]
    tables = [capture.table("packets") for capture in made.trace.captures]
    rows = packet_matching.of_tables(*tables).rows
    got = list(zip(ids[0][rows.column("row_a").to_numpy()], ids[1][rows.column("row_b").to_numpy()], strict=True))
    assert all(a == b for a, b in got)
    assert {a for a, _ in got} == set(ids[0]) & set(ids[1])
    # The lossy worlds have retransmissions, so that copies must be distinguished.
    truth = made.run.facts.packets.to_pandas()
    assert name in ("clean_link", "slow_line") or (truth["copy"] > 0).sum() > 5
