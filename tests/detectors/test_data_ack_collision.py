"""data_ack_collision: ties of TCP data and TCP ACKs in their backoff."""

from __future__ import annotations

from pathlib import Path

import pytest

import wlanlens as wl
from tests.detectors import changed, worlds
from tests.detectors.air import SUBJECT_AB, World
from tests.detectors.made import run

CODE = "data_ack_collision"


@pytest.mark.parametrize("world", ["collisions", "collisions heard"])
def test_counts_the_ties(world: str) -> None:
    made = worlds.made(world, 3)
    (finding,), _ = run(CODE, made.trace())
    assert finding.subject == SUBJECT_AB
    ties = made.ties
    assert finding.values["pairs_count"] == pytest.approx(ties, rel=0.15)
    # The airtime of a tie is its longer frame; ties by chance are not counted.
    assert 0.6 < finding.cost_s / (ties * 1.309e-3) <= 1.05
    assert float(finding.values["p_value_share"]) < 1e-9
    assert finding.values["udp_retry_share"] == "no UDP"


def test_ties_that_were_heard() -> None:
    (finding,), _ = run(CODE, worlds.trace("collisions heard", 3))
    assert finding.values["pairs_heard_count"] == finding.values["pairs_count"]
    (finding,), _ = run(CODE, worlds.trace("collisions", 3))
    assert finding.values["pairs_heard_count"] == 0


def test_ties_that_chance_may_explain_are_undecided() -> None:
    made = worlds.trace("collisions", 3)
    found, (open_,) = run(CODE, made, chance_share=0.0)
    assert not found
    assert "chance may explain" in open_.sentence
    assert open_.spans[0][0] == SUBJECT_AB
    assert run(CODE, made, chance_share=0.0, open_share=0.0) == ([], [])
    # Where so many fail, one fails near any other.
    assert len(run(CODE, made, chance_share=0.0, open_share=0.0, common_share=0.0)[1]) == 1


def test_encrypted_is_undecided() -> None:
    made = worlds.made("collisions", 3).trace()
    table = made.table("exchanges")
    hidden = changed.encrypted(table)
    found, (undecided,) = run(CODE, changed.replaced(made, exchanges=hidden))
    assert not found
    assert "encrypted" in undecided.sentence


def test_udp_with_the_same_retry_rate_excludes_it() -> None:
    """Errors that hit UDP as often come from the channel."""
    made = worlds.made("collisions", 3).trace()
    beside = worlds.made("UDP, poor", 4).trace()
    assert run(CODE, changed.beside(made, beside)) == ([], [])
    (finding,), _ = run(CODE, changed.beside(made, worlds.made("UDP", 4).trace()))
    assert 0.003 < float(finding.values["udp_retry_share"]) < 0.012
    assert 0.03 < float(finding.values["excess_share"]) < 0.05


def test_a_short_capture_has_no_finding() -> None:
    world = worlds.WORLDS["collisions"](3)
    assert run(CODE, worlds.Air(World(**{**vars(world), "seconds": 0.2}), 3).trace()) == ([], [])


@pytest.mark.parametrize("seed", range(3, 9))
def test_a_few_ties_are_more_than_chance(seed: int) -> None:
    """Six to 17 ties in a second: failures that are merely near each other in time cannot be ties, so chance makes fewer (world 340194)."""
    world = World(**{**vars(worlds.fast(worlds.even(0.99))), "seconds": 1.2})
    assert len(run(CODE, worlds.Air(world, seed).trace())[0]) == 1
    assert run(CODE, worlds.Air(World(**{**vars(world), "ties": False}), seed).trace()) == ([], [])


def test_the_collisions_of_its_scenario(tmp_path: Path) -> None:
    run = wl.simulate("data_ack_collision", tmp_path, seed=7, taps=("air",), duration_s=4.0)
    assert [f.code for f in wl.detect(wl.align([run.captures["air"]]), only=[CODE])] == [CODE]


def test_ties_among_other_failures_that_were_not_heard_are_undecided(tmp_path: Path) -> None:
    """More stations send: their frames collide with the data, too, and no sniffer hears a collision."""
    run = wl.simulate("crowded_channel", tmp_path, seed=3, taps=("air",))
    found = wl.detect(wl.align([run.captures["air"]]), only=[CODE])
    assert not list(found)
    assert ["no failed frame was heard" in case.sentence for case in found.undecided] == [True]
