from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._line import line
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("long_path")
@dataclass(frozen=True, kw_only=True)
class LongPath(Scenario):
    """A path of 300 ms each way with a window that just fills it: long round trips and no queue.

    The look-alike of overbuffering.
    """

    resembles = ("overbuffering", "spurious_timeout")

    duration_s: float = quantity(30.0, "Simulated time, s.", least=1e-3, most=1e6)
    delay_s: float = quantity(0.3, "Of the line, each way, s.", least=0.0, most=10.0)
    window_bytes: int = quantity(262_144, "The receiver's buffer.", least=1448, most=1 << 30)
    loss_rate: float = quantity(0.0002, "Packet loss rate, each way.", least=0.0, most=1.0)

    def world(self) -> World:
        tcp = Tcp(receive_window_bytes=self.window_bytes)
        return line(Flow(0, 1, bulk(), tcp=tcp), delay_s=self.delay_s, loss_rate=self.loss_rate, rate_bps=20e6)
