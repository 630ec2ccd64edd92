from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._slow_line import UNLIMITED, SlowLineWorld
from wlanlens.simulation.config import World
from wlanlens.simulation.scenario import quantity, scenario


@scenario("repeated_fast_retransmit")
@dataclass(frozen=True, kw_only=True)
class RepeatedFastRetransmit(SlowLineWorld):
    """A link delays everything for longer than the RTO; duplicate ACKs of the retransmissions make the sender reduce cwnd again.

    The Seawind study's first cause of multiple fast retransmits: NewReno without the careful variant of RFC 6582;
    with `recovery` newreno (careful) cwnd is reduced once.
    """

    shows = ("repeated_fast_retransmit",)

    buffer_packets: int = quantity(UNLIMITED, "Queue length before the link, packets.", least=0, most=UNLIMITED)
    receive_window_bytes: int = quantity(3840, "The receiver's buffer.", least=88, most=1 << 30)
    recovery: str = quantity(
        "newreno_careless",
        "Recovery without SACK; newreno does not reduce cwnd twice in one loss episode.",
        among=("newreno", "newreno_careless", "reno"),
    )
    delay_from_s: float = quantity(
        30.0, "Time at which the link begins to hold the return direction, s.", least=0.0, most=1e6
    )
    delay_lasts_s: float = quantity(12.0, "For how long, s.", least=0.0, most=1e6)

    def world(self) -> World:
        return self.over(self.line(holds_s=((self.delay_from_s, self.delay_lasts_s),)))
