from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._line import line
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, Reader, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("window_updates")
@dataclass(frozen=True, kw_only=True)
class WindowUpdates(Scenario):
    """A receiver that reads large blocks sends window updates, which repeat an ACK number but are no duplicate ACKs.

    The look-alike of a missing fast retransmit; the window limits, and is closed at times.
    """

    shows = ("window_limited",)
    resembles = ("missing_fast_retransmit", "spurious_timeout", "idle_backoff", "tail_loss")

    read_bytes: int = quantity(6_000, "Size of one read.", least=1, most=1 << 30)
    every_s: float = quantity(0.02, "Interval between reads, s.", least=1e-6, most=1e4)
    loss_rate: float = quantity(0.0, "Packet loss rate, each way.", least=0.0, most=1.0)

    def world(self) -> World:
        reader = Reader(self.read_bytes, self.every_s)
        return line(Flow(0, 1, bulk(), tcp=Tcp(), reader=reader), loss_rate=self.loss_rate)
