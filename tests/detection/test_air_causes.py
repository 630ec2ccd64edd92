"""Causes on the air: a fade explains the losses of the connection that it met, and the story tells both once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import wlanlens as wl
from wlanlens.detection.finding import STATIONS, Finding
from wlanlens.detection.root_cause import with_causes
from wlanlens.detection.story import stories
from wlanlens.simulation.applications import file
from wlanlens.simulation.config import Cell, Flow, Node, RadioPath, Station, Tcp, Usb, Wire, World
from wlanlens.simulation.rate_control import fixed
from wlanlens.simulation.simulate import simulate
from wlanlens.validation.counterfactual_worlds import GivenWorld

S = 10**9
PAIR = "station a > b"


def world(fades_s: tuple[tuple[float, float, float, float], ...], lose_data: tuple[int, ...] = ()) -> World:
    """An upload over a USB adapter and an access point; `lose_data`: packets lost on the wire behind it."""
    station = Station(node=0, rate_control=fixed(11.0), usb=Usb(urbs_out=4), signal_dbm=-65.0, fades_s=fades_s)
    paths = (RadioPath(0, 1, snr_db=30.0), RadioPath(1, 0, snr_db=30.0))
    return World(
        nodes=(Node("laptop", queue_packets=4000), Node("server"), Node("access point")),
        cell=Cell(
            (station, Station(node=2, access_point=True, rate_control=fixed(11.0), signal_dbm=-65.0)), paths=paths
        ),
        wires=(Wire(2, 1, lose_data=lose_data),),
        flows=(Flow(0, 1, file(4_000_000), tcp=Tcp()),),
    )


def analysed(made: World, place: Path) -> wl.Analysis:
    run = simulate(GivenWorld(given=made, duration_s=60.0), place, seed=5)
    assert list(run.captures) == ["sender", "usb", "air", "receiver"]
    return wl.analyze(list(run.captures.values()), out=place / "out", report=False)


def test_a_fade_is_the_root_of_the_losses_in_it(tmp_path: Path) -> None:
    found = analysed(world(((2.0, 1.0, 40.0, 0.0),)), tmp_path)
    (losses,) = (f for f in found.findings if f.code == "packet_loss")
    assert losses.caused_by == "signal_fade"
    (fade, *_) = (f for f in found.findings if f.code == "signal_fade")
    assert losses.values[STATIONS] == fade.subject
    (story,) = (s for s in stories(found.findings) if "packet_loss" in {step.code for step in s.steps})
    assert story.root == "signal_fade"
    assert story.flow == losses.flow
    costs: dict[str, float] = {}
    for number in story.findings:
        f = found.findings[number - 1]
        costs[f.code] = costs.get(f.code, 0.0) + f.cost_s
    assert story.cost_s == pytest.approx(max(costs.values()))
    assert sum(s.root == "signal_fade" for s in stories(found.findings)) == 1


def test_losses_on_the_wire_are_not_the_airs(tmp_path: Path) -> None:
    found = analysed(world(((3.0, 1.0, 40.0, 0.0),), lose_data=tuple(range(100, 1500, 40))), tmp_path)
    losses = [f for f in found.findings if f.code == "packet_loss"]
    assert losses
    assert not any(STATIONS in f.values or f.caused_by == "signal_fade" for f in losses)
    assert any(f.code == "signal_fade" for f in found.findings)


def test_a_cause_of_the_connection_comes_before_the_air() -> None:
    span = (1 * S, 2 * S, "c", "a > b", "serious", 0.9, 1.0)
    of_flow = {"flow": 0, "direction": "a2b"}
    late = Finding("spurious_timeout", *span, values={STATIONS: PAIR, "other": 1}, caused_by="burst_loss", **of_flow)  # type: ignore[arg-type]
    held = Finding("ack_holding", *span, **of_flow)  # type: ignore[arg-type]
    linked, _ = with_causes([late, held])
    assert (linked.caused_by, linked.values) == ("ack_holding", {"other": 1})
    (alone,) = with_causes([late])
    assert (alone.caused_by, alone.values[STATIONS]) == ("burst_loss", PAIR)


def test_two_connections_share_a_cause_that_is_told_once() -> None:
    fade = Finding("signal_fade", S, 2 * S, "c", PAIR, "serious", 0.9, 1.0, saved_s=0.9)
    loss = Finding(
        "packet_loss", S, 3 * S, "c", "x > y", "serious", 0.9, 2.0, flow=0, direction="a2b",
        caused_by="signal_fade", values={STATIONS: PAIR},
    )  # fmt: skip
    less = replace(loss, flow=1, cost_s=1.0)
    told = stories([loss, less, fade])
    assert [(s.root, s.flow, s.findings) for s in told] == [("signal_fade", 0, (1, 3)), ("packet_loss", 1, (2,))]
    assert told[0].saved_s == pytest.approx(0.9)
