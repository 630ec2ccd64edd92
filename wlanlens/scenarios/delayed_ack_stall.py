from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wlanlens.scenarios import _reserved
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("delayed_ack_stall")
@dataclass(frozen=True, kw_only=True)
class DelayedAckStall(Scenario):
    """The window holds fewer segments than the receiver waits for: each flight waits for the delayed-ACK timer.

    The feedback-traffic study's W = 1 with d = 2: one segment for each timer interval, the channel idle between. The
    receiver's window prevents the second segment, not the congestion window: a look-alike of the deadlock.
    """

    resembles: ClassVar[tuple[str, ...]] = ("delayed_ack_deadlock",)

    delayed_ack_segments: int = quantity(2, "Segments per ACK.", least=1, most=64)
    window_segments: int = quantity(1, "The receiver's window, segments of 1000 bytes.", least=1, most=10_000)
    delayed_ack_timer_s: float = quantity(0.1, "The receiver's delayed-ACK timer, s.", least=0.0, most=10.0)

    def world(self) -> World:
        nodes, cell = _reserved.cell(1)
        tcp = _reserved.tcp(
            every=self.delayed_ack_segments, window=self.window_segments, timer_s=self.delayed_ack_timer_s
        )
        return _reserved.world(nodes, cell, (Flow(0, 1, bulk(), tcp=tcp),))
