from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._pair import alike, pair
from wlanlens.simulation.applications import udp
from wlanlens.simulation.config import Flow, World
from wlanlens.simulation.rate_control import RATES_MBPS, fixed
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("clean_udp")
@dataclass(frozen=True, kw_only=True)
class CleanUdp(Scenario):
    """Datagrams in one direction, faster than an 802.11b link with rare errors carries them: no collisions.

    The USB study's UDP reference, whose MAC retries (0.5 to 1 %) come from channel errors.
    """

    resembles = ("data_ack_collision",)
    clean = True

    rate_mbps: float = quantity(
        11.0, "802.11b or 802.11g rate of both stations, Mb/s.", least=1.0, most=54.0, among=RATES_MBPS
    )
    offered_bps: float = quantity(8e6, "Offered payload, bit/s.", least=1e3, most=1e9)
    payload_bytes: int = quantity(1472, "Payload of a datagram.", least=1, most=1472)
    frame_error_rate: float = quantity(0.0035, "Share of bad frames, MAC ACKs included.", least=0.0, most=0.5)
    retry_limit: int = quantity(7, "Attempts of a frame.", least=1, most=255)

    def world(self) -> World:
        stations = alike(rate_control=fixed(self.rate_mbps), short_retry_limit=self.retry_limit)
        flow = Flow(0, 1, udp(self.offered_bps, self.payload_bytes), tcp=None)
        return pair(stations, flow, both={"frame_error_rate": self.frame_error_rate})
