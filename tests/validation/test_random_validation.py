"""`validate --random`: worlds that nobody chose, judged by findings, ledger and verdict."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from wlanlens_cli.main import cli

from wlanlens.simulation.ground_truth.ack_loss import _of_side
from wlanlens.simulation.parameters import ScenarioError
from wlanlens.validation import random_page, random_validation
from wlanlens.validation.random_page import markdown, merged, plain, summary, to_dict, worst
from wlanlens.validation.random_validation import WorldCase, WorldScore, judge_world, validate_random
from wlanlens.validation.random_worlds import random_world

CODES = ("tail_loss", "spurious_timeout")


@pytest.fixture(scope="module")
def worlds() -> list[WorldScore]:
    return list(validate_random(4, 7, detectors=CODES, workers=2))


def test_every_tap_is_judged(worlds: list[WorldScore]) -> None:
    assert sorted(world.number for world in worlds) == [7, 8, 9, 10]
    for world in worlds:
        assert not world.crash
        assert world.scenario in world.drawn
        assert len(world.views) == len(world.verdicts) >= 3
        assert {score.place for score in world.ledgers} >= {"sender", "receiver", "together"}
        assert all(0 <= score.variation <= 1 for score in world.ledgers)


def test_a_world_is_its_number(worlds: list[WorldScore]) -> None:
    assert judge_world(WorldCase(8, CODES)) in worlds


def test_the_tables_say_so(worlds: list[WorldScore]) -> None:
    result = summary(worlds, 7, 4, CODES)
    text = plain(result)
    assert "4 random worlds from 7 on, 0 crashed, 0 sets of captures refused" in text
    for score in worst(result):
        assert f"wlanlens validate --random 1 --seed {score.world}" in text
    assert markdown(result).startswith(random_page.TITLE)
    written = json.loads(json.dumps(to_dict(result)))
    assert len(written["ledger"]) == len(result.ledgers)
    assert written["faults"] == result.faults()


def test_a_crash_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_args: object, **_kwargs: object) -> None:
        raise ZeroDivisionError("x")

    monkeypatch.setattr(random_validation, "analyze", fails)
    world = judge_world(WorldCase(7, CODES))
    assert "ZeroDivisionError: x (test_random_validation.py:" in world.crash
    result = summary([world], 7, 1, CODES)
    assert any("world 7: ZeroDivisionError" in fault for fault in result.faults())
    assert "1 crashed" in plain(result)


def test_varied_worlds_have_more_connections_queues_and_errors() -> None:
    worlds = [random_world(seed, varied=True) for seed in range(200)]
    for name in ("queue_packets", "flows", "frame_error_rate"):
        assert 20 < sum(bool(getattr(world, name)) for world in worlds) < 140, name
    for world in worlds:
        assert random_world(world.seed).base.name == world.base.name
        assert len(world.world().flows) == len(world.base.world().flows) + len(world.flows)


def test_given_parameters_are_not_drawn() -> None:
    for seed in range(10):
        world = random_world(
            seed, varied=True, scenarios=["slow_line"], settings={"rate_bps": "20000", "duration_s": 3.0}
        )
        assert (world.base.rate_bps, world.duration_s) == (20_000.0, 3.0)  # type: ignore[attr-defined]
    with pytest.raises(ScenarioError, match="no scenario that is drawn has a parameter 'colour'"):
        list(validate_random(1, settings={"colour": 1}))


def test_each_command_replaces_its_part_of_the_page() -> None:
    new = f"{random_page.TITLE}\n\nnew\n"
    assert merged("# Validation\n\nold\n", new) == "# Validation\n\nold\n\n" + new
    assert merged(f"# Validation\n\nold\n\n{random_page.TITLE}\n\nold\n", new) == "# Validation\n\nold\n\n" + new
    assert merged(f"# Validation\n\nold\n\n{new}", "# Validation\n\nfresh\n") == "# Validation\n\nfresh\n\n" + new
    assert merged("", new) == new


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--random", "3", "--clocks"], "--random judges"),
        (["--seed", "3"], "--seed is the first world of --random"),
        (["--seeds", "0"], "expected 1 to"),
        (["--set", "x"], "expected KEY=VALUE"),
        (["--clocks", "--set", "a=1"], "--set cannot be used with --clocks"),
    ],
)
def test_options_that_do_not_go_together(words: list[str], said: str) -> None:
    result = CliRunner().invoke(cli, ["validate", *words])
    assert result.exit_code == 2
    assert said in result.output


def test_seeds_and_parameters_of_a_scenario(tmp_path: Path) -> None:
    out = tmp_path / "v.json"
    words = ["validate", "-s", "clean_link", "-d", "tail_loss", "--seeds", "4..5", "--set", "duration_s=0.5", "-j", "1"]
    CliRunner().invoke(cli, [*words, "-o", str(out)])
    assert (json.loads(out.read_text())["runs"], json.loads(out.read_text())["seeds"]) == (2, 2)


def test_lost_acks_of_a_sender_whose_data_never_left() -> None:
    packets = {
        "t_end_ns": np.array([10]),
        "rel_ack": np.array([2]),
        "rel_seq": np.array([1]),
        "t_tap_ns": np.array([-1]),
    }
    side: Any = SimpleNamespace(
        back=packets,
        data=packets,
        events=[],
        reached_all_ns=lambda acks: np.full(len(acks), -1),
        flow=0,
        direction="a2b",
    )
    facts: Any = SimpleNamespace(end_ns=10, subject=lambda flow, direction: f"{flow} {direction}")
    (found,) = _of_side(facts, side, np.array([0]), np.array([0]), np.array([5]))
    assert found.cost_s == 0
