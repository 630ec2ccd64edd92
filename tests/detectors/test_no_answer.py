"""no_answer: SYNs and data that nothing answers."""

from __future__ import annotations

from tests.detectors.made import MS, S, data, flows, run, timeout, trace
from tests.firing import Small

CODE = "no_answer"

#: A small simulated world in which it finds something. The contract tests read this name.
FIRES_ON = Small("blackout", 6.0, ("sender",), parameters={"first_s": 1.0, "dead_s": 10.0})

SYNS = [data(i, t * 1000, 0, 0, kind="syn") for i, t in enumerate((0, 1, 3, 7), 1)]


def opening(**changes: object) -> list[dict[str, object]]:
    row = {"packets": 4, "syn_packets": 4, "ack_packets": 0, "payload_bytes": 0, "first_packet": 1, "t_first_ns": 0}
    a, b = flows(**{**row, "t_last_ns": 7 * S, **changes})
    return [a, {**b, "packets": 0, "first_packet": None, "t_first_ns": None, "t_last_ns": None}]


def test_a_syn_without_an_answer() -> None:
    (finding,) = run(CODE, trace(opening(), segments=SYNS))[0]
    assert (finding.cost_s, finding.values["tries_count"]) == (7.0, 4)
    assert finding.rows("segments") == (1, 2, 3, 4)


def test_a_syn_at_the_end_of_the_capture_or_answered() -> None:
    assert run(CODE, trace(opening(syn_packets=1), segments=SYNS[:1])) == ([], [])
    a, b = opening()
    assert run(CODE, trace([a, {**b, "packets": 1}], segments=SYNS)) == ([], [])


def test_an_answer_that_comes_before_a_queued_syn_or_after_the_last_one() -> None:
    a, b = opening(syn_packets=2)
    for answered_ms, silent in ((10, True), (6900, False), (7100, False)):
        answer = {**b, "packets": 1, "syn_packets": 1, "t_first_ns": answered_ms * MS, "t_last_ns": answered_ms * MS}
        assert bool(run(CODE, trace([a, answer], segments=SYNS))[0]) == silent


def test_a_capture_of_one_direction_is_undecided() -> None:
    other = [{**row, "flow": 1, "src_port": 40001} for row in opening()]
    other[0] |= {"ack_packets": 9, "syn_packets": 1}
    found, undecided = run(CODE, trace([*opening(), *other], segments=SYNS))
    assert (found, len(undecided)) == ([], 1)


def silent(heard_ms: int, **last: object) -> list[object]:
    a, b = flows(first_packet=1, t_first_ns=0, t_last_ns=9 * S)
    rows = [timeout(i, 1000 * t, progress_ns=None, progress_packet=None) for i, t in ((5, 2), (6, 3), (7, 5), (8, 9))]
    rows[-1] |= last
    return run(CODE, trace([a, {**b, "first_packet": 2, "t_first_ns": 0, "t_last_ns": heard_ms * MS}], timeouts=rows))[
        0
    ]


def test_a_peer_that_falls_silent() -> None:
    (finding,) = silent(1700)
    assert finding.values["what"] == "the peer fell silent"
    assert finding.values["tries_count"] == 4


def test_a_peer_that_answers_later_or_sends_something_else() -> None:
    assert silent(9050, progress_ns=9050 * MS, progress_packet=9) == []
    assert silent(6000) == []
