from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._line import line
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, Reader, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("window_updates")
@dataclass(frozen=True, kw_only=True)
class WindowUpdates(Scenario):
    """A receiver that reads in gulps repeats its ACK to tell of room: window updates, no duplicate ACKs.

    The look-alike of a missing fast retransmission; the window limits, now and then it is closed.
    """

    shows = ("window_limited",)
    resembles = ("missing_fast_retransmit", "spurious_timeout", "idle_backoff", "tail_loss")

    read_bytes: int = quantity(6_000, "What the application reads at a time.", least=1, most=1 << 30)
    every_s: float = quantity(0.02, "From one read to the next, s.", least=1e-6, most=1e4)
    loss_rate: float = quantity(0.0, "Chance that a packet is lost, each way.", least=0.0, most=1.0)

    def world(self) -> World:
        reader = Reader(self.read_bytes, self.every_s)
        return line(Flow(0, 1, bulk(), tcp=Tcp(), reader=reader), loss_rate=self.loss_rate)
