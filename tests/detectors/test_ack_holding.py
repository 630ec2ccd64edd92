"""ack_holding: ACKs that the receiver sent during a silence and that arrive in a burst after it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import wlanlens as wl
from tests import kernel
from tests.detectors.made import MS, MSS, B, ack, flows, run, trace
from tests.detectors.together import aligned, given, said
from wlanlens.detection.finding import MAY_BE_MISSED
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Cell, Flow, Node, Station, Tcp, Wire, World
from wlanlens.simulation.scenario import find
from wlanlens.simulation.simulate import simulate
from wlanlens.validation.scoring import Score

CODE = "ack_holding"


def steady(n: int = 40, step_ms: float = 10.0) -> list[dict[str, Any]]:
    """ACKs that arrive when they are made, every 10 ms: enough to measure the timestamp tick."""
    rows = [ack(i + 1, i * step_ms, 1 + i * MSS) for i in range(n)]
    return rows + [ack(500 + i, 700 + i * step_ms, 1 + (100 + i) * MSS) for i in range(n)]


def burst(*made_ms: float, at_ms: float = 600.0, **more: object) -> list[dict[str, Any]]:
    """ACKs that arrive together at 600 ms, made at these times."""
    return [
        ack(100 + i, at_ms + i * 0.01, 1 + (40 + i) * MSS, tsval=5000 + int(t), **more) for i, t in enumerate(made_ms)
    ]


def both(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort rows by time."""
    return sorted([*a, *b], key=lambda row: row["t_ns"])


def test_fires_and_measures_the_hold() -> None:
    held = [400.0 + 10 * i for i in range(15)]
    found, undecided = run(CODE, trace(segments=both(steady(), burst(*held))))
    assert not undecided
    (finding,) = found
    assert finding.values["held_acks_count"] == 15
    assert finding.cost_s == pytest.approx(0.200, abs=0.002)
    assert finding.t_end_ns == 600 * MS
    assert finding.direction == "a2b"
    assert "15 ACKs" in finding.sentence


@pytest.mark.parametrize(
    "made_ms",
    [
        pytest.param([600.0] * 15, id="silent receiver"),
        pytest.param([599.0 + i * 0.1 for i in range(15)], id="lost ACKs: the first to come is new"),
        pytest.param([400.0] * 15, id="made at one moment"),
        pytest.param([400.0, 500.0], id="two are no burst"),
        pytest.param([590.0], id="a delayed ACK"),
        pytest.param([500.0, 505.0, 510.0], id="made over 9 ms or 11: a tick of doubt at each end"),
    ],
)
def test_no_finding_for_look_alikes(made_ms: list[float]) -> None:
    assert run(CODE, trace(segments=both(steady(), burst(*made_ms)))) == ([], [])


def test_an_ack_that_takes_as_long_as_before_is_not_held() -> None:
    # Two were held. The third came 3 ms after them, 2 ms late: it would have come after them anyway.
    third = [ack(102, 603, 1 + 42 * MSS, tsval=5601)]
    assert run(CODE, trace(segments=both(steady(), burst(500.0, 550.0) + third))) == ([], [])


def test_without_timestamps_undecided() -> None:
    rows = [{**row, "tsval": None, "srtt_ns": 20 * MS} for row in both(steady(), burst(*[0.0] * 15))]
    found, undecided = run(CODE, trace(flows(timestamps_agreed=False), segments=rows))
    assert not found
    assert [u.count for u in undecided] == [1]


def test_without_timestamps_a_jump_means_lost_acks() -> None:
    rows = [{**row, "tsval": None, "srtt_ns": 20 * MS} for row in steady()]
    rows += [ack(100 + i, 600 + i * 0.01, 1 + (60 + i) * MSS, tsval=None, srtt_ns=20 * MS) for i in range(15)]
    assert run(CODE, trace(segments=both(rows, []))) == ([], [])


def test_at_the_receiver_undecided() -> None:
    rows = [{**flows()[0], "tap": "near_receiver"}, {**flows()[1], **B, "tap": "near_sender"}]
    found, undecided = run(CODE, trace(rows))
    assert not found
    assert "at the receiver" in undecided[0].sentence


@kernel.needed
@pytest.mark.parametrize("name", ["ackhold120", "ackhold400_frto2_ts1", "ackhold1000_tlp"])
def test_holds_in_kernel_captures(name: str) -> None:
    true = kernel.truth(name)["emulator"]["b2a"]["held"]
    found = kernel.of(kernel.found(name), CODE)
    begin = kernel.offset_s(name)
    assert len(found) == len(true)
    for finding, held in zip(found, true, strict=True):
        assert finding.t_end_ns / 1e9 == pytest.approx(held["release"] + begin, abs=0.005)
        assert finding.cost_s == pytest.approx(held["release"] - held["first_in"], abs=0.02)
        assert finding.values["held_acks_count"] == pytest.approx(held["packets"], abs=1)


