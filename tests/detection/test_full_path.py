"""The sentence on a path that was full: what it carried, by the ACKs at the sender."""

from __future__ import annotations

import pytest

from tests.captures import sample
from wlanlens.detection.full_path import full_path

S = 10**9


def test_a_full_path_is_said_with_its_rate_and_its_queue() -> None:
    # The line of this sample carries 5 Mbit/s, of which headers take 3 %; its ACKs need 20 ms.
    trace = sample("clean_cubic.sender")
    assert full_path(trace, (0, "a2b"), 1_500_000, 2_528_000_000) == (
        ", full at 4.75 of 4.84 Mbit/s (round trip 101 ms on average, 20.4 ms at least)"
    )


@pytest.mark.parametrize(
    ("which", "payload_bytes", "lifetime_ns"),
    [
        ((0, "a2b"), 1_300_000, 2_528_000_000),
        ((0, "a2b"), 1_700_000, 2_528_000_000),
        ((7, "a2b"), 1, S),
        ((0, "a2b"), 1, 0),
    ],
)
def test_a_path_with_room_is_not_called_full(which: tuple[int, str], payload_bytes: int, lifetime_ns: int) -> None:
    assert full_path(sample("clean_cubic.sender"), which, payload_bytes, lifetime_ns) == ""


def test_away_from_the_sender_nothing_is_said() -> None:
    trace = sample("burst_loss.air")
    columns = (trace.table("flows")[name].to_pylist() for name in ("payload_bytes", "flow", "direction"))
    _, flow, direction = max(zip(*columns, strict=True))
    assert all(full_path(trace, (flow, direction), kbps * 125, S) == "" for kbps in range(1000, 15_000, 100))
