from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._pair import alike, pair
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Bursts, Flow, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("burst_loss")
@dataclass(frozen=True, kw_only=True)
class BurstLoss(Scenario):
    """Frames fail in bursts, so retries fail too and packets are lost.

    Gilbert's channel, by frames or by time, both ways; a modern TCP.
    """

    shows = ("burst_loss",)

    frame_error_rate: float = quantity(0.1, "Share of bad frames, or of bad time.", least=1e-6, most=0.9)
    mean_burst: float = quantity(3.0, "Mean burst length: frames or ms.", least=1.0, most=1e6)
    clock: str = quantity("frames", "Clock of the channel state: frames or time.", among=("frames", "time"))

    def world(self) -> World:
        gap = self.mean_burst * (1 - self.frame_error_rate) / self.frame_error_rate
        unit = 1.0 if self.clock == "frames" else 1e-3
        bursts = Bursts(gap * unit, self.mean_burst * unit, clock=self.clock)
        return pair(alike(), Flow(0, 1, bulk(), tcp=Tcp()), both={"bursts": 0}, bursts=(bursts,))
