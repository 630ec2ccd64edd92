from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._pair import pair
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, Station, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("delayed_ack_deadlock")
@dataclass(frozen=True, kw_only=True)
class DelayedAckDeadlock(Scenario):
    """Losses reduce the congestion window to one segment, which then waits for the delayed-ACK timer.

    The USB study's temporary deadlock (section 4.3.2 B): the sender may send one segment, the receiver waits for two. Here
    one frame in five fails and the sender's MAC does not retry, so TCP halves its window repeatedly.
    """

    shows = ("delayed_ack_deadlock",)

    duration_s: float = quantity(30.0, "Simulated time, s.", least=1e-3, most=1e6)
    delayed_ack_timer_s: float = quantity(0.1, "Delayed-ACK timer of the receiver, s.", least=0.0, most=0.5)
    frame_error_rate: float = quantity(0.2, "Share of bad frames.", least=0.0, most=0.9)
    retry_limit: int = quantity(1, "The sender's transmissions per frame.", least=1, most=255)

    def world(self) -> World:
        tcp = Tcp(delayed_ack_timer_s=self.delayed_ack_timer_s, quick_acks=0, prr=False, frto=False)
        sender, receiver = Station(node=0, short_retry_limit=self.retry_limit), Station(node=1)
        return pair((sender, receiver), Flow(0, 1, bulk(), tcp=tcp), both={"frame_error_rate": self.frame_error_rate})
