from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._pair import alike, pair
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("independent_channel_errors")
@dataclass(frozen=True, kw_only=True)
class IndependentChannelErrors(Scenario):
    """The channel damages one frame in fifteen, each by itself: many retries, of data and of ACKs, but not in pairs.

    The look-alike of collisions, and of bursts: TCP's data and ACKs are sent again about as often as where they collide.
    """

    resembles = ("data_ack_collision", "burst_loss")

    frame_error_rate: float = quantity(0.07, "Share of bad frames, the MAC's ACKs included.", least=0.0, most=0.9)
    delayed_ack_segments: int = quantity(2, "ACK every so many segments.", least=1, most=64)

    def world(self) -> World:
        tcp = Tcp(delayed_ack_segments=self.delayed_ack_segments)
        return pair(alike(), Flow(0, 1, bulk(), tcp=tcp), both={"frame_error_rate": self.frame_error_rate})
