from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._pair import alike, pair
from wlanlens.simulation.applications import paced
from wlanlens.simulation.config import Flow, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("application_pause")
@dataclass(frozen=True, kw_only=True)
class ApplicationPause(Scenario):
    """An application writes one segment and pauses: the delayed ACK comes late, but no data waits for it.

    The look-alike of a delayed-ACK deadlock and of all idle times caused by the sender.
    """

    resembles = ("delayed_ack_deadlock", "idle_backoff", "tail_loss")
    clean = True

    write_bytes: int = quantity(1448, "Written at a time.", least=1, most=1 << 30)
    pause_s: float = quantity(0.25, "Interval between writes, s.", least=1e-3, most=1e6)
    delayed_ack_timer_s: float = quantity(0.1, "Delayed-ACK timer of the receiver, s.", least=0.0, most=0.5)

    def world(self) -> World:
        tcp = Tcp(delayed_ack_timer_s=self.delayed_ack_timer_s, quick_acks=0)
        return pair(alike(), Flow(0, 1, paced(self.write_bytes, self.pause_s), tcp=tcp))
