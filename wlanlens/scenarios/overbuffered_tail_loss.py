from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._slow_line import UNLIMITED, SlowLineWorld
from wlanlens.simulation.config import World
from wlanlens.simulation.scenario import quantity, scenario


@scenario("overbuffered_tail_loss")
@dataclass(frozen=True, kw_only=True)
class OverbufferedTailLoss(SlowLineWorld):
    """The receiver's whole window stands in an unlimited buffer before a slow line, and the transfer's end is lost.

    The Seawind study's overbuffering: a round trip of half a minute, so that the timer finds the loss of the last three
    segments, and of one that was sent again, after as long; `tail_losses` 0 loses none.
    """

    buffer_packets: int = quantity(UNLIMITED, "Packets that wait before the line.", least=0, most=UNLIMITED)
    tail_losses: int = quantity(3, "Segments that are lost at the end.", least=0, most=100)

    def world(self) -> World:
        last = -(-self.file_bytes // self.mss_bytes)
        # The first of them is lost again when it is sent again.
        lost = tuple(range(last - self.tail_losses, last + 1)) if self.tail_losses else ()
        return self.over(self.line(lose_data=lost))
