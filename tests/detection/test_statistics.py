"""Tail probabilities against values from tables, and at their limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from wlanlens.detection.toolkit import (
    binomial_tail,
    normal_tail,
    p_value_text,
    poisson_tail,
    variance_ratio_tail,
)
from wlanlens.detection.toolkit.statistics import binomial_point


@pytest.mark.parametrize(
    ("successes", "trials", "chance", "p"),
    [
        (1, 3, 0.5, 0.875),
        (3, 3, 0.5, 0.125),
        (0, 3, 0.5, 1),
        (4, 3, 0.5, 0),
        (2, 3, 0, 0),
        (2, 3, 1, 1),
        (5, 5, 0.1, 1e-5),
    ],
)
def test_binomial_tail(successes: int, trials: int, chance: float, p: float) -> None:
    assert binomial_tail(successes, trials, chance) == pytest.approx(p)


def test_the_probability_of_one_count_bounds_the_tail() -> None:
    for successes in range(13):
        assert binomial_point(successes, 12, 0.2) <= binomial_tail(successes, 12, 0.2) * (1 + 1e-12)


def test_one_count_of_many_trials() -> None:
    # The middle of 2000 fair trials: 1 / sqrt(pi n / 2), by Stirling.
    assert binomial_point(1000, 2000, 0.5) == pytest.approx(1 / np.sqrt(np.pi * 1000), rel=1e-3)
    assert binomial_point(1000, 2000, 0.0) == binomial_point(1000, 2000, 1.0) == 0.0


@pytest.mark.parametrize(
    ("events", "mean", "p"), [(0, 2.0, 1), (1, 2.0, 0.864665), (5, 2.0, 0.052653), (3, 0.0, 0), (600, 500.0, 7.785e-6)]
)
def test_poisson_tail(events: int, mean: float, p: float) -> None:
    assert poisson_tail(events, mean) == pytest.approx(p, rel=1e-3)


def test_normal_tail() -> None:
    assert normal_tail(1.959964) == pytest.approx(0.025)
    assert normal_tail(-1.959964) == pytest.approx(0.975)


def test_variance_ratio_tail() -> None:
    # 5 % points of F with 5 and 5, and with 20 and 20 degrees of freedom.
    assert variance_ratio_tail(5.0503, 5) == pytest.approx(0.05, abs=1e-4)
    assert variance_ratio_tail(2.1242, 20) == pytest.approx(0.05, abs=1e-4)
    assert variance_ratio_tail(1.0, 9) == pytest.approx(0.5)


def test_p_values_in_words() -> None:
    assert p_value_text(0.00312) == "p = 0.003"
    assert p_value_text(1e-12) == "p < 1e-9"


def test_sums_of_few_terms_equal_scipy() -> None:
    rng = np.random.default_rng(1)
    for _ in range(2000):
        trials = int(10 ** rng.uniform(0, 4))
        count, chance, mean = (
            int(rng.integers(1, 64)),
            float(10 ** rng.uniform(-6, -0.01)),
            float(10 ** rng.uniform(-6, 2.8)),
        )
        binomial = special.bdtrc(count - 1, trials, chance) if count <= trials else 0.0
        assert binomial_tail(count, trials, chance) == pytest.approx(binomial, rel=1e-9, abs=1e-290)
        assert poisson_tail(count, mean) == pytest.approx(special.pdtrc(count - 1, mean), rel=1e-9, abs=1e-290)
        z = float(rng.uniform(-38, 36))
        assert normal_tail(z) == pytest.approx(special.ndtr(-z), rel=1e-9)


def test_many_events_are_left_to_scipy() -> None:
    assert binomial_tail(65, 100_000, 0.0005) == pytest.approx(special.bdtrc(64, 100_000, 0.0005))
    assert binomial_tail(10, 10_000, 0.1) == pytest.approx(1.0)
    assert poisson_tail(64, 800.0) == pytest.approx(1.0)
