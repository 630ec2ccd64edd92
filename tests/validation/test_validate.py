"""Validation: a small fixed part of it must reach all floors, and what is wrong must be told."""

from __future__ import annotations

import importlib
import json
import pkgutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import wlanlens.simulation.ground_truth
from tests.detection.test_finding import make
from wlanlens.errors import NoSuchUnit
from wlanlens.simulation.scenario import find
from wlanlens.simulation.simulate import Run, simulate
from wlanlens.validation.page import markdown, plain, to_dict
from wlanlens.validation.scoring import Score
from wlanlens.validation.summary import summary
from wlanlens.validation.validate import Case, Judged, View, home, judge, validate

#: Scenarios, and detectors that these few runs prove. What other detectors reach is in docs/validation.md.
PART = (
    "ack_holding", "clean_rts_link", "idle_usb_sender", "spurious_retransmissions", "rate_thrashing", "repeated_fast_retransmit",
    "slow_bus", "startup_overflow", "stuck_rate",
)  # fmt: skip
PROVED = (
    "acked_data_retransmission", "rate_thrashing", "repeated_fast_retransmit", "startup_overflow", "stuck_rate",
    "usb_bottleneck",
)  # fmt: skip


@pytest.fixture(scope="module")
def judged() -> list[Judged]:
    return list(validate(PART, PROVED, seeds=(1, 2), workers=2))


def test_a_small_part_reaches_all_floors(judged: list[Judged]) -> None:
    result = summary(judged, PROVED)
    assert result.runs == 2 * len(PART)
    assert result.faults() == []
    assert result.unproved() == []
    kept = {(p.scenario, p.kind, p.code) for p in result.promises}
    assert {("slow_bus", "shows", "usb_bottleneck"), ("idle_usb_sender", "silent", "usb_bottleneck")} <= kept


def test_the_tables_say_so(judged: list[Judged]) -> None:
    result = summary(judged, PROVED)
    assert "all floors reached" in plain(result)
    assert markdown(result).count("\n| ") >= len(result.lines) + len(result.promises)
    assert json.loads(json.dumps(to_dict(result)))["faults"] == []


def test_the_order_of_runs_and_the_number_of_workers_change_nothing(judged: list[Judged]) -> None:
    alone = judge(Case("slow_bus", 2, PROVED))
    assert alone in judged


@pytest.mark.parametrize(
    ("scenario", "seed", "code"),
    [
        ("congestion_cycles", 7, "missing_fast_retransmit"),  # the timer sends the segment, within a round trip
        ("long_path", 14, "window_limited"),  # half a congestion window of twice the receiver's fills that as well
        ("long_path", 17, "window_limited"),  # ACKs that waited for a lost segment say nothing about the path
    ],
)
def test_once_missed(scenario: str, seed: int, code: str) -> None:
    result = summary([judge(Case(scenario, seed, (code,)))], [code])
    assert result.faults() == []
    assert result.unproved() == []


@pytest.mark.parametrize(
    ("scenario", "seed", "code"),
    [
        (
            "burst_loss",
            1,
            "ack_holding",
        ),  # ACKs come to the air in a burst, and to the host hardly later than the one before
        (
            "deaf_sniffer",
            5,
            "acked_data_retransmission",
        ),  # a sniffer that missed the handshake is still no sender's tap
        ("delayed_ack_deadlock", 1, "spurious_timeout"),  # what fills a hole is acknowledged at once
        ("early_drop_at_buffer", 1, "spurious_timeout"),  # spurious copies stand in a queue of seconds
        ("genuine_timeout", 1, "tail_loss"),  # what was lost behind the tail comes after it
        ("held_acks_timestamp_defect", 1, "idle_backoff"),  # a late ACK moved the sender on, not the timer
        ("long_path", 17, "spurious_timeout"),  # the same, after a fast retransmission
        ("rate_thrashing", 1, "delayed_ack_deadlock"),  # the ACK before never came
        (
            "rate_thrashing",
            1,
            "acked_data_retransmission",
        ),  # a retransmitted SYN+ACK does not prove that the tap is the sender's
    ],
)
def test_findings_at_other_taps_are_true(scenario: str, seed: int, code: str) -> None:
    views = [view for view in judge(Case(scenario, seed, (code,))).views if "sender" not in view.taps]
    assert views
    assert [view.wrong[code] for view in views] == [0] * len(views)


def test_five_spells_that_prove_a_clock_are_true_and_need_not_be_found() -> None:
    for seed, found in ((1, 1), (2, 0)):
        *alone, together = judge(Case("interference", seed, ("periodic_loss",), together=True)).views
        assert all(sum(view.right.values()) <= 1 for view in alone)
        score = together.scores["periodic_loss"]
        assert (score.truth, score.found, score.right) == (found, found, found)


