from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._pair import alike, pair
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("data_ack_collision")
@dataclass(frozen=True, kw_only=True)
class DataAckCollision(Scenario):
    """TCP data and TCP ACKs draw the same slot and collide more often than with a standard contention window.

    Each segment has its own ACK, and the contention window is below the standard's 32 slots: the USB study's
    section 4.3.1 with an adapter that violates the standard.
    """

    shows = ("data_ack_collision",)

    cw_min: int = quantity(7, "Smallest contention window less one, slots; the standard's is 31.", least=1, most=1023)
    delayed_ack_segments: int = quantity(1, "Segments per ACK.", least=1, most=64)
    frame_error_rate: float = quantity(0.0035, "Share of bad frames, MAC ACKs included.", least=0.0, most=0.5)
    retry_limit: int = quantity(7, "Attempts of a frame.", least=1, most=255)

    def world(self) -> World:
        stations = alike(cw_min=self.cw_min, short_retry_limit=self.retry_limit)
        tcp = Tcp(delayed_ack_segments=self.delayed_ack_segments)
        return pair(stations, Flow(0, 1, bulk(), tcp=tcp), both={"frame_error_rate": self.frame_error_rate})
