"""packet_loss: data that was lost, and what it cost."""

from __future__ import annotations

import pytest

from tests.detectors.made import MS, ack, again, interval, run, timeout, trace
from tests.firing import Small
from wlanlens.detectors.packet_loss import _sentence

CODE = "packet_loss"

#: A small simulated world in which it finds something. The contract tests read this name.
FIRES_ON = Small("genuine_timeout", 2.0, ("sender",))


def recovery(start_ms: int, end_ms: int, *, spurious: bool | None = False) -> dict[str, object]:
    row = {"packet": start_ms, "t_start_ns": start_ms * MS, "t_end_ns": end_ms * MS}
    return {**row, "ended_by": "acked", "retransmissions": 2, "spurious": spurious}


TIMES = [interval("fast_recovery", 1000, 1400), interval("rto_wait", 2000, 2300, timeout_packet=9)]


def test_losses_and_what_they_cost() -> None:
    lost = [
        again(3, 1000, 1449, spurious=False),
        again(4, 1010, 5000, spurious=False),
        again(9, 2300, 9000, spurious=False),
    ]
    made = trace(segments=lost, recoveries=[recovery(1000, 1400)], timeouts=[timeout(9, 2300)], intervals=TIMES)
    (finding,) = run(CODE, made)[0]
    assert finding.cost_s == pytest.approx(0.7)
    assert (finding.values["lost_count"], finding.values["episodes_count"]) == (3, 2)
    assert finding.rows("segments") == (3, 4, 9)


def test_what_was_not_needed_is_no_loss() -> None:
    lost = [again(3, 1000, 1449, spurious=True)]
    made = trace(segments=lost, recoveries=[recovery(1000, 1400, spurious=True)], intervals=TIMES)
    assert run(CODE, made) == ([], [])


def test_copies_that_may_be_spurious_are_undecided() -> None:
    copy = again(3, 1000, 1449, spurious=None, since_previous_ns=300 * MS)
    made = trace(segments=[copy, ack(4, 1020, 2897)], intervals=TIMES)
    found, (open_,) = run(CODE, made)
    assert not found
    assert [(start, end) for _, start, end in open_.spans] == [(700 * MS, 1020 * MS)]
    lost = again(9, 2300, 9000, spurious=False)
    found, open_cases = run(CODE, trace(segments=[copy, lost], intervals=TIMES))
    assert [f.values["lost_count"] for f in found] == [1]
    assert [case.count for case in open_cases] == [1]


def test_a_direction_is_one_undecided_case_from_the_first_to_the_last_possible_loss() -> None:
    copies = [
        again(3, 1000, 1449, spurious=None, since_previous_ns=300 * MS),
        again(5, 1500, 2897, spurious=None, since_previous_ns=300 * MS),
        again(9, 2300, 9000, spurious=None, since_previous_ns=100 * MS),
    ]
    _, (open_,) = run(CODE, trace(segments=copies, intervals=TIMES))
    assert open_.count == 1
    assert [(start, end) for _, start, end in open_.spans] == [(700 * MS, 2300 * MS)]
    assert "3 retransmissions" in open_.sentence


def test_the_wait_for_a_needed_copy_of_a_lone_segment_counts() -> None:
    lost = [again(9, 2300, 9000, spurious=False, trigger="undecided", since_previous_ns=250 * MS)]
    (finding,) = run(CODE, trace(segments=lost, intervals=TIMES))[0]
    assert (finding.cost_s, finding.t_start_ns) == (0.3, 2050 * MS)


def test_time_of_other_kinds_does_not_count() -> None:
    lost = [again(3, 1000, 1449, spurious=False)]
    held = timeout(9, 2300, kind="spurious")
    made = trace(segments=lost, recoveries=[recovery(900, 950)], timeouts=[held], intervals=TIMES)
    assert run(CODE, made)[0][0].cost_s == 0


def test_time_in_which_the_cause_of_a_reported_repair_is_undecided() -> None:
    # The second copy ended a silence: the application may have been idle in it.
    copies = [
        again(20, 1000, 1449, spurious=False, phase="disorder"),
        again(40, 3000, 2897, spurious=False, phase="loss"),
    ]
    spans = [
        interval("undecided", 900, 1100, first_packet=10, last_packet=25),
        interval("undecided", 1200, 1300, first_packet=26, last_packet=30),
        interval("undecided", 2000, 3000, first_packet=31, last_packet=40),
    ]
    (finding,) = run(CODE, trace(segments=copies, intervals=spans))[0]
    assert finding.values["undecided_s"] == pytest.approx(0.2)
    assert finding.cost_s == 0
    assert "repairs of undetermined trigger took 200 ms" in _sentence(finding.values)
    # Later copies of the same repair pass in the time that the second ended.
    later = [*copies, again(41, 3050, 4345, spurious=False, phase="loss")]
    longer = [*spans[:2], interval("undecided", 2000, 3100, first_packet=31, last_packet=45)]
    (finding,) = run(CODE, trace(segments=later, intervals=longer))[0]
    assert finding.values["undecided_s"] == pytest.approx(1.3)


def test_a_loss_lasts_from_the_lost_copy_to_the_ack_of_its_repair() -> None:
    lost = again(20, 1000, 1449, spurious=False, since_previous_ns=120 * MS)
    made = trace(segments=[lost, ack(30, 1250, 2897)], recoveries=[recovery(1000, 1400)], intervals=TIMES)
    (finding,) = run(CODE, made)[0]
    assert (finding.t_start_ns, finding.t_end_ns) == (880 * MS, 1250 * MS)
    # The recovery goes on for other data.
    assert finding.cost_s == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("lost", "before", "fast_s", "timers_s", "sentence"),
    [
        (
            1,
            1,
            0.0,
            0.5,
            "1 of 9 data segments was lost, before the tap, in 1 episode; timers and the recovery after them took 500 ms.",
        ),
        (
            3,
            3,
            0.25,
            0.0,
            "3 of 9 data segments were lost, all of them before the tap, in 1 episode; fast recovery took 250 ms.",
        ),
        (3, 2, 0.0, 0.0, "3 of 9 data segments were lost, 2 of them before the tap, in 1 episode."),
    ],
)
def test_the_sentence_leaves_out_what_took_no_time(
    lost: int, before: int, fast_s: float, timers_s: float, sentence: str
) -> None:
    values = {
        "lost_count": lost,
        "lost_before_tap_count": before,
        "data_packets": 9,
        "episodes_count": 1,
        "fast_recovery_s": fast_s,
        "timers_s": timers_s,
    }
    assert _sentence(values) == sentence
