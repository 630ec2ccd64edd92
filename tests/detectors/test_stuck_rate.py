"""stuck_rate: one rate only, although a higher one would work."""

from __future__ import annotations

import pytest

from tests.detectors import changed, worlds
from tests.detectors.air import SUBJECT_AB, A, Air, B, Fixed, World
from tests.detectors.made import run
from wlanlens.detection.toolkit import required_dbm

CODE = "stuck_rate"


def test_cost() -> None:
    made = worlds.made("stuck", 3)
    (finding,), _ = run(CODE, made.trace())
    assert finding.subject == SUBJECT_AB
    assert finding.values["rate_mbps"] == 2.0
    assert finding.values["works_mbps"] == 11.0
    sent = sum(f.size for f in made.frames if f.ta == A)
    assert finding.cost_s == pytest.approx(sent * 8 / 1e6 * (1 / 2 - 1 / 11), rel=0.01)


def test_weak_signal_or_many_retries_explain_it() -> None:
    for world in (
        World(20, Fixed(2.0), Fixed(11.0), worlds.FLOOR, signal=lambda t: -90),  # noqa: ARG005
        World(20, Fixed(2.0), Fixed(11.0), worlds.even(0.85), signal=lambda t: -48, back=worlds.FLOOR),  # noqa: ARG005
    ):
        assert run(CODE, Air(world, 3).trace()) == ([], [])


def test_a_signal_that_only_good_receivers_hear_is_undecided() -> None:
    world = World(20, Fixed(2.0), Fixed(11.0), worlds.FLOOR, signal=lambda t: -80)  # noqa: ARG005
    found, (case,) = run(CODE, Air(world, 3).trace())
    assert not found
    assert [who for who, _, _ in case.spans] == [SUBJECT_AB]
    assert run(CODE, Air(world, 3).trace(), better_receiver_db=0.0) == ([], [])


@pytest.mark.parametrize(
    ("rate_mbps", "streams", "width_mhz", "dbm"),
    [(2.0, 1, 20, -80), (5.5, 1, 20, -79), (11.0, 1, 20, -76), (6.0, 1, 20, -82), (54.0, 1, 20, -65), (130.0, 2, 20, -64),
     (300.0, 2, 40, -61), (1733.3, 4, 80, -51)],
)  # fmt: skip
def test_the_signal_that_the_standard_requires(rate_mbps: float, streams: float, width_mhz: float, dbm: float) -> None:
    """IEEE 802.11-2020: 15.4.6.2, 16.3.8.2, tables 17-18, 19-23 and 21-25."""
    assert required_dbm(rate_mbps, streams, width_mhz) == pytest.approx(dbm, abs=0.1)


def test_unknown_rates_are_undecided() -> None:
    """Another pair on the channel uses a higher rate; whether this one could is unknown."""
    other = worlds.made("stuck", 4).trace()
    one = changed.renamed(worlds.made("single rate", 3).trace(), {A: "02:00:00:00:00:1a", B: "02:00:00:00:00:1b"})
    found, undecided = run(CODE, changed.beside(other, one))
    assert [f.subject for f in found] == [SUBJECT_AB]
    assert [u.count for u in undecided] == [2]
