"""The state of each detector: one that had nothing to look at was not run."""

from __future__ import annotations

from typing import Any

import pytest

from tests.detectors.made import ack, data
from tests.rows import table
from wlanlens.detection.runner import detect
from wlanlens.trace import Trace

FRAME = {"packet": 1, "t_ns": 0}


def state(code: str, *segments: dict[str, Any], **more: list[dict[str, Any]]) -> tuple[str, str]:
    names = ("timeouts", "recoveries", "intervals", "flows", "frames", "exchanges")
    held = {name: table(name, more.get(name, [])) for name in names}
    trace = Trace.of_tables({**held, "segments": table("segments", list(segments))}, duration_ns=1)
    (found,) = detect(trace, [code]).states
    return found.state, found.reason


@pytest.mark.parametrize(
    ("segments", "reason"),
    [
        ((), "needs a TCP connection: capture while the transfer runs"),
        ((ack(1, 0, 1),), "needs a TCP connection that carries data: capture while the transfer runs"),
        ((data(1, 0, 1),), "needs both directions of a connection: capture at the sender if possible"),
    ],
)
def test_without_a_transfer_it_is_not_run(segments: tuple[dict[str, Any], ...], reason: str) -> None:
    assert state("spurious_timeout", *segments) == ("not_run", reason)


def test_a_key_is_asked_for_only_where_frames_are_encrypted() -> None:
    protected = {**FRAME, "carries": "protected", "ta": "02:00:00:00:00:01", "ra": "02:00:00:00:00:02"}
    made, reason = state("spurious_timeout", frames=[protected])
    assert made == "not_run"
    assert "give the passphrase of the network with --key-file" in reason
    made, reason = state("spurious_timeout", frames=[FRAME])
    assert made == "not_run"
    assert "key" not in reason
    assert "capture whole frames while a transfer runs" in reason


def test_a_transfer_with_its_acks_is_fine() -> None:
    assert state("spurious_timeout", data(1, 0, 1), ack(2, 1, 1449)) == ("fine", "")
