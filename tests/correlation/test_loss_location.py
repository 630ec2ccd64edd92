"""Where packets were lost, against the simulator's truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import wlanlens as wl
from wlanlens.simulation.simulate import Run, simulate

#: Fate of a packet in the simulation, and the loss location with captures at the hosts and on the air.
PLACE = {"device_queue": "before_air", "router": "before_air", "mac_queue": "before_air", "air": "on_air"}


def aligned(run: Run, *taps: str) -> wl.Trace:
    return wl.align([run.captures[tap] for tap in taps])


def by_data(trace: wl.Trace) -> Any:
    links = trace.table("links").to_pandas()
    return links[(links.direction == "a2b") & (links.payload_bytes > 0)]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("access_point_overflow", {"duration_s": 6.0}),
        ("periodic_access_point_drops", {"duration_s": 12.0}),
        ("no_mac_retransmission", {"duration_s": 8.0}),
    ],
)
def test_the_location_is_the_true_one(tmp_path: Path, name: str, parameters: dict[str, Any]) -> None:
    run = simulate(name, tmp_path, seed=2, **parameters)
    links = by_data(aligned(run, "sender", "air", "receiver"))
    truth = run.facts.packets.to_pandas()
    truth = truth[(truth.direction == "a2b") & (truth.len_bytes > 0) & truth.t_tap_ns.notna()].sort_values(
        ["t_tap_ns", "id"]
    )
    # The sender's capture is complete: its data is that of the truth, in order.
    links = links[links.sender_packet.notna()].sort_values("sender_packet")
    assert len(links) == len(truth)
    wanted = truth.fate.map(PLACE).set_axis(links.index)
    stated = links.loss_location.astype(object)
    decided = stated.notna() & (stated != "unknown")
    assert decided.sum() > 3
    assert (wanted[decided] == stated[decided]).mean() > 0.99
    assert (stated[wanted.notna()] == wanted[wanted.notna()]).mean() > 0.95


def test_the_order_of_the_captures_does_not_matter(tmp_path: Path) -> None:
    """A damaged frame in the first capture is assigned to the packet of a later capture."""
    run = simulate("access_point_overflow", tmp_path, seed=1, duration_s=5.0)
    one, other = (
        by_data(aligned(run, *taps)) for taps in (("sender", "air", "receiver"), ("air", "receiver", "sender"))
    )
    for column in ("arrival", "loss_location", "captures_seen"):
        assert one[column].value_counts().to_dict() == other[column].value_counts().to_dict()
    assert one.sender_packet.notna().all()


def test_a_sniffer_that_missed_neighbours_decides_no_location(tmp_path: Path) -> None:
    """With most frames missed around the losses, their location is unknown."""
    from tests.alignment.simulated import clocked
    from wlanlens.simulation.config import TapClock

    made = clocked("access_point_overflow", {"air": TapClock(missed_share=0.6)}, duration_s=6.0)
    links = by_data(aligned(simulate(made, tmp_path, seed=1), "sender", "air", "receiver"))
    lost = links[links.arrival == "not_seen"].loss_location.astype(object)
    assert (lost == "unknown").mean() > 0.9


def test_hosts_are_the_ends_of_a_path_whatever_the_clocks_say(tmp_path: Path) -> None:
    """With timestamps of 4 ms, the receiver seems to be before the air."""
    from wlanlens.simulation.config import TapClock

    run = simulate("delayed_ack_deadlock", tmp_path, seed=11, clocks={"receiver": TapClock(tick_ns=4_000_000)})
    links = by_data(aligned(run, "sender", "air", "receiver"))
    both = links[links.arrival == "arrived"]
    assert (both.receiver_t_ns < both.air_t_ns).mean() > 0.9
    lost = links[links.arrival == "not_seen"].loss_location.astype(object)
    assert len(lost) > 300
    assert (lost == "on_air").all()


def test_missed_packets_are_not_lost(tmp_path: Path) -> None:
    """Data that was acknowledged and sent once has arrived, although the receiver's capture does not have it."""
    from wlanlens.simulation.config import TapClock

    run = simulate("lost_acks", tmp_path, seed=1, duration_s=8.0, clocks={"receiver": TapClock(missed_share=0.02)})
    links = by_data(aligned(run, "sender", "receiver")).sort_values("sender_packet")
    truth = run.facts.packets.to_pandas()
    truth = truth[(truth.direction == "a2b") & (truth.len_bytes > 0)].sort_values(["t_tap_ns", "id"])
    assert len(links) == len(truth)
    missed = (links.arrival == "not_seen").to_numpy() & (truth.fate == "delivered").to_numpy()
    assert missed.sum() > 20
    assert (links.loss_location[missed] == "unknown").all()


@pytest.mark.parametrize("name", ["access_point_overflow", "no_mac_retransmission"])
def test_locations_agree_with_outcomes(tmp_path: Path, name: str) -> None:
    from wlanlens.simulation.config import TapClock

    clocks = {tap: TapClock(missed_share=0.02) for tap in ("air", "receiver")}
    trace = aligned(simulate(name, tmp_path, seed=3, duration_s=6.0, clocks=clocks), "sender", "air", "receiver")
    links = trace.table("links").to_pandas()
    lost = links.loss_location.astype(object)
    assert (lost.notna() == (links.arrival == "not_seen")).all()
    assert (links.air_outcome[lost == "before_air"] == "lost_before").all()
    assert (links.receiver_outcome[lost.isin(["on_air", "after_air"])] == "lost_before").all()
    assert lost.isin(["before_air", "on_air"]).sum() > 5
