"""Random worlds: the same everywhere, within the ranges of their parameters, and simulated without failure.

`python -m tests.simulation.many_worlds 1000` simulates as many as there is time for.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

import pytest

import wlanlens as wl
from tests.simulation.many_worlds import made
from wlanlens.registry import units
from wlanlens.simulation.scenario import find
from wlanlens.validation.random_worlds import PACKETS_MOST, RandomWorld, drawn_scenarios, random_world

#: Worlds for which a test has time.
SEEDS = range(60)


def test_a_number_is_a_world() -> None:
    for seed in SEEDS:
        assert random_world(seed) == random_world(seed)
    worlds = [random_world(seed) for seed in range(500)]
    assert len({world.drawn for world in worlds}) == len(worlds)
    assert {world.base.name for world in worlds} == set(drawn_scenarios())


def test_scripted_scenarios_take_random_parameters_too() -> None:
    scripted = sorted(set(units("scenarios")) - set(drawn_scenarios()))
    assert scripted
    for seed in range(20):
        assert made(random_world(seed, scenarios=scripted)).truth is not None


def test_draws_span_the_ranges() -> None:
    """Every kind of sender, words and booleans both ways, numbers near their defaults, far from them, and at the ends."""
    worlds = [random_world(seed) for seed in range(1000)]
    senders = [(world.tcp, flow.tcp) for world in worlds for flow in world.world().flows[:1] if flow.tcp is not None]
    tcp = [sender for _, sender in senders]
    for name in ("sack", "timestamps", "frto", "eifel", "tail_loss_probe", "fack", "dsack", "stale_dupacks"):
        share = sum(getattr(t, name) for t in tcp) / len(tcp)
        assert 0.02 < share < 0.9, name
    assert {t.rto for t in tcp} == {"linux", "linux22", "linux22_reset", "linux24", "rfc6298"}
    assert {t.recovery for t in tcp} == {"newreno", "newreno_careless", "reno"}
    for t in [sender for drawn, sender in senders if drawn]:
        assert t.timestamps or not t.eifel
        assert t.sack or not (t.dsack or t.fack or t.tail_loss_probe)
    delays = Counter(round(world.base.delay_s, 3) for world in worlds if world.base.name == "long_path")  # type: ignore[attr-defined]
    assert min(delays) < 0.1 * 0.3 < 0.3 * 3 < max(delays)
    assert delays[0.3] > 1


def test_parameters_are_within_their_ranges() -> None:
    for seed in range(500):
        base = random_world(seed).base
        for f in dataclasses.fields(base):
            value, least, most = getattr(base, f.name), f.metadata["least"], f.metadata["most"]
            assert least is None or least <= value <= most
            assert not f.metadata["among"] or value in f.metadata["among"]


@pytest.mark.parametrize("seed", SEEDS)
def test_it_is_simulated_with_its_truth(seed: int) -> None:
    run = made(random_world(seed))
    assert run.facts.packets.num_rows < 10 * PACKETS_MOST


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        # A cost that overflowed 64 bits: a wait of 10 s times a round trip of 10 s, in nanoseconds.
        ("slow_line", {"mss_bytes": 1460, "rate_bps": 3000.0}),
        ("slow_line", {"mss_bytes": 1460}),
        ("slow_line", {"rate_bps": 3000.0}),
        # More losses than segments.
        ("lost_tail", {"file_bytes": 1, "lost_segments": 3}),
        ("overbuffered_tail_loss", {"file_bytes": 1, "tail_losses": 100}),
        # A shortest hold above the longest.
        ("silent_receiver", {"shortest_s": 1.0, "longest_s": 0.1}),
        ("spurious_retransmissions", {"shortest_s": 1.0, "longest_s": 0.1}),
        ("ack_holding_over_usb", {"shortest_s": 1.0, "longest_s": 0.1}),
    ],
)
def test_worlds_that_failed_once(name: str, parameters: dict[str, Any]) -> None:
    run = wl.simulate(name, **parameters)
    assert all(finding.cost_s >= 0 for finding in run.truth)


@pytest.mark.parametrize("rate_mbps", [1.5, 3.0, 10.0, 22.0, 53.0])
def test_a_rate_that_80211_lacks_is_refused(rate_mbps: float) -> None:
    for name in ("clean_link", "clean_udp", "clean_usb_link"):
        with pytest.raises(wl.WlanlensError, match=r"rate_mbps must be one of 1, 2, 5.5, 6, .*54, not") as error:
            find(name).make({"rate_mbps": rate_mbps})
        assert "the nearest is" in str(error.value.next)
    with pytest.raises(wl.WlanlensError, match=r"rate_mbps must be one of 1, 2, 5.5, not 3"):
        find("stuck_rate").make({"rate_mbps": 3})


@pytest.mark.parametrize("jitter", [{}, {"jitter_share": 0.1, "jitter_s": 0.02}])
def test_lines_reorder_only_with_jitter(jitter: dict[str, float]) -> None:
    base = find("congestion_window").make({"loss_rate": 0.0, "duration_s": 5.0})
    packets = wl.simulate(RandomWorld(seed=1, base=base, jitter=jitter)).facts.packets.to_pandas()
    data = packets[(packets.direction == "a2b") & (packets.fate == "delivered")]
    assert data.t_end_ns.is_monotonic_increasing != bool(jitter)
    assert (packets.fate != "wire").all()
    assert (packets.trigger != "new").any() == bool(jitter)
