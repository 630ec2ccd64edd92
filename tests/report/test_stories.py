"""Stories of findings, captures that detectors lack, and the top of the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.captures import sample
from tests.report import synthetic
from tests.report.conftest import written
from wlanlens.detection import capture_needs
from wlanlens.detection.finding import Finding
from wlanlens.detection.findings import DetectorState
from wlanlens.detection.runner import DetectorRunner
from wlanlens.ledger.ledger import PLAIN
from wlanlens.report import context
from wlanlens.report.inert import as_clause, with_code
from wlanlens.report.stories import cost_once_s, stories

S = 1_000_000_000


def finding(code: str, start_s: float, end_s: float, cost_s: float, caused_by: str = "", flow: int = 0) -> Finding:
    return Finding(
        code=code,
        t_start_ns=int(start_s * S),
        t_end_ns=int(end_s * S),
        capture="a.pcap",
        subject=f"flow {flow}",
        severity="warning",
        confidence=0.9,
        cost_s=cost_s,
        flow=flow,
        direction="a2b",
        caused_by=caused_by,
        sentence=f"flow {flow}: it happened.",
    )


def test_findings_that_follow_from_each_other_are_one_story() -> None:
    found = [
        finding("ack_holding", 1, 2, 1.0),
        finding("spurious_timeout", 1.1, 2.1, 0.9, "ack_holding"),
        finding("acked_data_retransmission", 2.1, 2.2, 0.0, "spurious_timeout"),
        finding("packet_loss", 5, 6, 0.3),
        finding("spurious_timeout", 8, 8.5, 0.5),
    ]
    told = stories(found)
    assert [story.codes for story in told] == [
        ("ack_holding", "spurious_timeout", "acked_data_retransmission"),
        ("spurious_timeout",),
        ("packet_loss",),
    ]
    assert [[number for number, _ in story.members] for story in told] == [[1, 2, 3], [5], [4]]
    # The second that both explain counts once: 1 s, and 0.1 s of 0.9 s per second after it.
    assert told[0].cost_s == pytest.approx(1.09)


def test_costs_of_separate_times_add_up() -> None:
    apart = [finding("a", 0, 1, 0.4), finding("a", 2, 3, 0.4)]
    assert cost_once_s(apart) == pytest.approx(0.8)
    assert cost_once_s([*apart, finding("b", 0, 1, 0.1)]) == pytest.approx(0.8)
    # An instant keeps its cost.
    assert cost_once_s([finding("a", 1, 1, 0.2)]) == pytest.approx(0.2)


def test_a_cycle_of_causes_ends() -> None:
    loop = [finding("a", 0, 1, 1, "b"), finding("b", 0, 1, 1, "a")]
    assert sorted(number for story in stories(loop) for number, _ in story.members) == [1, 2]


def test_the_saving_of_a_story_is_that_of_its_root() -> None:
    root = replace(finding("ack_holding", 1, 2, 1.0), saved_s=0.8)
    effect = replace(finding("spurious_timeout", 1, 2, 1.0, "ack_holding"), saved_s=0.9)
    (story,) = stories([root, effect])
    assert story.saved_s == 0.8
    (unknown,) = stories([finding("ack_holding", 1, 2, 1.0), root])
    assert unknown.saved_s is None


def with_remedies() -> synthetic.Made:
    made = synthetic.make(3000, 1)
    made.findings = [
        replace(
            f,
            remedy=f"Change the driver {i}. Take a second capture.",
            saved_s=0.25,
            saved_assumption="nothing else changes",
        )
        for i, f in enumerate(made.findings)
    ]
    return made


def test_causes_remedies_and_savings_come_first(tmp_path: Path) -> None:
    text = written(tmp_path, with_remedies()).read_text("utf-8")
    head = text[text.index("<main") : text.index('id="ledger-title"')]
    assert "Costliest cause" in head
    assert "Change the driver 0." in head
    assert "Take a second capture" not in head
    assert "Take a second capture" in text
    assert "Without it:" in head
    assert "nothing else changes" in head
    assert head.count('<li class="') <= 3


@pytest.mark.parametrize(
    ("remedy", "first", "rest"),
    [
        ("Sender: SACK on; update it.", "Sender: SACK on", "; update it."),
        ("Reset it (Linux since 2.4; update older ones) and wait. Then look.", None, ""),
    ],
)
def test_advice_is_not_cut_inside_parentheses(remedy: str, first: str | None, rest: str) -> None:
    told = context.told_stories([replace(finding("idle_backoff", 1, 2, 1.0), remedy=remedy)], [], "out")
    assert told[0].remedy == (first or remedy.split(". Then")[0] + ".", rest)


def test_code_in_a_remedy_is_escaped() -> None:
    assert str(with_code("set `a=<b>` & go")) == "set <code>a=&lt;b&gt;</code> &amp; go"
    assert str(with_code("one ` only \x1b")) == "one ` only \\x1b"
    assert as_clause("The rest is the same.") == "the rest is the same"
    assert as_clause("RTO stays.") == "RTO stays"


def test_the_whole_verdict_is_read_once_with_its_first_sentence_as_the_heading() -> None:
    assert context.lead("It took 0.5 s. Its frames used 2 ms.") == ("It took 0.5 s.", "Its frames used 2 ms.")
    assert context.lead("10.0.0.1:1 > 10.0.0.2:2 took 3 s") == ("10.0.0.1:1 > 10.0.0.2:2 took 3 s", "")


def test_what_was_not_run_names_the_capture_and_how_to_take_it(tmp_path: Path) -> None:
    runner = DetectorRunner()
    runner.run(sample("mixed_newreno.sender"))
    lacking = [s for s in runner.states() if s.state == "not_run"]
    assert lacking
    assert all(capture_needs.needed(state.reason) for state in lacking)
    tables = {"links", "frames", "exchanges", "urbs"}
    assert not any(set(capture_needs.plain(state.reason).replace(",", "").split()) & tables for state in lacking)
    (group,) = [g for g in context.state_groups(runner.states()) if g["state"] == "not_run"]
    assert group["items"] == []
    explained = [one for want in group["wants"] for one in want["explain"]]
    assert len(explained) == len(set(explained)) == 3
    assert sum(len(want["items"]) for want in group["wants"]) == group["count"] == len(lacking)
    text = written(tmp_path, synthetic.make(600, 1)).read_text("utf-8")
    assert "needs a usbmon capture on the host of the USB adapter" in text
    assert "tcpdump -i usbmon1" in text
    assert "needs urbs" not in text


def test_other_reasons_stay_as_they_are() -> None:
    assert capture_needs.plain("no connection carried data") == "no connection carried data"
    assert capture_needs.needed("no connection carried data") == ()


def test_the_page_names_a_category_as_the_terminal_does(tmp_path: Path) -> None:
    text = written(tmp_path, synthetic.make(3000, 1)).read_text("utf-8")
    assert f'<span class="name">{PLAIN["rto_wait"]}</span>' in text
    assert f'<span class="name">{PLAIN["path"]}</span>' in text


def test_detectors_with_one_reason_stand_in_one_line() -> None:
    why, other = "The capture holds no packets from the receiver.", "The frames are encrypted."
    states = [
        DetectorState("ack_holding", "", "undecided", why, undecided=1),
        DetectorState("packet_loss", "", "undecided", other, undecided=1),
        DetectorState("tail_loss", "", "undecided", why, undecided=1),
        DetectorState("burst_loss", "", "found", findings=1),
        DetectorState("ack_loss", "", "found", findings=1),
    ]
    lines = {g["state"]: [[s.code for s in line] for line in g["items"]] for g in context.state_groups(states)}
    assert lines["undecided"] == [["ack_holding", "tail_loss"], ["packet_loss"]]
    assert lines["found"] == [["burst_loss"], ["ack_loss"]]
