"""The verdict of several captures, and what the air did with the copies before TCP's retransmissions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import wlanlens as wl
from wlanlens.scenarios._download import DownloadWorld
from wlanlens.simulation.simulate import simulate


def analysed(folder: Path, name: str, **parameters: float) -> wl.Analysis:
    run = simulate(name, folder / "in", seed=1, **parameters)
    return wl.analyze(list(run.captures.values()), out=folder / "out", report=False)


@pytest.mark.parametrize(
    ("name", "duration_s", "says"),
    [
        (
            "ack_holding_over_usb",
            10.0,
            "5 retransmission timeouts, all spurious (4 because ACKs were held by the adapter)",
        ),
        ("lost_acks", 8.0, "all because only ACKs were lost"),
        ("obstructed_client", 20.0, "because only ACKs were lost on the air"),
        ("slow_bus", 3.0, "on the USB bus"),
        ("weak_link", 10.0, "on 802.11 retries"),
    ],
)
def test_it_names_the_place(tmp_path: Path, name: str, duration_s: float, says: str) -> None:
    sentence = analysed(tmp_path, name, duration_s=duration_s).verdict.sentence
    assert says in sentence
    assert "lost ACKs stopped" not in sentence or "only ACKs" not in sentence


def test_it_names_a_full_access_point_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A modern sender counts segments, so its window overshoots the queue by more."""
    tcp = DownloadWorld.tcp
    monkeypatch.setattr(DownloadWorld, "tcp", lambda world: replace(tcp(world), counts_segments=True))
    sentence = analysed(tmp_path, "access_point_overflow", duration_s=5.0).verdict.sentence
    assert "the access point's queue overflowed" in sentence


def test_what_the_air_did_with_the_copy_before(tmp_path: Path) -> None:
    """Packet numbers differ between the sender's capture and the sniffer's."""
    tcp = analysed(tmp_path, "access_point_overflow", duration_s=5.0).air.tcp
    assert tcp["unseen"] > 10
    assert tcp["unseen"] == sum(tcp.values())
    tcp = analysed(tmp_path / "b", "ack_holding", duration_s=8.0).air.tcp
    assert tcp["delivered"] > 0
    assert tcp["delivered"] == sum(tcp.values())
    tcp = analysed(tmp_path / "c", "no_mac_retransmission", duration_s=4.0).air.tcp
    assert tcp["dropped"] > 20
    assert tcp["dropped"] >= 0.95 * sum(tcp.values())
