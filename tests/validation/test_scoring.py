"""Findings scored against the truth: each must share half of its time with the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.detection.test_finding import make
from wlanlens.detection.finding import MAY_BE_MISSED, Undecided
from wlanlens.validation.scoring import Score, decidable, in_sight, score, true_findings

CODE = "spurious_timeout"


def of(found: list[Any], truth: list[Any]) -> Score:
    return score(found, truth)[CODE]


def test_each_finding_is_right_or_wrong_and_each_event_found_or_missed() -> None:
    truth = [make(1.0, 2.0), make(5.0, 6.0), make(8.0, 9.0)]
    found = [make(1.1, 2.0), make(5.0, 6.1), make(20.0, 21.0)]
    result = of(found, truth)
    assert (result.truth, result.found, result.recalled, result.right) == (3, 3, 2, 2)
    assert (result.precision, result.recall) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert sorted(result.time_errors_s) == pytest.approx([0.1, 0.1])
    assert result.cost_off_s == pytest.approx(0.2)
    assert result.cost_error == pytest.approx(0.1)
    assert true_findings(found, truth) == [True, True, False]


def test_one_finding_may_cover_consecutive_events() -> None:
    result = of([make(1.0, 7.0)], [make(1.0, 3.0), make(3.0, 7.0)])
    assert (result.precision, result.recall) == (1.0, 1.0)
    assert result.time_errors_s == (0.0,)
    assert result.cost_off_s == 0.0


def test_several_findings_may_match_one_event() -> None:
    result = of([make(1.0, 3.0), make(3.1, 7.0)], [make(1.0, 7.0)])
    assert (result.precision, result.recall) == (1.0, 1.0)
    assert len(result.time_errors_s) == 1


def test_a_finding_that_covers_everything_finds_nothing() -> None:
    result = of([make(0.0, 100.0)], [make(10.0, 11.0), make(50.0, 52.0)])
    assert (result.precision, result.recall) == (0.0, 0.0)


def test_a_piece_of_an_event_does_not_find_it() -> None:
    result = of([make(1.0, 1.2)], [make(1.0, 5.0)])
    assert (result.precision, result.recall) == (1.0, 0.0)
    assert result.time_errors_s == ()


def test_neighbours_are_not_taken_for_one_another() -> None:
    result = of([make(1.0, 2.0), make(2.003, 3.0)], [make(1.0, 2.0), make(2.003, 3.0)])
    assert result.time_errors_s == (0.0, 0.0)


def test_subjects_and_codes_are_compared() -> None:
    scores = score([make(subject="x"), make(code="ack_holding")], [make(subject="y")])
    assert scores[CODE].right == scores[CODE].recalled == 0
    assert scores["ack_holding"].precision == 0.0
    assert scores["ack_holding"].recall is None
    assert of([make(subject="")], [make(subject="y")]).right == 1


def test_instants_match_within_the_tolerance() -> None:
    assert of([make(1.004, 1.004)], [make(1.0, 1.0)]).right == 1
    assert of([make(1.02, 1.02)], [make(1.0, 1.0)]).right == 0


def test_scores_of_runs_add_up() -> None:
    total = of([make(1.0, 2.0)], [make(1.0, 2.1)]) + of([make(1.0, 2.0)], [make(9.0, 9.5)])
    assert (total.truth, total.found, total.right, total.recalled) == (2, 2, 1, 1)
    assert total.within(0.2) == 1.0
    assert total.within(0.01) == 0.0
    with pytest.raises(ValueError, match="do not add up"):
        total + Score("ack_holding")


SPANS = st.lists(st.tuples(st.floats(0, 100), st.floats(0, 10)).map(lambda s: make(s[0], s[0] + s[1])), max_size=6)


@given(SPANS)
def test_the_truth_itself_scores_without_error(truth: list[Any]) -> None:
    for result in score(truth, truth).values():
        assert (result.precision, result.recall) == (1.0, 1.0)
        assert max(result.time_errors_s) == 0.0
        assert result.cost_off_s == pytest.approx(0.0, abs=1e-9)


@given(SPANS, SPANS)
def test_counts_stay_within_bounds(found: list[Any], truth: list[Any]) -> None:
    for result in score(found, truth).values():
        assert 0 <= result.right <= result.found == len(found)
        assert 0 <= result.recalled <= result.truth == len(truth)
        assert bool(result.recalled) <= bool(result.right)


def test_an_event_that_need_not_be_found_counts_where_it_is() -> None:
    event, other = make(1.0, 2.0, confidence=MAY_BE_MISSED), make(5.0, 6.0)
    for found, numbers in (([other], (1, 1, 1)), ([make(1.0, 2.0), other], (2, 2, 2)), ([], (1, 0, 0))):
        result = of(found, [event, other])
        assert (result.truth, result.recalled, result.right) == numbers


def test_what_is_left_open_is_neither_found_nor_missed() -> None:
    second = 1_000_000_000
    event = make(0.0, 3.0)

    def left(*spans: tuple[int, int], until_s: int = 9) -> tuple[list[tuple[int, int]], int]:
        case = Undecided(event.code, "", spans=tuple((event.subject, a * second, b * second) for a, b in spans))
        kept, out = decidable([event], [], [case], until_ns=until_s * second)
        return [(f.t_start_ns // second, f.t_end_ns // second) for f in kept], out

    assert left() == ([(0, 3)], 0)
    assert left((0, 1)) == ([(1, 3)], 0)
    assert left((2, 4)) == ([(0, 2)], 0)
    assert left((0, 3)) == ([], 1)
    assert left((5, 6)) == ([(0, 3)], 0)
    assert left(until_s=2) == ([(0, 2)], 0)
    other = Undecided(event.code, "", spans=(("someone else", 0, 3 * second),))
    assert decidable([event], [], [other], until_ns=9 * second) == ([event], 0)
    assert decidable(
        [event], [event], [Undecided(event.code, "", spans=((event.subject, 0, 3 * second),))], until_ns=9 * second
    ) == ([event], 0)


def test_time_that_a_finding_claims_is_decided() -> None:
    second = 10**9
    event, found = make(0.0, 9.0), make(2.0, 4.0)

    def left(*spans: tuple[int, int], findings: tuple[Any, ...] = (found,)) -> tuple[list[tuple[int, int]], int]:
        case = Undecided(event.code, "", spans=tuple((event.subject, a * second, b * second) for a, b in spans))
        kept, out = decidable([event], list(findings), [case], until_ns=20 * second)
        return [(f.t_start_ns // second, f.t_end_ns // second) for f in kept], out

    # Undecided from the first to the last possible loss, and some of it decided.
    assert left((0, 9)) == ([(2, 4)], 0)
    assert left((0, 3), (3, 9)) == ([(2, 4)], 0)
    assert left((0, 3)) == ([(2, 9)], 0)
    assert left((0, 9), findings=()) == ([], 1)
    maybe = replace(event, confidence=MAY_BE_MISSED)
    case = Undecided(event.code, "", spans=((event.subject, 0, 9 * second),))
    assert decidable([maybe], [], [case], until_ns=20 * second) == ([], 0)


def test_an_instant_in_undecided_time_is_left_open() -> None:
    instant, second = make(2.0, 2.0), 10**9
    case = Undecided(instant.code, "", spans=((instant.subject, second, 3 * second),))
    assert decidable([instant], [], [case], until_ns=9 * second) == ([], 1)
    assert decidable([instant], [instant], [case], until_ns=9 * second) == ([instant], 0)
    elsewhere = replace(case, spans=((instant.subject, 3 * second, 4 * second),))
    assert decidable([instant], [], [elsewhere], until_ns=9 * second) == ([instant], 0)


def test_a_finding_that_sums_up_cases_counts_as_so_many() -> None:
    """What is listed is found by itself; the rest of the time is nearly empty, and holds two more events."""
    events = [replace(make(t, t + 0.1), subject=f"host {t}") for t in (0.0, 50.0, 99.0)]
    rest = replace(make(40.0, 100.0, values={"cases_count": 2, "flows_count": 2}), subject="2 more flows")
    result = of([events[0], rest], events)
    assert (result.truth, result.recalled, result.found, result.right) == (3, 3, 3, 3)
    assert true_findings([events[0], rest], events) == [True, True]
    more = replace(rest, values={"cases_count": 5, "flows_count": 5})
    result = of([events[0], more], events)
    assert (result.truth, result.recalled, result.found, result.right) == (3, 3, 6, 3)
    assert true_findings([events[0], more], events) == [True, False]


def test_a_sum_of_cases_counts_those_in_sight() -> None:
    """Two of its three cases are about a host whose data another tap judges. World 363256: it found fewer of these than there were."""
    hosts = ("near:1", "far:1", "far:2", "far:3")
    events = [replace(make(10.0 * i, 10.0 * i + 1), subject=host) for i, host in enumerate(hosts)]
    values = {"cases_count": 3, "flows_count": 3, "cases_by_sender": "far: 2, near: 1"}
    total = replace(make(0.0, 40.0, values=values), subject="3 more flows", flow=None)
    mine, truth = in_sight([events[1], total], events, lambda f: f.flow is None or f.subject.startswith("near:"))
    assert [f.values["cases_count"] for f in mine] == [1]
    assert truth == events[:1]
    far = replace(total, values={**values, "cases_by_sender": "far: 3"})
    assert in_sight([far], events, lambda f: f.flow is None or f.subject.startswith("near:"))[0] == []
