from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._slow_line import SlowLineWorld
from wlanlens.simulation.scenario import quantity, scenario


@scenario("startup_overflow")
@dataclass(frozen=True, kw_only=True)
class StartupOverflow(SlowLineWorld):
    """Slow start overshoots the buffer of seven packets before a slow link, and loses every second segment of a window.

    The Seawind study's start-up buffer overflow; without SACK, NewReno repairs one hole per round trip.
    """

    shows = ("startup_overflow",)

    loss_rate: float = quantity(0.005, "Packet loss rate of the link, each way.", least=0.0, most=1.0)
