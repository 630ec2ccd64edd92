from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._slow_line import SlowLineWorld
from wlanlens.simulation.scenario import quantity, scenario


@scenario("congestion_cycles")
@dataclass(frozen=True, kw_only=True)
class CongestionCycles(SlowLineWorld):
    """A long transfer's window grows into a small buffer, loses a packet and is halved, with a regular period.

    The look-alike of periodic losses: the transfer itself makes the cycle, which is as regular in bytes as in time.
    """

    resembles = ("periodic_loss", "repeated_fast_retransmit")

    file_bytes: int = quantity(400 << 10, "Size of the file.", least=1, most=1 << 40)
    loss_rate: float = quantity(0.001, "Packet loss rate of the link, each way.", least=0.0, most=1.0)
