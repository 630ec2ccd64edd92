"""`validate --counterfactual`: pairs of worlds, their scores and the floor."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from wlanlens_cli.main import cli

from wlanlens.registry import Tool, units
from wlanlens.validation import counterfactual_page
from wlanlens.validation.counterfactual import PairCase, PairScore, faults, judge_pair, lines
from wlanlens.validation.counterfactual_worlds import CAUSES, pair

SCORE = PairScore(7, "holds", "ack_holding", 10.0, 8.0, True, 1.9)


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        (150021, "holds"),
        (150005, "window"),
        (150054, "lost_acks"),
        (150070, "tail"),
        (150022, "slow_rate"),
        (150003, "backoff_kept"),
        (150023, "no_fast_retransmit"),
        (150015, "reduces_again"),
        (150085, "short_queue"),
        (150044, "beacons"),
        (150008, "bursts"),
        # A full window is silent for a round trip, and slow start left cwnd at twice of it.
        (183477, "no_fast_retransmit"),
        # Reno leaves fast recovery at a partial ACK and waits for its timer.
        (183300, "reduces_again"),
        # Packets on a long wire are not in the access point's queue.
        (183373, "short_queue"),
        (183251, "single_losses"),
    ],
)
def test_removing_the_cause_saves_what_the_finding_says(number: int, cause: str, tmp_path: Path) -> None:
    score = judge_pair(PairCase(number, str(tmp_path)))
    assert score.cause == cause
    assert score.judged
    assert score.right, score
    assert list(tmp_path.iterdir()) == []


def test_a_pair_is_its_number_and_only_the_cause_differs() -> None:
    assert pair(150021) == pair(150021)
    for number in range(150000, 150040):
        made = pair(number)
        assert made.made.before != made.made.after
        assert [f.application for f in made.made.before.flows] == [f.application for f in made.made.after.flows]
    assert {pair(number).cause for number in range(150000, 150300)} == set(CAUSES)


def test_a_score_is_right_within_a_fifth() -> None:
    assert SCORE.right
    assert SCORE.judged
    assert not replace(SCORE, saved_s=1.5).right
    assert not replace(SCORE, saved_s=None).judged
    assert not replace(SCORE, after_s=9.9, saved_s=0.05).judged


def test_lines_count_every_world_once() -> None:
    scores = [
        SCORE,
        replace(SCORE, saved_s=None),
        replace(SCORE, saved_s=None, found=False),
        replace(SCORE, saved_s=None, found=False, undecided=True),
        replace(SCORE, saved_s=0.5),
    ]
    line = lines(scores)[0]
    assert (line.worlds, line.judged, line.right) == (5, 2, 1)
    assert (line.undefined, line.silent, line.undecided) == (1, 1, 1)
    assert faults([SCORE]) == []
    assert faults(scores)
    assert faults([]) != []


def test_the_command_writes_a_page_and_json(tmp_path: Path) -> None:
    made = CliRunner().invoke(
        cli,
        ["validate", "--counterfactual", "1", "--seed", "150021", "-j", "1", "--json", "-o", str(tmp_path / "p.md")],
    )
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["worlds"][0]["right"] is True
    assert "| holds | ack_holding | 1 |" in (tmp_path / "p.md").read_text()
    assert CliRunner().invoke(cli, ["validate", "--counterfactual", "1", "--together"]).exit_code == 2


def test_the_page_lists_wrong_estimates() -> None:
    text = counterfactual_page.markdown([replace(SCORE, saved_s=0.5)])
    assert "world 7, holds: 10.00 s, without the cause 8.00 s; saved_s 0.50 s, true 2.00 s" in text


def test_thresholds_reach_the_analysis(tmp_path: Path) -> None:
    high = {"ack_holding": {"min_hold_ms": 100_000.0}}
    assert not judge_pair(PairCase(150021, str(tmp_path), high)).found
    config = tmp_path / "high.toml"
    config.write_text("[thresholds.ack_holding]\nmin_hold_ms = 100000.0\n")
    given = ["validate", "--counterfactual", "1", "--seed", "150021", "-j", "1", "--json", "--config", str(config)]
    made = CliRunner().invoke(cli, given)
    assert json.loads(made.stdout)["lines"][0]["silent"] == 1
    assert "fails: saved_s is within 20% of the true change in 0 of 0 worlds" in made.stderr
    page = CliRunner().invoke(cli, [*given, "-o", str(tmp_path / "p.md")])
    assert page.exit_code == 2
    assert "default thresholds" in page.output
    assert CliRunner().invoke(cli, ["validate", "--clocks", "--config", str(config)]).exit_code == 2


def test_thresholds_reach_scenarios_and_random_worlds(tmp_path: Path) -> None:
    config = tmp_path / "high.toml"
    config.write_text("[thresholds.ack_holding]\nmin_hold_ms = 100000.0\n")
    given = ["validate", "-s", "ack_holding", "-d", "ack_holding", "--set", "duration_s=6", "-j", "1", "--json"]
    plain, changed = (
        json.loads(CliRunner().invoke(cli, [*given, "--seeds", "1", *more]).stdout)
        for more in ([], ["--config", str(config)])
    )
    assert plain != changed
    plain, changed = (
        json.loads(CliRunner().invoke(cli, [*given, "--random", "2", "--seed", "3", *more]).stdout)
        for more in ([], ["--config", str(config)])
    )
    assert plain != changed


def test_every_code_has_a_saving_or_a_reason_for_none() -> None:
    shelf = {code: unit for code, unit in units("detectors").items() if isinstance(unit, Tool)}
    assert {code for code, unit in shelf.items() if not unit.saving} == set(counterfactual_page.NOT_DEFINED)
    page = counterfactual_page.markdown([SCORE])
    assert "1 of 1 judged worlds (100.0%)" in page
    assert all(f"| {code} | " in page for code in counterfactual_page.NOT_DEFINED)
