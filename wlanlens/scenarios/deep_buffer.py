from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._line import line
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("deep_buffer")
@dataclass(frozen=True, kw_only=True)
class DeepBuffer(Scenario):
    """A 1 Mbit/s link behind a buffer of 100 packets: the sender's own data makes the round trip one second long.

    The setup of the kernel capture with an overlarge queue.
    """

    shows = ("overbuffering",)

    duration_s: float = quantity(20.0, "Simulated time, s.", least=1e-3, most=1e6)
    rate_bps: float = quantity(1e6, "Of the line.", least=1e3, most=1e10)
    queue_packets: int = quantity(100, "Queue length before it, packets.", least=0, most=100_000)
    loss_rate: float = quantity(0.0001, "Packet loss rate, each way.", least=0.0, most=1.0)

    def world(self) -> World:
        tcp = Tcp(receive_window_bytes=262_144)
        return line(
            Flow(0, 1, bulk(), tcp=tcp), rate_bps=self.rate_bps, delay_s=0.02, queue_packets=self.queue_packets,
            loss_rate=self.loss_rate,
        )  # fmt: skip
