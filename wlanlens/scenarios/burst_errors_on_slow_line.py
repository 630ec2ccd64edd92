from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._slow_line import SlowLineWorld
from wlanlens.simulation.config import World
from wlanlens.simulation.scenario import quantity, scenario


@scenario("burst_errors_on_slow_line")
@dataclass(frozen=True, kw_only=True)
class BurstErrorsOnSlowLine(SlowLineWorld):
    """A slow link loses a share of all packets for some time, each way; RTO backoff lasts longer than the errors.

    The Seawind study's error burst, by time: at a loss rate of 20 % hardly any data passes.
    """

    from_s: float = quantity(40.0, "When the burst begins, s.", least=0.0, most=1e6)
    lasts_s: float = quantity(30.0, "For how long, s.", least=0.0, most=1e6)
    loss_share: float = quantity(0.2, "Packet loss rate of the link during that time.", least=0.0, most=1.0)
    every_s: float = quantity(0.0, "Period of the bursts, s; 0: one burst only.", least=0.0, most=1e6)

    def world(self) -> World:
        return self.over(self.line(bursts_s=((self.from_s, self.lasts_s, self.loss_share, self.every_s),)))
