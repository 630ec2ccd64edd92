from __future__ import annotations

from dataclasses import dataclass

from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Cell, Flow, Node, Station, Tcp, World
from wlanlens.simulation.rate_control import fixed
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("crowded_channel")
@dataclass(frozen=True, kw_only=True)
class CrowdedChannel(Scenario):
    """Many access points send their beacons at the lowest rate on one channel, and an upload has the time between them.

    Each sends a beacon of 100 bytes every 102.4 ms: at 1 Mb/s 1 % of the time.
    """

    shows = ("airtime_overhead",)
    # Not drawn: a further scenario would change the world of every number.
    scripted = True

    access_points: int = quantity(30, "Access points on the channel.", least=1, most=60)
    beacon_mbps: float = quantity(1.0, "Rate of the beacons, Mb/s.", least=1.0, most=11.0, among=(1.0, 2.0, 5.5, 11.0))

    def world(self) -> World:
        others = range(2, self.access_points + 1)
        beacons = [Station(node=n, access_point=True, rate_control=fixed(self.beacon_mbps)) for n in others]
        return World(
            nodes=(Node("sender"), Node("receiver"), *(Node(f"other {n}") for n in others)),
            cell=Cell((Station(node=0), Station(node=1, access_point=True), *beacons)),
            flows=(Flow(0, 1, bulk(), tcp=Tcp()),),
        )
