"""The true ledger: every life is divided without a gap, and each category is what the simulator did."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from wlanlens.scenarios._line import line
from wlanlens.simulation.applications import file
from wlanlens.simulation.config import Flow, Tcp
from wlanlens.simulation.simulate import Run, simulate
from wlanlens.tables import CATEGORIES
from wlanlens.validation.counterfactual_worlds import GivenWorld
from wlanlens.validation.random_worlds import random_world


def spent(run: Run, flow: int = 0, direction: str = "a2b") -> dict[str, float]:
    """Seconds by category."""
    out: Counter[str] = Counter()
    for row in run.facts.ledger.to_pylist():
        if (row["flow"], row["direction"]) == (flow, direction):
            out[row["category"]] += (row["t_end_ns"] - row["t_start_ns"]) / 1e9
    return out


@pytest.mark.parametrize("seed", range(20))
def test_lives_of_random_worlds_have_no_gap(seed: int) -> None:
    run = simulate(random_world(seed, varied=True), seed=seed)
    packets = run.facts.packets.to_pandas()
    directions = {(f, d) for f, d, n in packets[["flow", "direction", "len_bytes"]].itertuples(index=False) if n}
    tcp = {i for i, flow in enumerate(run.facts.world.flows) if flow.tcp is not None}
    ends: dict[tuple[int, str], int] = {}
    for row in run.facts.ledger.to_pylist():
        key = row["flow"], row["direction"]
        first = packets.t_made_ns[packets.flow == row["flow"]].min()
        assert row["t_start_ns"] == ends.get(key, first)
        assert row["t_start_ns"] < row["t_end_ns"]
        ends[key] = row["t_end_ns"]
    # A connection without any answer has a life too, if its SYN was repeated.
    assert set(ends) == {key for key in directions if key[0] in tcp}


def test_it_is_written_with_the_truth_and_only_then(tmp_path: Path) -> None:
    run = simulate("clean_link", tmp_path / "with", duration_s=1.0)
    table = pq.read_table(tmp_path / "with" / "truth_ledger.parquet")
    assert table.equals(run.facts.ledger)
    assert set(table.column("category").to_pylist()) <= set(CATEGORIES)
    bare = simulate("clean_link", tmp_path / "without", duration_s=1.0, truth=False)
    assert not (tmp_path / "without" / "truth_ledger.parquet").exists()
    assert bare.facts.ledger.num_rows == 0


def test_its_categories_are_the_analysers() -> None:
    run = simulate("clean_link", duration_s=0.1)
    names = run.facts.ledger.column("category").chunk(0).dictionary.to_pylist()
    assert names == list(CATEGORIES)


@pytest.mark.parametrize(
    ("queue_packets", "delay_s", "counts"), [(100, 0.02, True), (10, 0.02, False), (100, 1.0, False)]
)
def test_a_queue_counts_where_it_is_longer_than_useful(queue_packets: int, delay_s: float, counts: bool) -> None:
    # 100 segments wait for 1.2 s behind others': long for a path of 40 ms, and useful on one of 2 s.
    flows = Flow(0, 1, tcp=Tcp(receive_window_bytes=262_144)), Flow(0, 1, file(1000), start_s=15.0)
    world = line(*flows, rate_bps=1e6, delay_s=delay_s, queue_packets=queue_packets)
    assert (spent(simulate(GivenWorld(given=world, duration_s=25.0)), 1)["queue"] > 0.5) == counts


def test_recovery_without_a_loss_is_spurious() -> None:
    held = spent(simulate("ack_holding", duration_s=10.0))
    assert held["rto_wait"] > 0.3
    assert held["loss_recovery"] == held["fast_recovery"] == 0
    line = spent(simulate("spurious_retransmissions", duration_s=20.0))
    assert line["rto_wait"] > 1
    assert line["loss_recovery"] == line["fast_recovery"] == 0


def test_a_slow_bus_is_usb_and_a_slow_air_is_not() -> None:
    bus, air = (spent(simulate(name, duration_s=5.0)) for name in ("slow_bus", "slow_air_over_usb"))
    assert bus["usb"] > 0.8 * sum(bus.values())
    assert air["air_useful"] + air["air_retries"] > 0.8 * sum(air.values())


def test_a_full_queue_of_ones_own_costs_nothing() -> None:
    own = spent(simulate("deep_buffer", duration_s=20.0))
    assert own["queue"] == 0
    assert own["path"] > 0.5 * sum(own.values())


def test_packets_know_their_time_in_queues() -> None:
    packets = simulate("deep_buffer", duration_s=20.0).facts.packets.to_pandas()
    there = packets[packets.fate == "delivered"]
    assert (there.queued_ns <= there.t_end_ns - there.t_made_ns).all()
    # The queue of the line holds seconds of data, and ACKs have the way back for themselves.
    assert there.queued_ns[there.len_bytes > 0].max() > 1e9
    assert there.queued_ns[there.direction == "b2a"].max() < 1e6
    bare = simulate("deep_buffer", duration_s=1.0, truth=False).facts.packets
    assert bare.column("queued_ns").null_count == bare.num_rows


def test_without_sack_an_undone_timeout_leaves_nothing_to_recover() -> None:
    # A first segment that waits a minute for the line, the others of its window lost: Eifel undoes the timeout, and Linux keeps state
    # Loss without SACK until all is acknowledged (`tcp_try_undo_loss`), although it repairs nothing in it.
    undone = spent(simulate(random_world(130021, varied=True), seed=130021), flow=8)
    assert undone["rto_backoff"] > 60
    assert undone["loss_recovery"] == 0


def test_a_life_ends_with_the_ack_of_everything() -> None:
    # A slow line delivers old copies for 15 s more, and each is acknowledged.
    run = simulate(random_world(393013, varied=True), seed=393013)
    acks = [p for p in run.facts.packets.to_pylist() if p["direction"] == "b2a" and p["fate"] == "delivered"]
    last = max(p["rel_ack"] for p in acks)
    assert run.facts.ledger.column("t_end_ns").to_pylist()[-1] == min(
        p["t_end_ns"] for p in acks if p["rel_ack"] == last
    )


def test_a_life_lasts_until_its_packets_pass_the_tap() -> None:
    # Segments wait in the queue of their host when the run ends.
    facts = simulate(random_world(393008, varied=True), seed=393008).facts
    passed = max(p["t_tap_ns"] or 0 for p in facts.packets.to_pylist() if (p["flow"], p["direction"]) == (11, "a2b"))
    assert max(r["t_end_ns"] for r in facts.ledger.to_pylist() if r["flow"] == 11) == passed
