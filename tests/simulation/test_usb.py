"""USB adapters in simulated worlds: the bus's modes, its capture, held frames, and what the analyser makes of them."""

from __future__ import annotations

import itertools
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import wlanlens as wl
from wlanlens import _core
from wlanlens.detection.finding import Finding
from wlanlens.errors import WlanlensError
from wlanlens.models.usb_bus import UsbBus
from wlanlens.papers._air import throughput_mbps
from wlanlens.registry import units
from wlanlens.simulation.config import Station, TapClock, Usb, World
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.scenario import ScenarioKind, find
from wlanlens.simulation.simulate import EPOCH_NS, Run

MODES = list(itertools.product((False, True), repeat=2))
OURS = [
    name
    for name, unit in units("scenarios").items()
    if isinstance(unit, ScenarioKind) and "usb_bottleneck" in unit.kind.shows + unit.kind.resembles
]


def found(run: Run, tap: str = "usb", code: str = "usb_bottleneck") -> list[Finding]:
    return [f for f in wl.detect(wl.align([run.captures[tap]])) if f.code == code]


def between(run: Run, direction: str) -> np.ndarray:
    """ms between a direction's completions, once it runs."""
    urbs = run.facts.urbs
    t = np.asarray(urbs.filter(pc.equal(urbs["direction"], direction))["t_complete_ns"])
    return np.diff(t[t > 10**9]) / 1e6


@pytest.mark.parametrize(("depth_first", "queued"), MODES)
def test_without_reclamation_a_segment_takes_whole_frames(depth_first: bool, queued: bool) -> None:
    model = UsbBus(depth_first=depth_first, queued=queued)
    speeds = []
    for seed in (1, 2, 3):
        run = wl.simulate("slow_bus", seed=seed, depth_first=depth_first, queued=queued, duration_s=10.0)
        assert set(between(run, "out").tolist()) == {model.frames()}
        speeds.append(throughput_mbps(run))
    assert np.std(speeds) < 0.005
    assert np.mean(speeds) == pytest.approx(model.throughput_bps() / 1e6, rel=0.005)


def test_depth_first_the_adapters_refusal_costs_a_frame() -> None:
    for queued in (False, True):
        world = find("slow_bus").make({"depth_first": True, "queued": queued}).world()
        adapter = Usb(depth_first=True, reclamation=False, urbs_out=4 if queued else 1, descriptor_s=0.0)
        urbs = facts_of(with_adapter(world, adapter), 6.0).urbs
        done = np.asarray(urbs.filter(pc.equal(urbs["direction"], "out"))["t_complete_ns"])
        mean = np.diff(done[done > 10**9]).mean() / 1e6
        model = UsbBus(depth_first=True, queued=queued, refuses_second=False)
        assert model.frames() == UsbBus(depth_first=True, queued=queued).frames() - 1
        # Queued, the air is about as slow as two frames a segment.
        assert model.frames() <= mean < model.frames() + (0.3 if queued else 0.01)


def test_with_reclamation_the_air_limits_in_every_mode() -> None:
    speeds = [
        throughput_mbps(wl.simulate("clean_usb_link", depth_first=d, queued=q, duration_s=20.0)) for d, q in MODES
    ]
    assert 5.0 < min(speeds) <= max(speeds) < min(5.3, 1.02 * min(speeds))


def test_reclamation_is_what_mends_the_slow_bus(tmp_path: Path) -> None:
    run = wl.simulate("slow_bus", tmp_path, reclamation=True, taps=("usb",))
    assert not [f for f in run.truth if f.code == "usb_bottleneck"] + found(run)
    assert throughput_mbps(run) > 5.0


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("depth_first", "queued"), MODES)
def test_a_slow_bus_is_found_from_its_begin_to_its_end(
    depth_first: bool, queued: bool, seed: int, tmp_path: Path
) -> None:
    run = wl.simulate(
        "slow_bus", tmp_path, seed=seed, depth_first=depth_first, queued=queued, duration_s=6.0, taps=("usb",)
    )
    (finding,), (truth,) = found(run), [f for f in run.truth if f.code == "usb_bottleneck"]
    assert abs(finding.t_start_ns - truth.t_start_ns) < 10_000_000
    assert abs(finding.t_end_ns - truth.t_end_ns) < 10_000_000
    assert finding.cost_s == pytest.approx(truth.cost_s, rel=0.05)
    assert finding.subject == truth.subject
    first = "depth first" if depth_first else "breadth first"
    assert finding.values["mode"] == f"{first}, no reclamation"
    assert finding.values["queueing"] == ("queued" if queued else "one at a time")


