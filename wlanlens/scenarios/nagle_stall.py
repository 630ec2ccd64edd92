from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._pair import alike, pair
from wlanlens.simulation.applications import paced
from wlanlens.simulation.config import Flow, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("nagle_stall")
@dataclass(frozen=True, kw_only=True)
class NagleStall(Scenario):
    """An application writes one and a half segments at a time: Nagle's algorithm holds the half segment until the delayed ACK.

    Each write takes longer by the receiver's delayed-ACK timer (RFC 896 with RFC 1122 section 4.2.3.2). The remedy is
    `nagle` off, or Minshall's variant of it, as in Linux.
    """

    shows = ("delayed_ack_deadlock",)

    write_bytes: int = quantity(2000, "Written at a time.", least=1, most=1 << 30)
    pause_s: float = quantity(0.31, "Interval between writes, s.", least=1e-3, most=1e6)
    delayed_ack_timer_s: float = quantity(0.1, "Delayed-ACK timer of the receiver, s.", least=0.0, most=0.5)
    nagle: bool = quantity(True, "Nagle's algorithm.")
    minshall: bool = quantity(False, "Minshall's variant: only an earlier short segment delays a short one.")

    def world(self) -> World:
        tcp = Tcp(delayed_ack_timer_s=self.delayed_ack_timer_s, quick_acks=0, nagle=self.nagle, minshall=self.minshall)
        return pair(alike(), Flow(0, 1, paced(self.write_bytes, self.pause_s), tcp=tcp))
