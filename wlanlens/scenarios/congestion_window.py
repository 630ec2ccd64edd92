from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._line import line
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("congestion_window")
@dataclass(frozen=True, kw_only=True)
class CongestionWindow(Scenario):
    """Losses keep the congestion window far below the receiver's window: the network limits, not the receiver.

    The look-alike of a small receive window.
    """

    resembles = ("window_limited", "overbuffering", "missing_fast_retransmit")

    duration_s: float = quantity(20.0, "Simulated time, s.", least=1e-3, most=1e6)
    loss_rate: float = quantity(0.01, "Packet loss rate, each way.", least=0.0, most=1.0)
    delay_s: float = quantity(0.04, "Of the line, each way, s.", least=0.0, most=10.0)

    def world(self) -> World:
        tcp = Tcp(receive_window_bytes=262_144)
        return line(Flow(0, 1, bulk(), tcp=tcp), delay_s=self.delay_s, loss_rate=self.loss_rate, rate_bps=20e6)
