from __future__ import annotations

from dataclasses import dataclass

from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Cell, Flow, Node, Station, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("both_directions")
@dataclass(frozen=True, kw_only=True)
class BothDirections(Scenario):
    """Some stations send to an access point while others receive from it; they share the channel.

    Each upload contends on its own, while all downloads and all ACKs of uploads share one queue at the access
    point. While that queue holds every window, all flows have the same rate. 802.11b at 11 Mb/s, no RTS.
    """

    uploads: int = quantity(2, "Stations that send.", least=0, most=100)
    downloads: int = quantity(2, "Stations that receive.", least=0, most=100)
    receive_window_bytes: int = quantity(32_768, "The receivers' buffers.", least=1448, most=1 << 30)
    queue_packets: int = quantity(100, "Queue length at the access point, packets.", least=1, most=100_000)

    def world(self) -> World:
        count = max(1, self.uploads + self.downloads)
        nodes = (Node("access point", self.queue_packets), *(Node(f"station {n}") for n in range(1, count + 1)))
        stations = tuple(Station(node=n, access_point=n == 0) for n in range(count + 1))
        tcp = Tcp(receive_window_bytes=self.receive_window_bytes)
        flows = tuple(
            Flow(n, 0, bulk(), tcp=tcp) if n <= self.uploads else Flow(0, n, bulk(), tcp=tcp)
            for n in range(1, self.uploads + self.downloads + 1)
        )
        ends = (flows[0].client, flows[0].server) if flows else (0, 1)
        return World(nodes=nodes, cell=Cell(stations), flows=flows, sender=ends[0], receiver=ends[1])
