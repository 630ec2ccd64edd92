from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._slow_line import UNLIMITED, SlowLineWorld
from wlanlens.simulation.config import World
from wlanlens.simulation.scenario import quantity, scenario


@scenario("block_loss_without_sack")
@dataclass(frozen=True, kw_only=True)
class BlockLossWithoutSack(SlowLineWorld):
    """Several segments of one window are lost; Reno leaves recovery at the first partial ACK and reduces cwnd for each of them.

    NewReno (RFC 6582) avoids this: with `recovery` newreno cwnd is reduced once. The Seawind study's second cause of multiple fast retransmits.
    """

    shows = ("repeated_fast_retransmit",)

    buffer_packets: int = quantity(UNLIMITED, "Queue length before the link, packets.", least=0, most=UNLIMITED)
    receive_window_bytes: int = quantity(15_360, "The receiver's buffer.", least=88, most=1 << 30)
    recovery: str = quantity(
        "reno",
        "Recovery without SACK; newreno does not reduce cwnd twice in one loss episode.",
        among=("newreno", "newreno_careless", "reno"),
    )
    first_lost: int = quantity(200, "The first segment lost, from 0.", least=0, most=1 << 40)
    apart: int = quantity(6, "Distance between lost segments.", least=1, most=1000)
    losses: int = quantity(3, "Segments lost.", least=0, most=1000)

    def world(self) -> World:
        lost = tuple(self.first_lost + self.apart * k for k in range(self.losses))
        return self.over(self.line(lose_data=lost))
