from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios import _reserved
from wlanlens.simulation.applications import udp
from wlanlens.simulation.config import Flow, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("saturated_stations")
@dataclass(frozen=True, kw_only=True)
class SaturatedStations(Scenario):
    """Stations that always have a datagram to send contend for one access point: collisions as Bianchi's model has them.

    Each is offered half as much again as its share of the air, so that its queue never empties.
    """

    stations: int = quantity(5, "Stations that send.", least=1, most=200)
    payload_bytes: int = quantity(1000, "Payload of a datagram.", least=50, most=2000)
    reserved: bool = quantity(True, "RTS and CTS before every datagram.")
    offered_mbps: float = quantity(9.0, "Payload that all together are given to send, Mb/s.", least=1e-3, most=100.0)

    def world(self) -> World:
        nodes, cell = _reserved.cell(self.stations, rts_threshold_bytes=0 if self.reserved else 3000)
        rate = 1e6 * self.offered_mbps / self.stations
        flows = tuple(
            Flow(n, 0, udp(rate, self.payload_bytes), tcp=None, start_s=0.001 * n) for n in range(1, self.stations + 1)
        )
        return _reserved.world(nodes, cell, flows)
