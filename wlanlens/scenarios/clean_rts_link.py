from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wlanlens.scenarios import _reserved
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("clean_rts_link")
@dataclass(frozen=True, kw_only=True)
class CleanRtsLink(Scenario):
    """One bulk flow from an access point to a station with RTS and CTS before every packet: nothing to find.

    The feedback-traffic study's setup (figures 3 to 5): the channel limits it; TCP ACKs take a third of it if
    every segment is acknowledged.
    """

    clean: ClassVar[bool] = True

    delayed_ack_segments: int = quantity(2, "Segments per ACK.", least=1, most=64)
    window_segments: int = quantity(20, "The receiver's window, segments of 1000 bytes.", least=1, most=10_000)
    delayed_ack_timer_s: float = quantity(0.1, "The receiver's delayed-ACK timer, s.", least=0.0, most=10.0)
    rts_threshold_bytes: int = quantity(0, "RTS threshold, bytes.", least=0, most=3000)
    post_backoff: bool = quantity(True, "Backoff after every frame, even with nothing to send (post-backoff).")

    def world(self) -> World:
        nodes, cell = _reserved.cell(1, rts_threshold_bytes=self.rts_threshold_bytes, post_backoff=self.post_backoff)
        tcp = _reserved.tcp(
            every=self.delayed_ack_segments, window=self.window_segments, timer_s=self.delayed_ack_timer_s
        )
        return _reserved.world(nodes, cell, (Flow(0, 1, bulk(), tcp=tcp),))
