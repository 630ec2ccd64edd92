from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._line import line
from wlanlens.simulation.applications import paced
from wlanlens.simulation.config import Flow, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("tail_loss_probes")
@dataclass(frozen=True, kw_only=True)
class TailLossProbes(Scenario):
    """A sender with tail loss probes over a path with late delayed ACKs: the probes are no timeouts.

    The look-alike of a spurious timeout: the probe retransmits data that had arrived.
    """

    resembles = ("spurious_timeout", "idle_backoff", "tail_loss", "acked_data_retransmission")

    duration_s: float = quantity(20.0, "Simulated time, s.", least=1e-3, most=1e6)
    write_bytes: int = quantity(4_344, "Size of one write: three segments.", least=1, most=1 << 30)
    every_s: float = quantity(0.5, "Interval between writes, s.", least=1e-3, most=1e6)
    delayed_ack_timer_s: float = quantity(0.12, "The receiver's delayed-ACK timer, s.", least=0.0, most=0.5)

    def world(self) -> World:
        tcp = Tcp(
            tail_loss_probe=True, delayed_ack_timer_s=self.delayed_ack_timer_s, quick_acks=0, initial_window_segments=10
        )
        return line(Flow(0, 1, paced(self.write_bytes, self.every_s), tcp=tcp))
