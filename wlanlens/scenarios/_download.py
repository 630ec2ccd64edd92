"""The window-size study's network: a server behind an access point, a client at 11 Mb/s, whole segments of 1460 bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Cell, Flow, Node, RadioPath, Station, Tcp, Wire, World
from wlanlens.simulation.scenario import Scenario, quantity

MSS = 1460


@dataclass(frozen=True, kw_only=True)
class DownloadWorld(Scenario):
    """The server sends to the client during the whole run."""

    duration_s: float = quantity(30.0, "Simulated time, s.", least=1e-3, most=1e6)
    window_segments: int = quantity(15, "The client's window, segments.", least=1, most=10_000)
    queue_packets: int = quantity(100, "Queue length at the access point, packets.", least=1, most=100_000)
    queue_frames: int = quantity(2, "Packets of it that are already in the radio.", least=1, most=1000)
    loss_rate: float = quantity(
        0.0, "Probability that a data packet is lost before the access point.", least=0.0, most=1.0
    )
    sack: bool = quantity(True, "Selective acknowledgments.")

    def tcp(self) -> Tcp:
        """Linux of that time: an ACK for two segments, RTO floor 200 ms, no timestamps."""
        return Tcp(
            mss_bytes=MSS,
            receive_window_bytes=self.window_segments * MSS,
            sack=self.sack,
            timestamps=False,
            counts_segments=False,
            limited_transmit=False,
            eifel=False,
            frto=False,
            rto="linux24",
        )

    def cell(self, access_point: dict[str, Any] | None = None, **both: Any) -> Cell:
        """Access point and client; `access_point`: further fields of its station, `both`: errors of both radio paths."""
        stations = (
            Station(node=2, access_point=True, queue_frames=self.queue_frames, **(access_point or {})),
            Station(node=1),
        )
        paths = (RadioPath(0, 1, **both), RadioPath(1, 0, **both)) if both else ()
        return Cell(stations, paths=paths)

    def through(self, cell: Cell, **access_point: Any) -> World:
        """Server, client and access point; `access_point`: further fields of the node."""
        nodes = (
            Node("server"),
            Node("client"),
            Node("access point", queue_packets=self.queue_packets, **access_point),
        )
        line = Wire(0, 2, loss_rate=self.loss_rate, back_loss_rate=0.0)
        return World(nodes=nodes, cell=cell, wires=(line,), flows=(Flow(0, 1, bulk(), tcp=self.tcp()),))

    def world(self) -> World:
        return self.through(self.cell())
