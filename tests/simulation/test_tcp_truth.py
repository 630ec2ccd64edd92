"""The detectors of TCP's troubles against what happened: each finds its own, with its times, and no look-alike."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import wlanlens as wl
from wlanlens.detection.finding import MAY_BE_MISSED
from wlanlens.simulation.scenario import find

CODES = (
    "spurious_timeout", "ack_holding", "acked_data_retransmission", "missing_fast_retransmit", "idle_backoff", "tail_loss",
    "window_limited", "overbuffering",
)  # fmt: skip

SCENARIOS = (
    "ack_holding", "held_acks_timestamp_defect", "spurious_retransmissions", "genuine_timeout", "silent_receiver", "lost_acks",
    "window_updates", "keep_alives", "closed_window", "blackout", "lost_tail", "tail_loss_probes", "small_window",
    "congestion_window", "deep_buffer", "long_path",
)  # fmt: skip

#: Seeds that a test has time for; `wlanlens validate` takes more.
SEEDS = (1, 2, 3)


def judged(name: str, folder: Path, seed: int, **parameters: Any) -> tuple[wl.Run, list[wl.Finding]]:
    run = wl.simulate(name, folder, seed=seed, taps=("sender",), **parameters)
    return run, list(wl.detect(wl.align([run.captures["sender"]]), only=CODES))


@pytest.mark.parametrize("name", SCENARIOS)
def test_found_is_what_happened(name: str, tmp_path: Path) -> None:
    kind = find(name).kind
    for seed in SEEDS:
        run, found = judged(name, tmp_path / str(seed), seed)
        truth = [f for f in run.truth if f.code in CODES]
        for code, score in wl.score(found, truth).items():
            assert score.precision in (None, 1.0), (seed, code)
            assert score.recall in (None, 1.0), (seed, code)
            if code in kind.shows:
                assert score.within(0.010) == 1.0, (seed, code, score.time_errors_s)
        assert not {f.code for f in found} & set(kind.resembles), seed
        assert {f.code for f in found} >= set(kind.shows) & set(CODES), seed


@pytest.mark.parametrize(
    ("name", "code", "off"),
    [
        ("ack_holding", "ack_holding", {"hold_s": 0.0}),
        ("held_acks_timestamp_defect", "acked_data_retransmission", {"device_frames": 100}),
        ("lost_acks", "spurious_timeout", {"lost_s": 0.0}),
        ("blackout", "idle_backoff", {"dead_s": 0.0}),
        ("small_window", "window_limited", {"window_bytes": 262_144, "loss_rate": 0.005}),
        ("closed_window", "window_limited", {"stops_s": 0.0}),
        ("deep_buffer", "overbuffering", {"queue_packets": 10}),
    ],
)
def test_it_goes_with_its_cause(name: str, code: str, off: dict[str, float], tmp_path: Path) -> None:
    run, found = judged(name, tmp_path, 1, **off)
    assert code not in {f.code for f in run.truth if f.confidence > MAY_BE_MISSED}
    assert code not in {f.code for f in found}


def test_a_probe_finds_a_lost_tail_sooner(tmp_path: Path) -> None:
    waits = {}
    for probe in (False, True):
        run, found = judged("lost_tail", tmp_path / str(probe), 1, tail_loss_probe=probe, lost_segments=1)
        tails = [f for f in found if f.code == "tail_loss"]
        assert len(tails) >= 8
        told = {f.values["found_by"] for f in run.truth if f.code == "tail_loss"}
        assert told == {"tail loss probe" if probe else "retransmission timer"}
        waits[probe] = sum(f.cost_s for f in tails) / len(tails)
    # Two round trips against one and 200 ms; both have the last segments' way through the queue before.
    assert waits[True] < 0.75 * waits[False]


@pytest.mark.parametrize(("scenario", "more"), [("slow_line", {"rate_bps": 1e5}), ("access_point_overflow", {})])
def test_linux_of_the_time_grows_its_window_by_the_ack(scenario: str, more: dict[str, Any], tmp_path: Path) -> None:
    """In slow start an ACK lets as many segments out as it acknowledges, and one more (RFC 2581)."""
    rows = (
        wl.open(wl.simulate(scenario, tmp_path, duration_s=20.0, **more).captures["sender"])
        .table("segments")
        .to_pandas()
    )
    first_loss = rows[rows.transmission == "retransmission"].t_ns.min()
    rows = rows[(rows.t_ns < first_loss) if first_loss == first_loss else rows.t_ns >= 0]
    sent = rows[(rows.direction == "a2b") & (rows.len > 0)]
    acks = rows[(rows.direction == "b2a") & (rows.rel_ack > 1) & (rows.kind == "ack")]
    acked = acks.rel_ack.diff() / sent.len.max()
    edges = [*acks.t_ns, rows.t_ns.max() + 1]
    let_out = [int(((sent.t_ns >= a) & (sent.t_ns < b)).sum()) for a, b in pairwise(edges)]
    grown = [n - k for n, k in zip(let_out, acked, strict=True) if k == 2]
    assert grown
    assert max(grown) == 1


def test_a_router_that_drops_early_need_not_be_found() -> None:
    """RED refuses packets before its queue is full; a queue of 30 packets is full as well."""
    for buffer_packets, confidence in ((50, MAY_BE_MISSED), (30, 1.0)):
        made = wl.simulate("early_drop_at_buffer", discipline="red", buffer_packets=buffer_packets)
        assert [f.confidence for f in made.truth if f.code == "startup_overflow"] == [confidence]
