"""The USB study's setup: a laptop with a USB adapter, an access point, a host on the LAN behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Cell, Flow, Node, Station, Tcp, Usb, Wire, World
from wlanlens.simulation.rate_control import RATES_MBPS, fixed
from wlanlens.simulation.scenario import Scenario, quantity


@dataclass(frozen=True, kw_only=True)
class UsbScenario(Scenario):
    """A bulk transfer from the laptop to the host; subclasses change the bus, the air or the application."""

    depth_first: bool = quantity(
        False, "Depth first: the host controller completes one list before the next; else breadth first."
    )
    reclamation: bool = quantity(True, "Full-speed bandwidth reclamation (FSBR): each frame is used to its end.")
    queued: bool = quantity(False, "The driver submits packets before earlier ones are complete: four at a time.")
    rate_mbps: float = quantity(
        11.0, "802.11b or 802.11g rate of both stations, Mb/s.", least=1.0, most=54.0, among=RATES_MBPS
    )
    buffer_frames: int = quantity(8, "Frames in the adapter's buffer towards the air.", least=1, most=50)
    receive_window_bytes: int = quantity(24_576, "The receiver's buffer.", least=1448, most=1 << 30)

    def adapter(self) -> Usb:
        """The adapter and its bus."""
        return Usb(
            depth_first=self.depth_first,
            reclamation=self.reclamation,
            urbs_out=4 if self.queued else 1,
            buffer_frames=self.buffer_frames,
        )

    def laptop(self) -> Node:
        """The sending host."""
        return Node("laptop")

    def application(self) -> Mapping[str, Any]:
        """What the laptop sends."""
        return bulk()

    def tcp(self) -> Tcp:
        """Both ends of the connection."""
        return Tcp(receive_window_bytes=self.receive_window_bytes)

    def world(self) -> World:
        station = Station(node=0, rate_control=fixed(self.rate_mbps))
        return World(
            nodes=(self.laptop(), Node("server"), Node("access point")),
            cell=Cell((replace(station, usb=self.adapter()), replace(station, node=2, access_point=True))),
            wires=(Wire(2, 1),),
            flows=(Flow(0, 1, self.application(), tcp=self.tcp()),),
        )
