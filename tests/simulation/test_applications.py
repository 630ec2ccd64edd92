"""Applications: files with a heavy tail one after another, answers to requests, flows in both directions, thinned ACKs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow.compute as pc
import pytest

import wlanlens as wl
from wlanlens.simulation.applications import bulk, file, pareto, request
from wlanlens.simulation.config import Cell, Flow, Node, Station, Tcp, World
from wlanlens.simulation.scenario import Scenario, ScenarioError
from wlanlens.simulation.simulate import Run


def made(*flows: Flow, seconds: float = 20.0, seed: int = 1) -> Run:
    """A run of these flows between two stations."""

    @dataclass(frozen=True, kw_only=True)
    class Made(Scenario):
        def world(self) -> World:
            cell = Cell((Station(node=0), Station(node=1)), ad_hoc=True, beacons=False)
            return World(nodes=(Node("a"), Node("b")), cell=cell, flows=flows)

    return wl.simulate(Made(duration_s=seconds), seed=seed)


def transfers(run: Run) -> dict[str, dict[int, dict[str, Any]]]:
    """Events of transfers by flow."""
    out: dict[str, dict[int, dict[str, Any]]] = {"transfer_began": {}, "transfer_ended": {}}
    for event in run.facts.events.to_pylist():
        if event["what"] in out:
            out[event["what"]][event["flow"]] = event
    return out


def data(run: Run, flow: int, direction: str) -> list[dict[str, Any]]:
    p = run.facts.packets
    mask = pc.and_(pc.equal(p["flow"], flow), pc.equal(p["direction"], direction))
    return p.filter(mask).to_pylist()


def test_a_file_ends_with_the_ack_of_its_last_byte() -> None:
    for closes in (True, False):
        run = made(Flow(0, 1, file(50_000, closes=closes)))
        ended = transfers(run)["transfer_ended"][0]
        assert ended["rel_seq"] == 50_000
        last = [p for p in data(run, 0, "b2a") if p["t_end_ns"] == ended["t_ns"]]
        assert [p["rel_ack"] for p in last] == [50_001 + closes]
        assert sum(p["len_bytes"] for p in data(run, 0, "a2b")) == 50_000


def test_a_flow_follows_another_after_some_thought() -> None:
    one = Flow(0, 1, file(20_000))
    run = made(one, replace(one, after=0), replace(one, after=1, think_s=2.0), seconds=60.0)
    began, ended = transfers(run)["transfer_began"], transfers(run)["transfer_ended"]
    assert began[1]["t_ns"] == ended[0]["t_ns"]
    assert began[2]["t_ns"] > ended[1]["t_ns"]
    thoughts = []
    for seed in range(1, 41):
        run = made(one, replace(one, after=0, think_s=2.0), seconds=60.0, seed=seed)
        events = transfers(run)
        thoughts.append((events["transfer_began"][1]["t_ns"] - events["transfer_ended"][0]["t_ns"]) / 1e9)
    assert 1.2 < sum(thoughts) / len(thoughts) < 2.9
    assert len(set(thoughts)) == len(thoughts)


def test_a_request_is_answered_by_the_server_once_it_is_whole() -> None:
    run = made(Flow(0, 1, request(4000, 100_000)))
    asked, answered = data(run, 0, "a2b"), data(run, 0, "b2a")
    assert sum(p["len_bytes"] for p in asked) == 4000
    assert sum(p["len_bytes"] for p in answered) == 100_000
    whole = max(p["t_end_ns"] for p in asked if p["len_bytes"])
    assert min(p["t_made_ns"] for p in answered if p["len_bytes"]) == whole
    event = transfers(run)["transfer_ended"][0]
    assert (event["direction"], event["rel_seq"]) == ("b2a", 100_000)


def test_sizes_of_a_set_are_the_same_for_every_seed_and_setting_in_another_order() -> None:
    def sizes(**changes: Any) -> list[int]:
        run = wl.simulate("short_transfers", files=50, **changes)
        events = transfers(run)["transfer_ended"]
        return [events[flow]["rel_seq"] for flow in range(50)]

    first, thinner, other = sizes(), sizes(delayed_ack_segments=5), sizes(seed=2)
    assert first == thinner
    assert first != other
    assert sorted(first) == sorted(other)
    assert all(size % 1000 == 0 for size in first)
    # Rounding up to whole segments adds half a segment.
    assert sum(first) / 50 == pytest.approx(30_500, rel=0.01)
    independent = sizes(stratified=False)
    assert sorted(independent) != sorted(first)


def test_uploads_and_downloads_run_side_by_side() -> None:
    run = wl.simulate("both_directions", duration_s=10.0)
    moved = []
    for number, flow in enumerate(run.facts.world.flows):
        moved.append(max(p["rel_seq"] for p in data(run, number, "a2b") if p["fate"] == "delivered"))
        assert (flow.client == 0) == (number >= 2)
    assert min(moved) > 0.5 * max(moved)
    # The other direction of the same thing is gone when it is switched off.
    assert {f.client for f in wl.simulate("both_directions", downloads=0, duration_s=1.0).facts.world.flows} == {1, 2}


def _acked(run: Run) -> list[int]:
    """Segments that each ACK of the first connection acknowledges anew."""
    acks = [p["rel_ack"] for p in data(run, 0, "b2a") if p["rel_ack"] > 1 and not p["len_bytes"]]
    return [(b - a) // 1000 for a, b in zip([1, *acks], acks, strict=False)]


def test_acks_are_thinned_as_a_connection_grows() -> None:
    # The first of all is acknowledged alone, the next three in twos, five to eight in threes, then fours, if they come.
    run = wl.simulate("short_transfers", files=1, mean_bytes=200_000.0, dynamic=True, delayed_ack_timer_s=0.5)
    acked = _acked(run)
    assert acked[:2] == [1, 2]
    assert max(acked) == 4
    assert acked.count(4) > 0.8 * len(acked)
    steady = _acked(wl.simulate("short_transfers", files=1, mean_bytes=200_000.0, delayed_ack_segments=2))
    assert set(steady[:-1]) == {2}


def test_a_fin_ends_the_wait_for_the_timer() -> None:
    def delay(**changes: Any) -> float:
        run = wl.simulate("short_transfers", files=40, delayed_ack_timer_s=0.2, **changes)
        events = transfers(run)
        began, ended = events["transfer_began"], events["transfer_ended"]
        return sum(ended[f]["t_ns"] - began[f]["t_ns"] for f in ended) / len(ended) / 1e9

    assert delay() > delay(closes=True) + 0.05


@pytest.mark.parametrize(
    ("flows", "said"),
    [
        ((Flow(0, 1, bulk(), after=0),), "after"),
        ((Flow(0, 1, bulk()), Flow(0, 1, bulk(), after=0)), "of limited size"),
        ((Flow(0, 1, file(1000), think_s=-1.0),), "think_s"),
        ((Flow(0, 1, file(pareto(30_000.0, 1.0))),), "Pareto"),
        ((Flow(0, 1, file(pareto(30_000.0, 1.5, number=3, of=3))),), "Pareto"),
    ],
)
def test_flows_that_cannot_be_are_refused(flows: tuple[Flow, ...], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        made(*flows)


def test_more_files_than_ports_are_refused() -> None:
    with pytest.raises(ScenarioError, match="nearest files is 100"):
        wl.simulate("short_transfers", stations=200, files=20_000)


def test_a_client_without_sack_and_one_with_may_share_a_run() -> None:
    run = made(Flow(0, 1, file(30_000), tcp=Tcp(sack=False)), Flow(1, 0, file(30_000)))
    assert set(transfers(run)["transfer_ended"]) == {0, 1}
