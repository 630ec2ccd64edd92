"""Where packets were lost, against the simulator's truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import wlanlens as wl
from wlanlens.scenario import Run, simulate

#: What became of a packet in the simulation, and where that is between captures at the hosts and on the air.
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
def test_the_place_is_the_true_one(tmp_path: Path, name: str, parameters: dict[str, Any]) -> None:
    run = simulate(name, tmp_path, seed=2, **parameters)
    links = by_data(aligned(run, "sender", "air", "receiver"))
    truth = run.facts.packets.to_pandas()
    truth = truth[(truth.direction == "a2b") & (truth.len_bytes > 0) & truth.t_tap_ns.notna()].sort_values(
        ["t_tap_ns", "id"]
    )
    # The sender's tap missed nothing: its data are the truth's, in order.
    links = links[links.sender_packet.notna()].sort_values("sender_packet")
    assert len(links) == len(truth)
    wanted = truth.fate.map(PLACE).set_axis(links.index)
    said = links.lost.astype(object)
    decided = said.notna() & (said != "unknown")
    assert decided.sum() > 3
    assert (wanted[decided] == said[decided]).mean() > 0.99
    assert (said[wanted.notna()] == wanted[wanted.notna()]).mean() > 0.95


def test_the_order_of_the_captures_does_not_matter(tmp_path: Path) -> None:
    """An attempt that was damaged on the air was no packet where the air's capture came first."""
    run = simulate("access_point_overflow", tmp_path, seed=1, duration_s=5.0)
    one, other = (
        by_data(aligned(run, *taps)) for taps in (("sender", "air", "receiver"), ("air", "receiver", "sender"))
    )
    for column in ("fate", "lost", "seen"):
        assert one[column].value_counts().to_dict() == other[column].value_counts().to_dict()
    assert one.sender_packet.notna().all()


def test_a_sniffer_that_missed_neighbours_decides_nothing(tmp_path: Path) -> None:
    """Without the frames that it heard in the time of the losses nothing tells where these were lost."""
    from tests.alignment.simulated import clocked
    from wlanlens.world import TapClock

    made = clocked("access_point_overflow", {"air": TapClock(missed_share=0.6)}, duration_s=6.0)
    links = by_data(aligned(simulate(made, tmp_path, seed=1), "sender", "air", "receiver"))
    lost = links[links.fate == "not_seen"].lost.astype(object)
    assert (lost == "unknown").mean() > 0.9
