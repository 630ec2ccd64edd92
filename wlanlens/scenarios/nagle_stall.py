from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._pair import alike, pair
from wlanlens.simulation.applications import paced
from wlanlens.simulation.config import Flow, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("nagle_stall")
@dataclass(frozen=True, kw_only=True)
class NagleStall(Scenario):
    """An application writes a segment and a half at a time: Nagle keeps the half back until the delayed ACK of the first.

    Each write takes the receiver's timer longer than it needs (RFC 896 beside RFC 1122 section 4.2.3.2). `nagle` off is
    the remedy, and so is Minshall's form of it, which Linux has.
    """

    shows = ("delayed_ack_deadlock",)

    write_bytes: int = quantity(2000, "Written at a time.", least=1, most=1 << 30)
    pause_s: float = quantity(0.31, "From one write to the next, s.", least=1e-3, most=1e6)
    delayed_ack_timer_s: float = quantity(
        0.1, "How long the receiver waits for a second segment, s.", least=0.0, most=0.5
    )
    nagle: bool = quantity(True, "Nagle's algorithm.")
    minshall: bool = quantity(False, "Only an earlier short segment keeps one back.")

    def world(self) -> World:
        tcp = Tcp(delayed_ack_timer_s=self.delayed_ack_timer_s, quick_acks=0, nagle=self.nagle, minshall=self.minshall)
        return pair(alike(), Flow(0, 1, paced(self.write_bytes, self.pause_s), tcp=tcp))
