from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._slow_line import UNLIMITED, SlowLineWorld
from wlanlens.simulation.config import World
from wlanlens.simulation.scenario import quantity, scenario


@scenario("overbuffered_tail_loss")
@dataclass(frozen=True, kw_only=True)
class OverbufferedTailLoss(SlowLineWorld):
    """The receiver's whole window is queued in an unlimited buffer before a slow link, and the end of the transfer is lost.

    The Seawind study's overbuffering: with a round trip of half a minute the timer needs as long to detect the loss of the last
    three segments, and of one retransmission; `tail_losses` 0 loses none.
    """

    buffer_packets: int = quantity(UNLIMITED, "Queue length before the link, packets.", least=0, most=UNLIMITED)
    tail_losses: int = quantity(3, "Lost segments at the end.", least=0, most=100)

    def world(self) -> World:
        last = -(-self.file_bytes // self.mss_bytes)
        # The retransmission of the first one is lost too.
        lost = tuple(range(max(0, last - self.tail_losses), last + 1)) if self.tail_losses else ()
        return self.over(self.line(lose_data=lost))
