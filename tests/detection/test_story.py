"""Stories: a root cause, what followed from it, and the transfer without it."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from wlanlens.detection.finding import Finding
from wlanlens.detection.story import Step, stories
from wlanlens.detection.verdict import Verdict
from wlanlens.detection.without import said, with_counterfactual

S = 10**9


def finding(code: str, start_s: float, end_s: float, cost_s: float, **more: object) -> Finding:
    span = round(start_s * S), round(end_s * S)
    made = Finding(code, *span, "c", "a > b", "serious", 0.9, cost_s, flow=0, direction="a2b")
    return replace(made, **more)  # type: ignore[arg-type]


HELD = [
    finding("spurious_timeout", 1, 2.2, 1.1, caused_by="ack_holding", values={"spurious_retransmissions_count": 9}),
    finding("ack_holding", 1, 2, 1.0, saved_s=0.8, saved_assumption="A."),
    finding("ack_holding", 5, 6, 0.9, saved_s=0.7, saved_assumption="A."),
    finding("window_limited", 0, 9, 0.4, saved_s=0.3),
]


def test_a_chain_has_its_cost_once() -> None:
    first, second = stories(HELD)
    assert [(step.code, step.finding) for step in first.steps] == [
        ("ack_holding", 2), ("spurious_timeout", 1), ("spurious_timeout", 1),
    ]  # fmt: skip
    assert first.steps[0].text == "ACKs were held (twice)"
    assert first.steps[2].text == "9 segments were retransmitted spuriously"
    assert first.cost_s == pytest.approx(1.9)
    assert first.saved_s == pytest.approx(1.5)
    assert first.findings == (1, 2, 3)
    assert second.root == "window_limited"


def test_another_connection_is_another_story() -> None:
    other = replace(HELD[0], flow=1, caused_by="")
    assert [story.flow for story in stories([*HELD, other])] == [0, 1, 0]
    assert [story.root for story in stories([*HELD, other], [(1, "a2b")])] == ["spurious_timeout"]


def test_a_cause_that_is_not_there_ends_the_chain() -> None:
    alone = replace(HELD[0], caused_by="ack_loss")
    assert [story.root for story in stories([alone])] == ["spurious_timeout"]


def verdict(**more: object) -> Verdict:
    made = Verdict("It took 10 s.", flow=0, direction="a2b", subject="a > b", duration_s=10.0, lost_s=2.0)
    return replace(made, categories_ns={"path": 8 * S, "rto_wait": 2 * S}, **more)  # type: ignore[arg-type]


def test_the_verdict_says_how_long_it_would_have_taken() -> None:
    made = with_counterfactual(verdict(), HELD, 10_000_000, alone=True)
    assert made.without_s == pytest.approx(8.5)
    assert made.without_bps == pytest.approx(80e6 / 8.5)
    assert said(made) == "Without this (ack holding): 8.5 s, 9.41 Mbit/s (estimate)."
    assert made.without_assumption == "A."
    assert made.story[0] == Step("ack_holding", "ACKs were held (twice)", 2)


def test_no_estimate_of_a_small_saving_or_of_a_healthy_transfer() -> None:
    small = [replace(f, cost_s=0.05, saved_s=0.05) for f in HELD[:1]]
    assert with_counterfactual(verdict(), small, 0, alone=True) == verdict()
    healthy = with_counterfactual(verdict(lost_s=0.0), HELD, 0, alone=True)
    assert healthy.without_s is None
    assert said(healthy) == ""


def test_a_bus_counts_where_there_is_one_connection() -> None:
    bus = [replace(HELD[1], code="usb_bottleneck", flow=None, direction=None, saved_s=4.0)]
    assert with_counterfactual(verdict(), bus, 0, alone=True).without_s == pytest.approx(6.0)
    assert with_counterfactual(verdict(), bus, 0, alone=False).without_s is None


def test_a_story_survives_json() -> None:
    made = with_counterfactual(verdict(), HELD, 0, alone=True)
    assert Verdict(**json.loads(json.dumps(asdict(made)))) == made


def test_no_estimate_that_takes_the_application_s_pauses_away() -> None:
    paused = replace(verdict(), categories_ns={"application": 9_000_000_000, "rto_wait": 1_000_000_000})
    assert with_counterfactual(paused, HELD, 0, alone=True).without_s is None
