from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios import _reserved
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("many_downloads")
@dataclass(frozen=True, kw_only=True)
class ManyDownloads(Scenario):
    """An access point sends to several stations; one queue feeds all of them, so about two stations contend.

    The feedback-traffic study's section 4.3, with RTS and CTS. `queue_packets` below flows times window loses packets.
    """

    downloads: int = quantity(4, "Stations, each with one flow from the access point.", least=1, most=200)
    uploads: int = quantity(0, "Further stations, each with one flow to the access point.", least=0, most=200)
    delayed_ack_segments: int = quantity(1, "Segments per ACK.", least=1, most=64)
    window_segments: int = quantity(20, "The receivers' windows, segments of 1000 bytes.", least=1, most=10_000)
    delayed_ack_timer_s: float = quantity(0.1, "The receivers' delayed-ACK timer, s.", least=0.0, most=10.0)
    queue_packets: int = quantity(400, "Queue length at the access point, packets.", least=1, most=100_000)

    def world(self) -> World:
        nodes, cell = _reserved.cell(self.downloads + self.uploads, queue_packets=self.queue_packets)
        tcp = _reserved.tcp(
            every=self.delayed_ack_segments, window=self.window_segments, timer_s=self.delayed_ack_timer_s
        )
        down = [Flow(0, n, bulk(), tcp=tcp) for n in range(1, self.downloads + 1)]
        up = [Flow(n, 0, bulk(), tcp=tcp) for n in range(self.downloads + 1, len(nodes))]
        return _reserved.world(nodes, cell, (*down, *up))