@pytest.mark.parametrize(
    ("queued", "mode", "mbps"),
    [(False, "full speed, one transfer at a time", (5.7, 5.85)), (True, "full speed, saturated", (7.7, 8.8))],
)
def test_a_bus_that_a_faster_air_outruns(queued: bool, mode: str, mbps: tuple[float, float], tmp_path: Path) -> None:
    for depth_first in (False, True):
        run = wl.simulate("fast_air_over_usb", tmp_path, depth_first=depth_first, queued=queued, duration_s=4.0)
        (finding,), (truth,) = found(run), [f for f in run.truth if f.code == "usb_bottleneck"]
        assert finding.values["mode"] == mode
        assert abs(finding.t_start_ns - truth.t_start_ns) < 10_000_000
        assert mbps[0] < throughput_mbps(run) < mbps[1]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        *(("clean_usb_link", {"depth_first": d, "queued": q}) for d, q in MODES),
        *(("idle_usb_sender", {"depth_first": d, "queued": q}) for d, q in MODES),
        *(("slow_air_over_usb", {"rate_mbps": rate, "queued": q}) for rate in (1.0, 2.0, 5.5) for q in (False, True)),
    ],
)
def test_what_only_looks_like_a_slow_bus_is_none(
    name: str, parameters: dict[str, Any], seed: int, tmp_path: Path
) -> None:
    run = wl.simulate(name, tmp_path, seed=seed, duration_s=6.0, taps=("usb",), **parameters)
    assert not [f for f in run.truth if f.code == "usb_bottleneck"]
    assert not found(run)


def test_a_slow_air_fills_the_adapter_and_an_idle_sender_leaves_it_empty() -> None:
    ahead = {}
    for name in ("slow_air_over_usb", "slow_bus", "idle_usb_sender"):
        urbs = wl.simulate(name, duration_s=6.0).facts.urbs
        out = urbs.filter(pc.equal(urbs["direction"], "out"))
        ahead[name] = (np.mean(np.asarray(out["ahead_count"])), np.mean(np.asarray(out["refused_ns"])) / 1e6)
    assert ahead["slow_air_over_usb"][0] > 5 > 0.1 > ahead["slow_bus"][0]
    # A frame at 2 Mb/s is on the air for 6 ms, its ACK's share for 0.6.
    assert 4 < ahead["slow_air_over_usb"][1] < 8
    assert ahead["slow_bus"][1] == ahead["idle_usb_sender"][1] == ahead["idle_usb_sender"][0] == 0


def test_a_small_adapter_buffer_starves_the_air() -> None:
    speeds = [throughput_mbps(wl.simulate("clean_usb_link", buffer_frames=n, duration_s=10.0)) for n in (1, 8)]
    assert speeds[0] < 0.8 * speeds[1]


