from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._pair import alike, pair
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("independent_channel_errors")
@dataclass(frozen=True, kw_only=True)
class IndependentChannelErrors(Scenario):
    """The channel damages one frame in fifteen, independently: many retries of data and ACKs, but not in pairs.

    The look-alike of collisions and of bursts: TCP data and ACKs are retried about as often as with collisions.
    """

    resembles = ("data_ack_collision", "burst_loss")

    frame_error_rate: float = quantity(0.07, "Share of bad frames, MAC ACKs included.", least=0.0, most=0.9)
    delayed_ack_segments: int = quantity(2, "Segments per ACK.", least=1, most=64)

    def world(self) -> World:
        tcp = Tcp(delayed_ack_segments=self.delayed_ack_segments)
        return pair(alike(), Flow(0, 1, bulk(), tcp=tcp), both={"frame_error_rate": self.frame_error_rate})
