"""caused_by: the finding that explains another one."""

from __future__ import annotations

import pytest

from wlanlens.detection.finding import Finding
from wlanlens.detection.root_cause import CAUSES, with_causes
from wlanlens.registry import units

S = 10**9


def finding(
    code: str, start_s: float, end_s: float, cost_s: float = 1.0, flow: int | None = 0, subject: str = ""
) -> Finding:
    direction = "a2b" if flow is not None else None
    span = int(start_s * S), int(end_s * S)
    return Finding(code, *span, "c", subject, "warning", 0.9, cost_s, flow=flow, direction=direction)


@pytest.mark.parametrize(
    ("effect", "cause", "said"),
    [
        (finding("spurious_timeout", 1, 2), finding("ack_holding", 1.2, 1.9), "ack_holding"),
        (finding("spurious_timeout", 1, 2), finding("ack_holding", 1.9, 3, 0.4), ""),
        (finding("spurious_timeout", 1, 2), finding("ack_holding", 1.2, 1.9, flow=1), ""),
        # Of losses over the whole life, the cost says it.
        (finding("packet_loss", 0, 60, 2.0), finding("startup_overflow", 1, 3, 1.5), "startup_overflow"),
        (finding("packet_loss", 0, 60, 9.0), finding("startup_overflow", 1, 3, 1.5), ""),
        # The timer backs off because nobody answers, not the other way round.
        (finding("idle_backoff", 1, 81, 80.0), finding("no_answer", 1, 82, 80.0), "no_answer"),
        (
            finding("burst_loss", 0, 9, flow=None, subject="station a > b"),
            finding("rate_thrashing", 0, 8, flow=None, subject="station a > b"),
            "rate_thrashing",
        ),
    ],
)
def test_a_cause_explains_half_of_the_time_or_of_the_cost(effect: Finding, cause: Finding, said: str) -> None:
    linked = with_causes([cause, effect])
    assert [f.caused_by for f in linked] == ["", said]


def test_causes_are_detectors_and_end_somewhere() -> None:
    shelf = units("detectors")
    assert {*CAUSES, *(code for causes in CAUSES.values() for code in causes)} <= set(shelf)
    for code in CAUSES:
        seen = {code}
        open_ = list(CAUSES[code])
        while open_:
            cause = open_.pop()
            assert cause != code
            if cause not in seen:
                seen.add(cause)
                open_ += CAUSES.get(cause, ())