def test_the_bus_is_captured_as_usbmon_does(tmp_path: Path) -> None:
    run = wl.simulate("clean_usb_link", tmp_path, duration_s=2.0)
    assert list(run.captures) == ["sender", "usb", "air", "receiver"]
    capture = wl.open(run.captures["usb"])
    urbs = capture.table("urbs").to_pandas()
    bulk = urbs[urbs.transfer == "bulk"]
    facts = run.facts.urbs.to_pandas()
    done = bulk[bulk.outcome == "completed"]
    assert len(done) == len(facts)
    assert (done.status == 0).all()
    assert set(done.framing) == {"prism2"}
    for way, column in itertools.product(("in", "out"), ("t_submit_ns", "t_complete_ns")):
        seen, true = done[done.direction == way][column], facts[facts.direction == way][column]
        # usbmon's clock ticks in microseconds.
        assert np.abs(seen.to_numpy() - true.to_numpy()).max() < 1000
    assert (done[done.direction == "out"].asked_bytes == done[done.direction == "out"].done_bytes).all()
    assert list(urbs[urbs.transfer == "control"].value) == [0x100, 0x200]
    # The driver works one thing after another, microseconds each: tcpdump before a submission, after a completion.
    assert not [n for n in capture.notes if n.name == "time_backwards"]
    host, bus = (wl.open(run.captures[tap]).table("packets").to_pandas() for tap in ("sender", "usb"))
    both = host.merge(bus, on=["ip_src", "ip_id"], suffixes=("_host", "_bus"))
    assert len(both) == len(host) == len(bus)
    later = both.t_ns_bus - both.t_ns_host
    sent = both.ip_src == "10.0.0.1"
    assert later[sent].between(4_000, 50_000).all()
    assert later[~sent].between(-50_000, -4_000).all()
    assert {row["tap"] for row in capture.table("flows").to_pylist() if row["payload_bytes"]} == {"near_sender"}


def test_the_bus_taps_clock_can_be_off(tmp_path: Path) -> None:
    def first_stamps(world: World) -> tuple[int, int]:
        path = tmp_path / "usb.pcap"
        captures = {"usb": path}
        description = world.description(seed=1, duration_s=1.0, epoch_ns=EPOCH_NS, captures=captures)
        run = _core.Simulation(description)
        while run.run(1 << 60):
            pass
        run.finish()
        data = path.read_bytes()
        seconds, nanoseconds = struct.unpack("<II", data[24:32])
        return seconds * 10**9 + nanoseconds - EPOCH_NS, len(data)

    world = find("clean_usb_link").make({}).world()
    assert first_stamps(world)[0] == 0
    off = replace(world, clocks={"usb": TapClock(offset_ns=5_000_000, missed_share=0.5)})
    stamp, size = first_stamps(off)
    assert stamp >= 5_000_000
    assert size < 0.7 * first_stamps(world)[1]


def test_held_acks_leave_a_gap_in_the_in_completions(tmp_path: Path) -> None:
    run = wl.simulate("ack_holding_over_usb", tmp_path, seed=1, duration_s=10.0)
    events = run.facts.events.to_pylist()
    began = [e for e in events if e["what"] == "hold_began"]
    ended = [e for e in events if e["what"] == "hold_ended"]
    assert len(began) == len(ended) >= 2
    urbs = run.facts.urbs
    came = np.asarray(urbs.filter(pc.equal(urbs["direction"], "in"))["t_complete_ns"])
    for a, b in zip(began, ended, strict=True):
        assert a["packets"] == b["packets"] > 3
        assert 0.3e9 <= b["t_ns"] - a["t_ns"] == b["rto_ns"] <= 0.6e9
        # What was on the bus when the hold began still came; nothing after, and what was kept at once.
        assert not ((came > a["t_ns"] + 3_000_000) & (came < b["t_ns"])).any()
        assert ((came >= b["t_ns"]) & (came < b["t_ns"] + 20_000_000)).sum() >= a["packets"]
    # On the air in time, none lost.
    acks = run.facts.packets.filter(pc.equal(run.facts.packets["direction"], "b2a")).to_pylist()
    assert {p["fate"] for p in acks} <= {"delivered", "under_way"}
    for tap in ("sender", "usb"):
        held = found(run, tap, "ack_holding")
        assert len(held) == len(began), tap
        for finding, b in zip(sorted(held, key=lambda f: f.t_end_ns), ended, strict=True):
            assert abs(finding.t_end_ns - b["t_ns"]) < 10_000_000
    assert not found(run, "receiver", "ack_holding")


def test_an_adapter_that_keeps_nothing_shows_no_holding(tmp_path: Path) -> None:
    run = wl.simulate("ack_holding_over_usb", tmp_path, duration_s=10.0, mean_gap_s=0.0)
    assert not [e for e in run.facts.events.to_pylist() if e["what"].startswith("hold")]
    assert not found(run, "sender", "ack_holding") + found(run, "usb", "ack_holding")
    assert {f.code for f in run.truth} <= {"data_ack_collision"}


