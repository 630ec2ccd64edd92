from __future__ import annotations

from dataclasses import dataclass, replace

from wlanlens.scenarios.bursty_errors import LINUX22
from wlanlens.simulation.applications import file
from wlanlens.simulation.config import Flow, Node, Wire, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario

#: Data packets and packets without data before the window, and the number of a data packet lost early: after it the window
#: grows slowly from 3 to 8 segments, and the round trip to about 30 ms.
_DATA, _ACKS, _EARLY = 65, 37, 8


@scenario("lost_window")
@dataclass(frozen=True, kw_only=True)
class LostWindow(Scenario):
    """Half of one window and all its ACKs are lost, then one ACK in the repair; the sender is silent for about a minute.

    The idle-time study's figure 2, loss by loss. Segments 4, 6, 7 and 8 of a window of eight are lost, and the ACKs of the others and of
    the first three retransmissions of segment 1. The next ACK echoes the timestamp of segment 3: a round trip of three seconds. Linux 2.2
    keeps four doublings of the timer, and the ACK of segment 8's retransmission is lost too.
    """

    shows = ("idle_backoff",)
    scripted = True

    duration_s: float = quantity(120.0, "Simulated time at most, s.", least=1e-3, most=1e6)
    file_bytes: int = quantity(200_000, "Size of the file.", least=1, most=1 << 40)
    rate_bps: float = quantity(3e6, "Rate of the link, bit/s.", least=1e3, most=1e9)
    delay_s: float = quantity(0.004, "One-way delay of the link, s.", least=0.0, most=10.0)
    rto: str = quantity("linux22", "The retransmission timer.", among=("linux22", "linux22_reset", "linux", "rfc6298"))

    def world(self) -> World:
        wire = Wire(
            0, 1, rate_bps=self.rate_bps, delay_s=self.delay_s,
            lose_data=(_EARLY, *(_DATA + n for n in (3, 5, 6, 7))),
            # The ACK of segments 1 and 2, that of 5, and three of retransmissions; then ACKs of 4, 6 and 8 arrive, and the next is lost.
            lose_acks=(*range(_ACKS, _ACKS + 5), _ACKS + 8),
        )  # fmt: skip
        flow = Flow(0, 1, file(self.file_bytes), tcp=replace(LINUX22, rto=self.rto))
        return World(nodes=(Node("sender"), Node("receiver")), wires=(wire,), flows=(flow,))
