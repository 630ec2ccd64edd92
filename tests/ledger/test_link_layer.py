"""Time on the path by link: the bus, the air, or the rest of the path, to the nanosecond."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wlanlens as wl
from tests.detectors.together import aligned, given
from wlanlens.ledger import ledger
from wlanlens.ledger.air import ACCESS_NS, SIFS_NS
from wlanlens.ledger.spans import Spans, without_pause
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Cell, Flow, Node, Station, Tcp, Wire, World
from wlanlens.simulation.scenario import Scenario
from wlanlens.simulation.simulate import Run, simulate
from wlanlens.trace import Trace


def shares(trace: Trace) -> dict[str, float]:
    """The share of the time of each category; checks the sums on the way."""
    judged = trace.leading()
    rough = ledger.from_intervals(judged.table("intervals"), judged.table("timeouts"))
    fine = trace.table("ledger")
    assert sum(ledger.sums(fine)) == sum(ledger.sums(rough))
    # Time in other categories does not change, but that windows and delayed ACKs limit nothing while a link is full, and do elsewhere.
    before, after = ledger.totals(rough), ledger.totals(fine)
    kept = {name: ns for name, ns in after.items() if not name.startswith("air_") and name not in ("usb", "path")}
    limits = ("slow_start", "receiver_window", "delayed_ack")
    assert {name: ns for name, ns in kept.items() if name not in limits} == {
        name: ns for name, ns in before.items() if name not in ("path", *limits)
    }
    rows = fine.to_pandas()
    for _, one in rows.groupby(["flow", "direction"], observed=True):
        assert (one.t_end_ns > one.t_start_ns).all()
        assert (one.t_start_ns.to_numpy()[1:] == one.t_end_ns.to_numpy()[:-1]).all()
    life = sum(after.values())
    return {name: ns / life for name, ns in after.items()}


def run(folder: Path, scenario: str | Scenario, **parameters: Any) -> Run:
    return simulate(scenario, folder, seed=1, **parameters)


def test_time_of_a_slow_bus_is_usb(tmp_path: Path) -> None:
    got = shares(aligned(run(tmp_path, "slow_bus", duration_s=4.0)))
    assert got["usb"] > 0.8
    assert got.get("path", 0.0) < 0.02


def test_time_of_a_slow_air_is_air_although_transfers_wait_on_the_bus(tmp_path: Path) -> None:
    got = shares(aligned(run(tmp_path, "slow_air_over_usb", duration_s=4.0)))
    assert got["air_useful"] > 0.9
    assert got["usb"] < 0.05


def one_segment_window(wire_delay_s: float) -> World:
    """A window of one segment, and an ACK for each: over the air alone, or with a line before it."""
    tcp = Tcp(receive_window_bytes=1448, delayed_ack_segments=1)
    if not wire_delay_s:
        stations = tuple(Station(node=i, rts_threshold_bytes=0) for i in (0, 1))
        cell = Cell(stations, ad_hoc=True, beacons=False)
        return World(nodes=(Node("sender"), Node("receiver")), cell=cell, flows=(Flow(0, 1, bulk(), tcp=tcp),))
    return World(
        nodes=(Node("sender"), Node("receiver"), Node("access point")),
        cell=Cell((Station(node=2, access_point=True), Station(node=1)), beacons=False),
        wires=(Wire(0, 2, rate_bps=1e9, delay_s=wire_delay_s),),
        flows=(Flow(0, 1, bulk(), tcp=tcp),),
    )


def test_a_window_limits_nothing_while_the_air_is_full(tmp_path: Path) -> None:
    # A data frame or its ACK is always on the air, with RTS and CTS: a larger window would have to wait for it.
    got = shares(aligned(run(tmp_path / "air", given(one_segment_window(0.0), 2.0))))
    assert got.get("receiver_window", 0.0) < 0.02
    assert got["air_useful"] > 0.8
    # One capture of the air shows it as well.
    alone = ledger.totals(wl.align([tmp_path / "air" / "air.pcap"]).table("ledger"))
    assert alone.get("receiver_window", 0) < 0.02 * sum(alone.values())
    # The sender alone does not know that the path is the air.
    alone = wl.align([tmp_path / "air" / "sender.pcap"])
    assert ledger.totals(alone.table("ledger"))["receiver_window"] > 1.9e9


def test_a_window_limits_while_packets_are_on_a_line(tmp_path: Path) -> None:
    got = shares(aligned(run(tmp_path, given(one_segment_window(0.001), 2.0))))
    assert got["receiver_window"] > 0.95
    alone = ledger.totals(wl.align([tmp_path / "air.pcap"]).table("ledger"))
    assert alone["receiver_window"] > 0.95 * sum(alone.values())


def test_time_of_retries_agrees_with_the_truth(tmp_path: Path) -> None:
    made = run(tmp_path, "data_ack_collision", duration_s=4.0)
    got = shares(aligned(made))
    frames = made.facts.frames.to_pandas()
    data = frames[frames.kind == "data"]
    failed = data[data.fate != "received"]
    # Two frames that collide are on the air together; between transmissions there is a backoff, whose window doubles.
    on_air = (
        failed.groupby((failed.t_start_ns.diff() > 1000).cumsum()).t_end_ns.max()
        - failed.groupby((failed.t_start_ns.diff() > 1000).cumsum()).t_start_ns.min()
    )
    true = on_air.sum() / 4e9
    assert true < got["air_retries"] < 2 * true
    assert got.get("air_others", 0.0) < 0.01


def test_time_of_another_station_is_air_others(tmp_path: Path) -> None:
    world = World(
        nodes=(Node("sender"), Node("receiver"), Node("other")),
        cell=Cell((Station(node=0), Station(node=1), Station(node=2)), ad_hoc=True, beacons=False),
        flows=(Flow(0, 1, bulk(), tcp=Tcp()), Flow(2, 1, bulk(), tcp=Tcp())),
    )
    trace = aligned(run(tmp_path, given(world, 4.0)), "sender", "air")
    shares(trace)
    mine = trace.table("ledger").to_pandas()
    mine = mine[mine.capture == "sender.pcap"]
    spent = (mine.t_end_ns - mine.t_start_ns).groupby(mine.category.astype(str)).sum()
    assert 0.3 < spent["air_others"] / spent[["air_others", "air_retries", "air_useful"]].sum() < 0.7


@pytest.mark.parametrize("taps", [("sender", "receiver"), ("sender",)])
def test_without_an_air_capture_it_stays_path(tmp_path: Path, taps: tuple[str, ...]) -> None:
    got = shares(aligned(run(tmp_path, "clean_link", duration_s=2.0), *taps))
    assert not [name for name in got if name.startswith("air_") or name == "usb"]


def test_spans() -> None:
    spans = Spans.of(np.array([10, 0, 3, 20, 30]), np.array([15, 4, 8, 20, 40]))
    assert list(zip(spans.start.tolist(), spans.end.tolist(), strict=True)) == [(0, 8), (10, 15), (30, 40)]
    t = np.array([-1, 0, 7, 8, 12, 15, 29, 35, 99])
    assert spans.holds(t).tolist() == [False, True, True, False, True, False, False, True, False]
    assert spans.before(t).tolist() == [0, 0, 7, 8, 10, 13, 13, 18, 23]
    assert spans.ended(np.array([9, 12, 20])).tolist() == [8, 12, 15]
    none = Spans.of(np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert none.before(t).tolist() == [0] * 9
    assert not none.holds(t).any()


def test_the_frames_of_an_exchange_and_the_slots_between_others() -> None:
    # RTS, CTS, data and ACK are 10 us apart; the next frame comes after 50 us, the one after that much later.
    busy = Spans.of(np.array([0, 310, 620, 1000, 9000]) * 1000, np.array([300, 610, 950, 1500, 9500]) * 1000)
    exchange = busy.joined(SIFS_NS)
    assert (exchange.start // 1000).tolist() == [0, 1000, 9000]
    assert (exchange.end // 1000).tolist() == [950, 1500, 9500]
    assert exchange.began(np.array([620, 970, 1200]) * 1000).tolist() == [0, 970_000, 1_000_000]
    used = busy.joined(ACCESS_NS)
    assert [used.start.tolist(), used.end.tolist()] == [[0, 9_000_000], [1_500_000, 9_500_000]]


def test_gaps_of_a_tenth_of_the_time_before_them() -> None:
    busy = Spans.of(np.array([0, 110, 130, 1000]), np.array([100, 129, 200, 1100]))
    joined = busy.joined_over(10)
    assert list(zip(joined.start.tolist(), joined.end.tolist(), strict=True)) == [(0, 200), (1000, 1100)]
    assert busy.joined_over(11).start.tolist() == [0, 110, 1000]
    none = Spans.of(np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert not len(none.joined_over(10).start)


def test_the_wait_for_the_air_begins_behind_the_bus(tmp_path: Path) -> None:
    """A packet that is still on the bus does not wait for the air, though a packet before it does."""
    made = run(tmp_path, "slow_bus", duration_s=4.0)
    true = made.facts.ledger.to_pandas()
    length = (true.t_end_ns - true.t_start_ns).groupby(true.category.astype(str)).sum()
    got = shares(aligned(made))
    assert got["air_useful"] == pytest.approx(length["air_useful"] / length.sum(), abs=0.02)


def test_a_queue_passes_packets_without_a_pause() -> None:
    t = np.array([10, 20, 30, 70, 80])
    # Packets without a pause; a pause of 40; nothing at all; a long time before the first, and after the last.
    start, end = np.array([5, 25, 41, 0, 70]), np.array([35, 75, 69, 15, 100])
    assert without_pause(t, start, end, 15).tolist() == [True, False, False, True, False]
    assert without_pause(t, np.array([0]), np.array([25]), 5).tolist() == [False]
    assert without_pause(t[:0], start, end, 15).tolist() == [False] * 5
