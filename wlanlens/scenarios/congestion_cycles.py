from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._slow_line import SlowLineWorld
from wlanlens.simulation.scenario import quantity, scenario


@scenario("congestion_cycles")
@dataclass(frozen=True, kw_only=True)
class CongestionCycles(SlowLineWorld):
    """A long transfer's window grows into a small buffer, loses a packet and is halved, as evenly as a clock.

    The look-alike of losses by a clock: the cycle is the transfer's own, as even in bytes as in time.
    """

    resembles = ("periodic_loss", "repeated_fast_retransmit")

    file_bytes: int = quantity(400 << 10, "Size of the file.", least=1, most=1 << 40)
    loss_rate: float = quantity(0.001, "Chance that the line loses a packet, each way.", least=0.0, most=1.0)
