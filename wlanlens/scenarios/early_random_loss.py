from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._slow_line import UNLIMITED, SlowLineWorld
from wlanlens.simulation.config import World
from wlanlens.simulation.scenario import quantity, scenario


@scenario("early_random_loss")
@dataclass(frozen=True, kw_only=True)
class EarlyRandomLoss(SlowLineWorld):
    """A slow link loses packets at random during slow start, and its buffer never fills.

    The look-alike of start-up overflow; with `lasts_s` as long as the transfer, losses continue to its end.
    """

    resembles = ("startup_overflow",)

    buffer_packets: int = quantity(UNLIMITED, "Queue length before the link, packets.", least=0, most=UNLIMITED)
    from_s: float = quantity(2.0, "When losses begin, s.", least=0.0, most=1e6)
    lasts_s: float = quantity(8.0, "For how long, s.", least=0.0, most=1e6)
    loss_share: float = quantity(0.15, "Packet loss rate of the link during that time.", least=0.0, most=1.0)

    def world(self) -> World:
        return self.over(self.line(bursts_s=((self.from_s, self.lasts_s, self.loss_share, 0.0),)))
