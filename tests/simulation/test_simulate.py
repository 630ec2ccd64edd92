"""Simulated worlds: the same bytes for the same seed, captures that tshark reads, truth that the detectors find."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import wlanlens as wl
from wlanlens.errors import NoSuchUnit, WlanlensError
from wlanlens.registry import units
from wlanlens.simulation.scenario import ScenarioKind, find

NAMES = sorted(units("scenarios"))


def digest(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        wl.simulate("clean_link", tmp_path / name, seed=5, duration_s=1.0)
    wl.simulate("slow_line", tmp_path / "between", seed=5, duration_s=5.0)
    wl.simulate("clean_link", tmp_path / "c", seed=6, duration_s=1.0)
    a, b, c = (digest(tmp_path / name) for name in "abc")
    assert a == b
    assert {"sender.pcap", "air.pcap", "receiver.pcap", "truth_packets.parquet", "truth.json"} <= set(a)
    assert a["air.pcap"] != c["air.pcap"]


def test_a_clean_link_goes_at_the_studys_pace(tmp_path: Path) -> None:
    run = wl.simulate("clean_link", tmp_path, duration_s=20.0, taps=("receiver",))
    flows = wl.open(run.captures["receiver"]).table("flows").to_pylist()
    goodput = max(row["goodput_bps"] for row in flows)
    assert 5.0e6 < goodput < 5.3e6
    # Stations that contend tie now and then; nothing else happens.
    assert {(f.code, f.severity) for f in run.truth} <= {("data_ack_collision", "info")}


def test_hosts_on_a_clean_link_have_nothing_to_complain_of(tmp_path: Path) -> None:
    # The air is what limits: neither the window that fills it nor the application.
    run = wl.simulate("clean_link", tmp_path, duration_s=10.0, taps=("sender", "receiver"))
    for path in run.captures.values():
        trace = wl.align([path])
        assert [f.code for f in wl.detect(trace) if f.severity != "info"] == []
    categories = wl.analyze([run.captures["sender"]], out=tmp_path / "out", report=False).totals
    assert categories["path"] > 0.95 * sum(categories.values())


def test_held_acks_are_found_where_they_were_held(tmp_path: Path) -> None:
    run = wl.simulate("ack_holding", tmp_path, duration_s=12.0)
    assert [f.code for f in run.truth if f.code in ("spurious_timeout", "ack_holding")].count("ack_holding") == 4
    trace = wl.align([run.captures["sender"]])
    found = wl.detect(trace)
    held = [f for f in found if f.code == "ack_holding"]
    assert len(held) == 4
    assert wl.score(held, run.truth)["ack_holding"].recall == 1.0
    score = wl.score([f for f in found if f.code == "spurious_timeout"], run.truth)["spurious_timeout"]
    assert (score.recall, score.precision) == (1.0, 1.0)


def test_the_defective_rate_control_thrashes_and_the_healthy_ones_do_not(tmp_path: Path) -> None:
    codes = {}
    worlds = {"defective": ("rate_thrashing", {}), "fixed": ("weak_link", {})}
    worlds |= {kind: ("healthy_rate_probing", {"algorithm": kind}) for kind in ("arf", "aarf", "minstrel")}
    for kind, (name, given) in worlds.items():
        run = wl.simulate(name, tmp_path / kind, duration_s=30.0, taps=("air",), **given)
        codes[kind] = {f.code for f in wl.detect(wl.align([run.captures["air"]])) if f.severity != "info"}
    assert "rate_thrashing" in codes["defective"]
    assert not [kind for kind in codes if kind != "defective" and "rate_thrashing" in codes[kind]]


def test_a_two_state_channel_does_no_harm_and_long_bursts_do() -> None:
    idle = {}
    for two_states in (True, False):
        waits = []
        for seed in range(1, 6):
            run = wl.simulate("bursty_errors", seed=seed, two_states=two_states)
            waits.append(max((f.cost_s for f in run.truth if f.code.endswith("timeout")), default=0.0))
        idle[two_states] = sorted(waits)[2]
    assert idle[True] < 1.0 < idle[False]


def test_errors_name_the_nearest_that_is_valid() -> None:
    with pytest.raises(NoSuchUnit, match="clean_link"):
        wl.simulate("clean_lnk")
    with pytest.raises(WlanlensError, match="rate_mbps"):
        wl.simulate("clean_link", rate_mps=1)
    with pytest.raises(WlanlensError, match="at least 1448"):
        wl.simulate("clean_link", receive_window_bytes=0)
    with pytest.raises(WlanlensError, match="must be a number"):
        wl.simulate("clean_link", duration_s="soon")
    with pytest.raises(WlanlensError, match=r"at least 0\.001"):
        wl.simulate("clean_link", duration_s=-1)
    with pytest.raises(WlanlensError, match="has no tap"):
        wl.simulate("clean_link", taps=("usb",))
    with pytest.raises(WlanlensError, match="vegas"):
        wl.simulate("bursty_errors", rto="vegas")


def test_what_is_written_says_how_it_was_made(tmp_path: Path) -> None:
    wl.simulate("ack_holding", tmp_path, seed=3, duration_s=4.0, hold_s=0.5)
    made = json.loads((tmp_path / "scenario.json").read_text())
    assert (made["scenario"], made["seed"], made["parameters"]["hold_s"]) == ("ack_holding", 3, 0.5)
    again = find(made["scenario"]).make(made["parameters"])
    assert again.world() == find("ack_holding").make({"duration_s": 4.0, "hold_s": 0.5}).world()


def test_every_scenario_is_documented() -> None:
    for name in NAMES:
        kind = units("scenarios")[name]
        assert isinstance(kind, ScenarioKind), name
        assert kind.summary, name
        assert all(f.metadata.get("doc", "").endswith(".") for f in kind.parameters.values()), name


def test_captures_without_the_truth_leave_none_behind(tmp_path: Path) -> None:
    whole = wl.simulate("clean_link", out=tmp_path / "run", duration_s=1.0)
    bytes_ = {point: path.read_bytes() for point, path in whole.captures.items()}
    assert list((tmp_path / "run").glob("truth*"))
    bare = wl.simulate("clean_link", out=tmp_path / "run", duration_s=1.0, truth=False)
    assert {point: path.read_bytes() for point, path in bare.captures.items()} == bytes_
    assert not list((tmp_path / "run").glob("truth*"))
    assert bare.truth == whole.truth
