from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._pair import alike, pair
from wlanlens.simulation.applications import paced
from wlanlens.simulation.config import Flow, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("keep_alives")
@dataclass(frozen=True, kw_only=True)
class KeepAlives(Scenario):
    """An idle connection with keep-alives every half second, whose answers repeat an ACK number.

    The look-alike of duplicate ACKs without a fast retransmit, and of timeouts.
    """

    resembles = ("missing_fast_retransmit", "spurious_timeout", "idle_backoff", "tail_loss")
    clean = True

    duration_s: float = quantity(20.0, "Simulated time, s.", least=1e-3, most=1e6)
    keep_alive_s: float = quantity(0.5, "Interval between keep-alives, s.", least=1e-3, most=1e6)
    write_bytes: int = quantity(20_000, "Size of one write.", least=1, most=1 << 30)
    every_s: float = quantity(5.0, "Interval between writes, s.", least=1e-3, most=1e6)

    def world(self) -> World:
        flow = Flow(0, 1, paced(self.write_bytes, self.every_s), tcp=Tcp(keep_alive_s=self.keep_alive_s))
        return pair(alike(), flow)