def test_the_same_seed_gives_the_same_bus(tmp_path: Path) -> None:
    def capture(name: str, seed: int) -> bytes:
        run = wl.simulate("ack_holding_over_usb", tmp_path / name, seed=seed, duration_s=4.0, taps=("usb",))
        return run.captures["usb"].read_bytes()

    assert capture("a", 3) == capture("b", 3) != capture("c", 4)


def test_holding_may_spare_a_run() -> None:
    def held(seed: int, chance: float) -> bool:
        run = wl.simulate("ack_holding_over_usb", seed=seed, duration_s=8.0, mean_gap_s=0.5, run_probability=chance)
        return "hold_ended" in run.facts.events["what"].to_pylist()

    seeds = range(1, 41)
    assert not any(held(seed, 0.0) for seed in range(1, 5))
    # A quarter of 40 runs, within three standard deviations.
    assert 2 <= sum(held(seed, 0.25) for seed in seeds) <= 18


def facts_of(world: World, duration_s: float) -> Truth:
    run = _core.Simulation(world.description(seed=1, duration_s=duration_s, epoch_ns=EPOCH_NS, captures={}))
    while run.run(1 << 60):
        pass
    tables = {name.removeprefix("truth_"): pa.Table.from_batches([batch]) for name, batch in run.finish()}
    return Truth(**tables, world=world)


def with_adapter(world: World, adapter: Usb) -> World:
    assert world.cell is not None
    first, *others = world.cell.stations
    return replace(world, cell=replace(world.cell, stations=(replace(first, usb=adapter), *others)))


def test_an_adapter_without_room_drops_what_it_holds_too_long() -> None:
    world = find("ack_holding_over_usb").make({"mean_gap_s": 1.0}).world()
    for room, lost in ((3, True), (64, False)):
        fates = facts_of(with_adapter(world, Usb(receive_buffer_frames=room)), 10.0).packets["fate"].to_pylist()
        assert ("adapter_queue" in fates) is lost


def test_downloads_come_up_the_in_list() -> None:
    world = find("clean_usb_link").make({}).world()
    down = replace(world, flows=(replace(world.flows[0], client=1, server=0),))
    for usb in (Usb(), Usb(depth_first=True), Usb(depth_first=True, reclamation=False), Usb(reclamation=False)):
        facts = facts_of(with_adapter(down, usb), 10.0)
        urbs = facts.urbs.filter(pc.equal(facts.urbs["direction"], "in")).to_pandas()
        moved = urbs.t_last_ns - urbs.t_first_ns
        long = moved[urbs.len_bytes == 60 + 8 + 1500]
        # 25 transactions: of one frame each, or of two frames and what lies between.
        most = 25 if not (usb.depth_first or usb.reclamation) else 2
        assert (most - 1) * 1_000_000 * (most > 2) < long.max() <= most * 1_000_000, usb


def test_impossible_adapters_are_refused_in_words() -> None:
    def refused(change: Usb | Station) -> str:
        world = find("clean_usb_link").make({}).world()
        assert world.cell is not None
        first = replace(world.cell.stations[0], usb=change) if isinstance(change, Usb) else change
        bad: World = replace(world, cell=replace(world.cell, stations=(first, *world.cell.stations[1:])))
        with pytest.raises(ValueError, match=r"\w") as error:
            _core.Simulation(bad.description(seed=1, duration_s=1.0, epoch_ns=EPOCH_NS, captures={}))
        return str(error.value)

    assert "urbs_out" in refused(Usb(urbs_out=0))
    assert "buffer_frames" in refused(Usb(buffer_frames=51))
    assert "descriptor_s" in refused(Usb(descriptor_s=-1.0))
    assert "access point" in refused(Station(node=0, access_point=True, usb=Usb()))
    with pytest.raises(WlanlensError, match="no tap"):
        wl.simulate("clean_link", taps=("usb",))


def test_every_scenario_of_the_bus_is_judged_for_it() -> None:
    assert {"slow_bus", "clean_usb_link", "slow_air_over_usb", "idle_usb_sender"} <= set(OURS)
    for name in OURS:
        kind = units("scenarios")[name]
        assert isinstance(kind, ScenarioKind)
        assert "usb" in kind.make({}).world().taps, name
