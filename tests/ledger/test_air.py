"""The air and the receiver's delays against the truth of simulations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wlanlens as wl
from tests.detectors.together import aligned
from wlanlens.ledger.air import ACCESS_NS, access_ns, contends
from wlanlens.simulation.simulate import Run, simulate
from wlanlens.trace import Trace
from wlanlens.validation.ledger_scoring import scores


def variation(made: Run, trace: Trace, taps: tuple[str, ...]) -> float:
    """The largest total variation of the directions that a host of the taps sends."""
    return max(s.variation for s in scores(0, made.facts, trace, taps) if s.place in ("sender", "together"))


def together(folder: Path, scenario: str, **parameters: Any) -> float:
    made = simulate(scenario, folder, seed=3, **parameters)
    return variation(made, aligned(made), tuple(made.captures))


def test_the_access_takes_as_long_as_the_contention_window_allows(tmp_path: Path) -> None:
    backoffs = np.random.default_rng(1).integers(0, 480, 400) * 20_000 + 50_000
    back = np.arange(400) % 2
    assert access_ns(backoffs, back) == pytest.approx(480 * 20_000, rel=0.15)
    # Idle times that a slow line before the station makes are alike; a few tell nothing. Jitter of a line before one station is its own.
    assert access_ns(np.full(400, 5_000_000) + backoffs // 20, back) == ACCESS_NS
    assert access_ns(backoffs[:10], back[:10]) == ACCESS_NS
    assert access_ns(backoffs, np.zeros(400)) == ACCESS_NS
    assert access_ns(np.where(back == 0, backoffs // 10, 3 * backoffs), back) < 2 * ACCESS_NS
    assert together(tmp_path, "data_ack_collision", cw_min=511, duration_s=3.0) < 0.08


def test_copies_after_a_lost_mac_ack_are_retries_but_for_the_last(tmp_path: Path) -> None:
    """The sniffer hears ACKs that do not reach the transmitter: an exchange ends with its last copy."""
    assert together(tmp_path, "independent_channel_errors", frame_error_rate=0.4, duration_s=3.0) < 0.03


def test_the_taps_of_both_hosts_show_when_an_ack_was_delayed(tmp_path: Path) -> None:
    made = simulate(
        "clean_rts_link",
        tmp_path,
        seed=3,
        delayed_ack_segments=11,
        window_segments=2,
        delayed_ack_timer_s=0.04,
        duration_s=3.0,
    )
    trace = aligned(made)
    assert variation(made, trace, tuple(made.captures)) < 0.02
    rows = trace.table("ledger").to_pandas()
    spent = (rows.t_end_ns - rows.t_start_ns).groupby(rows.category.astype(str)).sum()
    assert spent["delayed_ack"] > 2.5e9
    # A timer begins when data arrives, not when its ACK is due at the sender.
    line = simulate(
        "slow_line", tmp_path / "line", seed=3, rate_bps=1e9, receive_window_bytes=2000, flows=1, duration_s=20.0
    )
    assert variation(line, aligned(line, "sender", "receiver"), ("sender", "receiver")) < 0.05


def test_a_window_whose_data_takes_the_whole_round_trip_limits_nothing(tmp_path: Path) -> None:
    """One ACK answers a window of eight segments: no pace shows, but the path passed nothing else meanwhile."""
    made = simulate("clean_link", tmp_path, seed=3, receive_window_bytes=12318, delayed_ack_segments=8, duration_s=3.0)
    trace = wl.align([made.captures["sender"]])
    assert variation(made, trace, ("sender",)) < 0.03


def test_a_bus_makes_idle_times_alike_and_a_backoff_does_not() -> None:
    may = np.array([True] * 8 + [False])
    backoff = np.array([50, 70, 110, 230, 350, 470, 590, 900, 100]) * 1000
    assert contends(backoff, may, ACCESS_NS).tolist() == [True] * 7 + [False] * 2
    assert not contends(np.full(9, 471_000), may, ACCESS_NS).any()
    assert not contends(backoff, np.zeros(9, bool), ACCESS_NS).any()
