"""What waits behind another connection of the same two hosts is queueing delay, however even it is; slow start that waits its turn, the path's time."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc
import pytest

from tests.rows import intervals, table
from wlanlens.ledger import ledger

S = 10**9


def flow(number: int, src: str, dst: str) -> list[dict[str, Any]]:
    return [
        {"flow": number, "direction": "a2b", "ip_src": src, "ip_dst": dst},
        {"flow": number, "direction": "b2a", "ip_src": dst, "ip_dst": src},
    ]


def entered(
    other: list[tuple[str, int]], hosts: tuple[str, str] = ("a", "b"), *, rtt_ms: int = 250
) -> dict[str, float]:
    """Shares of the second of life of a connection from a to b, beside another one in these states."""
    rows = [*intervals(other, flow=0), *intervals([("transfer", S)], flow=1)]
    rows[-1] |= {"rtt_ns": rtt_ms * 10**6, "rtt_min_ns": 20 * 10**6, "acked_bytes": 1000}
    flows = table("flows", [*flow(0, *hosts), *flow(1, "a", "b")])
    made = ledger.from_intervals(table("intervals", rows), flows=flows).to_pylist()
    return {row["category"]: (row["t_end_ns"] - row["t_start_ns"]) / S for row in made if row["flow"] == 1}


def test_behind_another_connection_all_above_the_least_round_trip_is_queueing_delay() -> None:
    assert entered([("full_path", S)]) == pytest.approx({"path": 0.08, "queue": 0.92})
    # ACKs wait behind data of the other direction.
    assert entered([("full_path", S)], ("b", "a")) == pytest.approx({"path": 0.08, "queue": 0.92})
    assert entered([("idle", S // 4), ("full_path", S)]) == pytest.approx({"path": 0.08, "queue": 0.92})


@pytest.mark.parametrize(
    ("other", "hosts", "rtt_ms"),
    [
        ([("transfer", S)], ("a", "b"), 250),
        # To another host, over another path as far as the capture tells.
        ([("full_path", S)], ("a", "c"), 250),
        ([("full_path", S // 4), ("idle", S)], ("a", "b"), 250),
        # A queue no longer than that keeps the path full while windows are halved.
        ([("full_path", S)], ("a", "b"), 200),
    ],
)
def test_what_does_not_wait_behind_it_is_the_paths(other: Any, hosts: tuple[str, str], rtt_ms: int) -> None:
    assert entered(other, hosts, rtt_ms=rtt_ms) == {"path": 1.0}


def test_a_connection_that_fills_the_path_itself_has_no_queueing_delay() -> None:
    rows = [*intervals([("full_path", S)], flow=0), *intervals([("full_path", S)], flow=1)]
    flows = table("flows", [*flow(0, "a", "b"), *flow(1, "a", "b")])
    made = ledger.from_intervals(table("intervals", rows), flows=flows)
    assert ledger.totals(made) == {"path": 2 * S}


def slow_start(
    other: str, hosts: tuple[str, str], *, rtt_ms: int = 150, least_ms: int = 10, acked_bytes: int = 0
) -> dict[str, int]:
    """The ledger of a connection from a to b in slow start, with such round trips, beside another one in this state."""
    rows = [*intervals([(other, S)], flow=0), *intervals([("slow_start", S)], flow=1)]
    rows[-1] |= {"rtt_ns": rtt_ms * 10**6, "rtt_min_ns": least_ms * 10**6, "acked_bytes": acked_bytes}
    flows = table("flows", [*flow(0, *hosts), *flow(1, "a", "b")])
    made = ledger.from_intervals(table("intervals", rows), flows=flows)
    return ledger.totals(made.filter(pc.equal(made.column("flow"), 1)))


@pytest.mark.parametrize("hosts", [("a", "b"), ("b", "a"), ("a", "c"), ("c", "b")])
def test_a_connection_that_waits_for_its_turn_at_a_host_is_on_a_full_path(hosts: tuple[str, str]) -> None:
    assert slow_start("full_path", hosts) == {"path": S}


@pytest.mark.parametrize(
    ("other", "hosts", "trips"),
    [
        # Neither host has a part in it.
        ("full_path", ("c", "d"), (150, 10)),
        ("transfer", ("a", "b"), (150, 10)),
        # A tenth of the round trip and more is the path's own.
        ("full_path", ("a", "b"), (150, 16)),
        # A queue as long as that is not one packet's turn: a larger window has a larger share of it.
        ("full_path", ("a", "b"), (250, 10)),
    ],
)
def test_otherwise_its_window_is_the_limit(other: str, hosts: tuple[str, str], trips: tuple[int, int]) -> None:
    assert slow_start(other, hosts, rtt_ms=trips[0], least_ms=trips[1]) == {"slow_start": S}


@pytest.mark.parametrize(
    ("rtt_ms", "acked_bytes", "category"),
    [
        (150, 1000, "path"),
        (250, 1000, "slow_start"),
        (90, 1000, "slow_start"),
        # No round trip ended: the latest was an earlier one.
        (150, 0, "slow_start"),
    ],
)
def test_alone_its_own_round_trips_show_the_wait(rtt_ms: int, acked_bytes: int, category: str) -> None:
    assert slow_start("transfer", ("a", "b"), rtt_ms=rtt_ms, acked_bytes=acked_bytes) == {category: S}
