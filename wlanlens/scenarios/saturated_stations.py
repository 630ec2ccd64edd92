from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios import _reserved
from wlanlens.simulation.applications import udp
from wlanlens.simulation.config import Flow, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("saturated_stations")
@dataclass(frozen=True, kw_only=True)
class SaturatedStations(Scenario):
    """Saturated stations send datagrams to one access point: collisions as in Bianchi's model.

    Each station is offered 1.5 times its share of the channel, so its queue never empties.
    """

    stations: int = quantity(5, "Stations that send.", least=1, most=200)
    payload_bytes: int = quantity(1000, "Payload of a datagram.", least=50, most=2000)
    reserved: bool = quantity(True, "RTS and CTS before every datagram.")
    offered_mbps: float = quantity(9.0, "Offered payload of all stations together, Mb/s.", least=1e-3, most=100.0)

    def world(self) -> World:
        nodes, cell = _reserved.cell(self.stations, rts_threshold_bytes=0 if self.reserved else 3000)
        rate = 1e6 * self.offered_mbps / self.stations
        flows = tuple(
            Flow(n, 0, udp(rate, self.payload_bytes), tcp=None, start_s=0.001 * n) for n in range(1, self.stations + 1)
        )
        return _reserved.world(nodes, cell, flows)