@kernel.needed
@pytest.mark.parametrize("name", ["ackhold400_frto0_ts0", "ackhold1000_newreno", "mixed_newreno", "ipv6_ackhold"])
def test_kernel_captures_without_timestamps(name: str) -> None:
    states = {s.code: s for s in kernel.found(name).states}
    assert states[CODE].state == "undecided"
    assert states[CODE].undecided == len(kernel.truth(name)["emulator"]["b2a"]["held"])


@kernel.needed
@pytest.mark.parametrize(
    "name",
    [
        "blackout3", "blackout_ack3", "blackout_data10", "ackloss30_cubic", "delack_initcwnd1", "zerowin", "slowread",
        "applimited", "bloat100", "reorder1", "rnd10_newreno", "buf7_newreno", "burst_newreno", "tail3_newreno",
        "win4k",
    ],
)  # fmt: skip
def test_no_finding_in_other_kernel_captures(name: str) -> None:
    states = {s.code: s for s in kernel.found(name).states}
    assert states[CODE].state == "fine"


@pytest.mark.parametrize(
    ("name", "taps", "kept_by", "says"),
    [
        ("ack_holding_over_usb", (), "adapter", "by the adapter: it was on the air at"),
        (
            "ack_holding_over_usb",
            ("sender", "air"),
            "adapter_or_driver",
            "by the adapter or its driver: it was on the air at",
        ),
        ("ack_holding_over_usb", ("sender", "receiver"), "path", "on the path: it left the receiver at"),
        ("ack_holding", (), "adapter_or_driver", "by the adapter or its driver"),
    ],
)
def test_other_captures_show_the_place(
    tmp_path: Path, name: str, taps: tuple[str, ...], kept_by: str, says: str
) -> None:
    found = said(tmp_path, name, CODE, *taps)
    assert found
    assert {f.values["kept_by"] for f in found} == {kept_by}
    assert all(says in f.sentence for f in found)


@pytest.mark.parametrize(
    ("taps", "found_count"), [(("sender",), 0), (("sender", "air"), 3), (("sender", "receiver"), 3), ((), 3)]
)
def test_without_timestamps_another_capture_decides(tmp_path: Path, taps: tuple[str, ...], found_count: int) -> None:
    run = simulate("ack_holding", tmp_path, seed=1, timestamps=False)
    found = wl.detect(aligned(run, *taps), only=[CODE])
    assert (len(found), sum(u.count for u in found.undecided)) == (found_count, 3 - found_count)
    truth = [f for f in run.truth if f.code == CODE]
    assert all(f.confidence == MAY_BE_MISSED for f in truth)
    result = wl.score(found, truth).get(CODE, Score(CODE))
    assert (result.truth, result.found, result.right) == (found_count,) * 3
    assert all(f.values["held_s"] == pytest.approx(0.4, abs=0.005) for f in found)


def test_without_timestamps_a_capture_at_the_receiver_shows_a_silent_receiver(tmp_path: Path) -> None:
    world = find("silent_receiver").kind().world()
    flows = tuple(replace(flow, tcp=replace(flow.tcp or Tcp(), timestamps=False)) for flow in world.flows)
    run = simulate(given(replace(world, flows=flows), 30.0), tmp_path)
    for taps, open_ in (("sender",), True), (("sender", "receiver"), False):
        found = wl.detect(aligned(run, *taps), only=[CODE])
        assert not len(found)
        assert any("silence" in u.sentence for u in found.undecided) == open_


@pytest.mark.parametrize(("seed", "kept_by"), [(11, {"air"}), (2, {"queue"})])
def test_held_by_retries_on_the_air(tmp_path: Path, seed: int, kept_by: set[str]) -> None:
    """A slow link: an ACK's first transmission failed and the second waited for data at 2 Mb/s; another one waited behind an
    ACK that was retransmitted although it had arrived."""
    found = said(tmp_path, "weak_link", CODE, seed=seed)
    assert found
    assert {f.values["kept_by"] for f in found} == kept_by
    says = "the one that arrived" if kept_by == {"air"} else "in a queue in the receiver's adapter"
    assert all(says in f.sentence for f in found)


def test_held_in_a_queue_before_the_air(tmp_path: Path) -> None:
    """The access point sends nothing for a while, and ACKs for the station wait there."""
    laptop = Station(node=0)
    stalled = Station(node=2, access_point=True, stalls_s=((2.0, 0.15, 2.0),))
    world = World(
        nodes=(Node("laptop"), Node("server"), Node("access point")),
        cell=Cell((laptop, stalled)),
        wires=(Wire(2, 1),),
        flows=(Flow(0, 1, bulk(), tcp=Tcp()),),
    )
    for taps, says in (
        ((), "in a queue at the access point: it left the receiver at"),
        (("sender", "air"), "it was transmitted only at"),
    ):
        found = said(tmp_path, given(world), CODE, *taps)
        assert found
        assert {f.values["kept_by"] for f in found} == {"queue"}
        assert all(says in f.sentence for f in found)
