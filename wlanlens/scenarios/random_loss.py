from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._pair import alike, pair
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("random_loss")
@dataclass(frozen=True, kw_only=True)
class RandomLoss(Scenario):
    """One frame in five fails independently, with four transmissions per frame: packets are lost without bursts.

    The look-alike of burst loss, fades and periodic losses.
    """

    resembles = ("burst_loss", "signal_fade", "periodic_loss")

    frame_error_rate: float = quantity(0.2, "Share of bad frames, MAC ACKs included.", least=0.0, most=0.9)
    retry_limit: int = quantity(4, "Attempts of a frame.", least=1, most=255)

    def world(self) -> World:
        stations = alike(short_retry_limit=self.retry_limit)
        return pair(stations, Flow(0, 1, bulk(), tcp=Tcp()), both={"frame_error_rate": self.frame_error_rate})
