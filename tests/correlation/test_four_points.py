"""All four capture points of one transfer: host, bus, air, host."""

from __future__ import annotations

from pathlib import Path

import pytest

import wlanlens as wl
from tests.alignment.simulated import clocked
from wlanlens.simulation.config import TapClock
from wlanlens.simulation.simulate import simulate

CLOCKS = {
    "sender": TapClock(),
    "usb": TapClock(offset_ns=123_000_000, drift_ppm=5.0),
    "air": TapClock(offset_ns=-5_000_000_000, drift_ppm=-20.0),
    "receiver": TapClock(offset_ns=77, drift_ppm=11.0),
}


@pytest.mark.parametrize("name", ["clean_usb_link", "slow_bus"])
def test_a_packet_at_all_four_points(tmp_path: Path, name: str) -> None:
    run = simulate(clocked(name, CLOCKS, duration_s=10.0), tmp_path, seed=1)
    trace = wl.align(list(run.captures.values()))
    assert [c.point for c in trace.captures] == ["sender", "usb", "air", "receiver"]
    for clock_map, clock in zip(trace.clocks[1:], list(CLOCKS.values())[1:], strict=True):
        piece = clock_map.pieces[0]
        true_ns = (piece.at_ns - 10**18 - clock.offset_ns) / (1 + clock.drift_ppm * 1e-6)
        assert piece.bound_ns is not None
        assert abs(piece.offset_ns + clock.offset_ns + true_ns * clock.drift_ppm * 1e-6) <= piece.bound_ns
    links = trace.table("links").to_pandas()
    assert links.copy_safe.all()
    whole = links[links.captures_seen == 4]
    assert len(whole) > 0.98 * len(links) > 200
    packets = trace.table("packets").to_pandas().set_index(["capture", "packet"])
    ids = [
        packets.ip_id.loc[[(f"{point}.pcap", n) for n in whole[f"{point}_packet"].astype(int)]].to_numpy()
        for point in CLOCKS
    ]
    assert all((other == ids[0]).all() for other in ids[1:])
    # Times are in the order of the path, within the clocks' bounds.
    slack = sum(m.pieces[0].bound_ns or 0 for m in trace.clocks[1:])
    data = whole[whole.direction == "a2b"]
    for earlier, later in (("sender", "usb"), ("usb", "air"), ("air", "receiver")):
        assert (data[f"{later}_t_ns"] - data[f"{earlier}_t_ns"] > -slack).mean() > 0.99
