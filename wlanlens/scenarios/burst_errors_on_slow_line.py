from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._slow_line import SlowLineWorld
from wlanlens.simulation.config import World
from wlanlens.simulation.scenario import quantity, scenario


@scenario("burst_errors_on_slow_line")
@dataclass(frozen=True, kw_only=True)
class BurstErrorsOnSlowLine(SlowLineWorld):
    """A slow line loses a share of all packets for a while, each way; the timer's backoff outlasts it.

    The Seawind study's burst of errors, on the clock of time: at a fifth hardly any data goes through.
    """

    from_s: float = quantity(40.0, "When the burst begins, s.", least=0.0, most=1e6)
    lasts_s: float = quantity(30.0, "For how long, s.", least=0.0, most=1e6)
    loss_share: float = quantity(0.2, "Chance that the line loses a packet then.", least=0.0, most=1.0)
    every_s: float = quantity(0.0, "From one burst to the next, s; 0 for one only.", least=0.0, most=1e6)

    def world(self) -> World:
        return self.over(self.line(bursts_s=((self.from_s, self.lasts_s, self.loss_share, self.every_s),)))
