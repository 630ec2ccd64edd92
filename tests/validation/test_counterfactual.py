"""`validate --counterfactual`: pairs of worlds, their scores and the floor."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from wlanlens_cli.main import cli

from wlanlens.validation import counterfactual_page
from wlanlens.validation.counterfactual import PairCase, PairScore, faults, judge_pair, lines
from wlanlens.validation.counterfactual_worlds import CAUSES, pair

SCORE = PairScore(7, "holds", "ack_holding", 10.0, 8.0, True, 1.9)


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        (150082, "holds"),
        (150004, "window"),
        (150001, "reader_pauses"),
        (150055, "lost_acks"),
        (150035, "tail"),
        (150020, "slow_rate"),
    ],
)
def test_removing_the_cause_saves_what_the_finding_says(number: int, cause: str, tmp_path: Path) -> None:
    score = judge_pair(PairCase(number, str(tmp_path)))
    assert score.cause == cause
    assert score.judged
    assert score.right, score
    assert list(tmp_path.iterdir()) == []


def test_a_pair_is_its_number_and_only_the_cause_differs() -> None:
    assert pair(150082) == pair(150082)
    for number in range(150000, 150040):
        made = pair(number)
        assert made.before != made.after
        assert [f.application for f in made.before.flows] == [f.application for f in made.after.flows]
    assert {pair(number).cause for number in range(150000, 150200)} == set(CAUSES)


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
        replace(SCORE, saved_s=0.5),
    ]
    line = lines(scores)[0]
    assert (line.worlds, line.judged, line.right, line.undefined, line.silent) == (4, 2, 1, 1, 1)
    assert faults([SCORE]) == []
    assert faults(scores)
    assert faults([]) != []


def test_the_command_writes_a_page_and_json(tmp_path: Path) -> None:
    made = CliRunner().invoke(
        cli,
        ["validate", "--counterfactual", "1", "--seed", "150082", "-j", "1", "--json", "-o", str(tmp_path / "p.md")],
    )
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["worlds"][0]["right"] is True
    assert "| holds | ack_holding | 1 |" in (tmp_path / "p.md").read_text()
    assert CliRunner().invoke(cli, ["validate", "--counterfactual", "1", "--together"]).exit_code == 2


def test_the_page_lists_wrong_estimates() -> None:
    text = counterfactual_page.markdown([replace(SCORE, saved_s=0.5)])
    assert "world 7, holds: 10.00 s, without the cause 8.00 s; saved_s 0.50 s, true 2.00 s" in text
