from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenario import Scenario, quantity, scenario
from wlanlens.scenarios._pair import pair
from wlanlens.world import Bursts, Flow, Station, Tcp, World, bulk


@scenario("delayed_ack_deadlock")
@dataclass(frozen=True, kw_only=True)
class DelayedAckDeadlock(Scenario):
    """Losses halve the congestion window to one or two segments; a segment then waits alone for the delayed-ACK timer.

    The USB study's temporary deadlock (section 4.3.2 B): the sender may send one segment, the receiver waits for two.
    """

    shows = ("delayed_ack_deadlock",)

    duration_s: float = quantity(20.0, "Simulated time, s.", least=1e-3, most=1e6)
    delayed_ack_timer_s: float = quantity(0.1, "How long the receiver waits for a second segment, s.", least=0.0, most=0.5)
    frame_error_rate: float = quantity(0.12, "Share of frames in error bursts.", least=1e-6, most=0.9)
    mean_burst: float = quantity(3.5, "Mean length of a burst, frames.", least=1.0, most=1e6)
    retry_limit: int = quantity(4, "Attempts of a frame.", least=1, most=255)

    def world(self) -> World:
        tcp = Tcp(delayed_ack_timer_s=self.delayed_ack_timer_s, quick_acks=0, prr=False, frto=False)
        stations = [Station(node=n, short_retry_limit=self.retry_limit) for n in (0, 1)]
        return pair(
            *stations,
            Flow(0, 1, bulk(), tcp=tcp),
            both={"bursts": 0},
            bursts=(Bursts.gilbert(self.frame_error_rate, self.mean_burst),),
        )
