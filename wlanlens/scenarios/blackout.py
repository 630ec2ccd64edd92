from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._line import line
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, repeated, scenario


@scenario("blackout")
@dataclass(frozen=True, kw_only=True)
class Blackout(Scenario):
    """Nothing passes for two seconds at intervals: the timer doubles, and still runs long after the link is back.

    The cause of the idle-time study on a wired link; ordinary losses between the blackouts.
    """

    shows = ("idle_backoff",)

    duration_s: float = quantity(30.0, "Simulated time, s.", least=1e-3, most=1e6)
    first_s: float = quantity(3.0, "When first, s.", least=0.0, most=1e6)
    dead_s: float = quantity(2.0, "For how long, s.", least=0.0, most=1e4)
    every_s: float = quantity(10.0, "From one to the next, s.", least=1e-3, most=1e6)
    loss_rate: float = quantity(0.001, "Packet loss rate, each way, at all times.", least=0.0, most=1.0)
    rto: str = quantity("linux", "The retransmission timer.", among=("linux", "linux22", "linux24", "rfc6298"))

    def world(self) -> World:
        spans = tuple((start, self.dead_s) for start in repeated(self, self.first_s, self.every_s))
        return line(Flow(0, 1, bulk(), tcp=Tcp(rto=self.rto)), blackouts_s=spans, loss_rate=self.loss_rate)
