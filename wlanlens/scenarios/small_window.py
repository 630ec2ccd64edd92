from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._line import line
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("small_window")
@dataclass(frozen=True, kw_only=True)
class SmallWindow(Scenario):
    """The receiver's window is smaller than the bandwidth-delay product: the link is idle half of the time.

    16 KiB on a path of 100 ms, with a few ordinary losses.
    """

    shows = ("window_limited",)

    window_bytes: int = quantity(16_384, "The receiver's buffer.", least=1448, most=1 << 30)
    delay_s: float = quantity(0.05, "Of the line, each way, s.", least=0.0, most=10.0)
    rate_bps: float = quantity(5e6, "Of the line.", least=1e3, most=1e10)
    loss_rate: float = quantity(0.0005, "Packet loss rate, each way.", least=0.0, most=1.0)

    def world(self) -> World:
        tcp = Tcp(receive_window_bytes=self.window_bytes)
        return line(Flow(0, 1, bulk(), tcp=tcp), delay_s=self.delay_s, rate_bps=self.rate_bps, loss_rate=self.loss_rate)
