from __future__ import annotations

from dataclasses import dataclass, replace

from wlanlens.scenarios._pair import alike, pair
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, Holds, Node, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("silent_receiver")
@dataclass(frozen=True, kw_only=True)
class SilentReceiver(Scenario):
    """The receiver's adapter holds the data: its host is silent, then acknowledges all of it at once.

    The look-alike of ACK holding: the same silence and burst at the sender, but the ACKs were sent at the end of it.
    """

    shows = ("spurious_timeout",)
    resembles = ("ack_holding", "ack_loss")

    duration_s: float = quantity(20.0, "Simulated time, s.", least=1e-3, most=1e6)
    mean_gap_s: float = quantity(3.0, "Mean gap between silences, s.", least=1e-3, most=1e4)
    shortest_s: float = quantity(0.3, "Shortest silence, s.", least=0.0, most=100.0)
    longest_s: float = quantity(0.6, "Longest, s; the shortest if that is longer.", least=0.0, most=100.0)

    def world(self) -> World:
        world = pair(alike(), Flow(0, 1, bulk(), tcp=Tcp(frto=False)))
        holds = Holds(self.mean_gap_s, self.shortest_s, max(self.shortest_s, self.longest_s))
        return replace(world, nodes=(world.nodes[0], Node("receiver", holds=holds)))