def view(code: str, **fields: object) -> View:
    return replace(View((home(code),), {code: Score(code)}), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("score", "fault"),
    [
        (Score("spurious_timeout", truth=20, found=20, recalled=20, right=18), "precision 0.900"),
        (Score("spurious_timeout", truth=20, found=18, recalled=18, right=18), "recall 0.900"),
        (Score("spurious_timeout", 2, 2, 2, 2, (0.0, 0.011)), "within 10 ms 0.500"),
    ],
)
def test_a_missed_floor_is_named(score: Score, fault: str) -> None:
    result = summary([Judged("ack_holding", 1, (view("spurious_timeout", scores={"spurious_timeout": score}),))])
    assert any(f.startswith("spurious_timeout: ") and fault in f for f in result.faults())


def test_broken_promises_are_named() -> None:
    loud = View(("air",), loud=Counter({"data_ack_collision": 1}))
    wrong = View(("receiver",), wrong=Counter({"usb_bottleneck": 1}))
    silent = View(("usb",))
    failed = View(("sender",), failed={"tail_loss": "ValueError: x"})
    runs = [
        Judged("clean_rts_link", 7, (loud, failed)), Judged("idle_usb_sender", 7, (wrong,)), Judged("slow_bus", 7, (silent,)),
    ]  # fmt: skip
    said = "\n".join(summary(runs).faults())
    assert "clean_rts_link: something above info" in said
    assert "data_ack_collision at air: 1" in said
    assert "idle_usb_sender: usb_bottleneck is found where it must not be in 1 of 1 runs (seed 7)" in said
    assert "slow_bus: usb_bottleneck is not found in 1 of 1" in said
    assert "tail_loss failed: ValueError: x (clean_rts_link, seed 7)" in said


def test_a_wrong_detector_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The truth of another time: what the detectors find must then be wrong."""
    kind = find("ack_holding").kind
    away = 10**12
    monkeypatch.setattr(
        kind,
        "truth",
        lambda _self, facts: [
            replace(f, t_start_ns=f.t_start_ns + away, t_end_ns=f.t_end_ns + away) for f in facts.findings()
        ],
    )
    said = summary([judge(Case("ack_holding", 1, ("spurious_timeout",)))], ["spurious_timeout"]).faults()
    assert {"spurious_timeout: precision 0.000", "spurious_timeout: recall 0.000"} <= {f.split(" is ")[0] for f in said}


def modules() -> list[str]:
    names = [info.name for info in pkgutil.iter_modules(wlanlens.simulation.ground_truth.__path__)]
    return [name for name in names if not name.startswith("_")]


@pytest.fixture(scope="module")
def run() -> Run:
    return simulate("slow_bus", duration_s=1.0)


@pytest.mark.parametrize("name", modules())
def test_truths_name_the_codes_that_they_decide(name: str, run: Run) -> None:
    module = importlib.import_module(f"wlanlens.simulation.ground_truth.{name}")
    assert module.CODES
    assert {f.code for f in module.findings(run.facts)} <= {*module.CODES}


def test_no_two_truths_decide_one_code() -> None:
    named = [
        code for name in modules() for code in importlib.import_module(f"wlanlens.simulation.ground_truth.{name}").CODES
    ]
    assert len(named) == len({*named})


def test_unknown_names_are_refused() -> None:
    for words in ((["clean_lnk"], []), ([], ["tail_los"])):
        with pytest.raises(NoSuchUnit, match="there is no"):
            list(validate(*words))


def test_findings_of_other_subjects_are_not_taken_for_the_truth() -> None:
    from wlanlens.validation.scoring import true_findings

    assert true_findings([make(subject="a")], [make(subject="b")]) == [False]


@pytest.mark.parametrize(
    ("some", "says", "counted"),
    [
        (["--seeds", "500", "-s", "clean_rts_link"], "detector", "runs"),
        (["--random", "500", "-d", "tail_loss"], "random worlds from 1 on", "worlds"),
    ],
)
def test_ctrl_c_shows_what_was_done(tmp_path: Path, some: list[str], says: str, counted: str) -> None:
    words = ["validate", *some, "-j", "1", "-o", str(tmp_path / "v.json")]
    with subprocess.Popen(
        [sys.executable, "-m", "wlanlens_cli.main", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        time.sleep(6)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)
    assert child.returncode == 130
    assert "Traceback" not in err
    if "stopped after" in err:  # else not one run was done: a busy machine
        assert says in out
        assert 0 < json.loads((tmp_path / "v.json").read_text())[counted] < 500
