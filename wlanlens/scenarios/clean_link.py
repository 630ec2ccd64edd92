from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._pair import alike, pair
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, Tcp, World
from wlanlens.simulation.rate_control import RATES_MBPS, fixed
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("clean_link")
@dataclass(frozen=True, kw_only=True)
class CleanLink(Scenario):
    """One bulk flow between two stations over a perfect 802.11b link: nothing to find.

    The channel limits it: 5.1 Mb/s at 11 Mb/s with long preambles, as the USB study and ns-2 measured.
    """

    clean = True

    rate_mbps: float = quantity(
        11.0, "802.11b or 802.11g rate of both stations, Mb/s.", least=1.0, most=54.0, among=RATES_MBPS
    )
    receive_window_bytes: int = quantity(32_768, "The receiver's buffer.", least=1448, most=1 << 30)
    delayed_ack_segments: int = quantity(2, "Segments per ACK.", least=1, most=64)
    short_preamble: bool = quantity(False, "Preambles of 96 us instead of 192.")

    def world(self) -> World:
        stations = alike(rate_control=fixed(self.rate_mbps), short_preamble=self.short_preamble)
        tcp = Tcp(receive_window_bytes=self.receive_window_bytes, delayed_ack_segments=self.delayed_ack_segments)
        return pair(stations, Flow(0, 1, bulk(), tcp=tcp))
