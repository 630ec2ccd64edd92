from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._slow_line import UNLIMITED, SlowLineWorld
from wlanlens.simulation.config import World
from wlanlens.simulation.scenario import quantity, scenario


@scenario("separate_losses")
@dataclass(frozen=True, kw_only=True)
class SeparateLosses(SlowLineWorld):
    """Single segments are lost, each in its own window: one reduction of cwnd for each is right.

    The look-alike of repeated fast retransmits, with a sender that can make them.
    """

    resembles = ("repeated_fast_retransmit",)

    buffer_packets: int = quantity(UNLIMITED, "Queue length before the link, packets.", least=0, most=UNLIMITED)
    receive_window_bytes: int = quantity(3840, "The receiver's buffer.", least=88, most=1 << 30)
    recovery: str = quantity(
        "newreno_careless",
        "Recovery without SACK; newreno does not reduce cwnd twice in one loss episode.",
        among=("newreno", "newreno_careless", "reno"),
    )
    first_lost: int = quantity(60, "The first segment lost, from 0.", least=0, most=1 << 40)
    apart: int = quantity(57, "Distance between lost segments.", least=1, most=1 << 40)
    losses: int = quantity(6, "Segments lost.", least=0, most=1000)

    def world(self) -> World:
        lost = tuple(self.first_lost + self.apart * k for k in range(self.losses))
        return self.over(self.line(lose_data=lost))
