from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._slow_line import UNLIMITED, SlowLineWorld
from wlanlens.simulation.config import World
from wlanlens.simulation.scenario import quantity, scenario


@scenario("separate_losses")
@dataclass(frozen=True, kw_only=True)
class SeparateLosses(SlowLineWorld):
    """Single segments are lost, each in a window of its own: a cut for each is right.

    The look-alike of repeated fast retransmissions, with a sender that would make them.
    """

    resembles = ("repeated_fast_retransmit",)

    buffer_packets: int = quantity(UNLIMITED, "Packets that wait before the line.", least=0, most=UNLIMITED)
    receive_window_bytes: int = quantity(3840, "The receiver's buffer.", least=88, most=1 << 30)
    recovery: str = quantity(
        "newreno_careless", "Without SACK; newreno is the careful one.", among=("newreno", "newreno_careless", "reno")
    )
    first_lost: int = quantity(60, "The first segment lost, from 0.", least=0, most=1 << 40)
    apart: int = quantity(57, "From one lost segment to the next.", least=1, most=1 << 40)
    losses: int = quantity(6, "Segments lost.", least=0, most=1000)

    def world(self) -> World:
        lost = tuple(self.first_lost + self.apart * k for k in range(self.losses))
        return self.over(self.line(lose_data=lost))
