from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._line import line
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, Reader, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, repeated, scenario


@scenario("closed_window")
@dataclass(frozen=True, kw_only=True)
class ClosedWindow(Scenario):
    """The receiver's application stops reading for seconds: the window closes, and the sender sends window probes.

    The look-alike of RTO backoff: the persist timer doubles too, but nothing was lost. Between the
    stops the window fills the path, which needs 6 ms to carry it.
    """

    shows = ("window_limited",)
    resembles = ("idle_backoff", "spurious_timeout", "tail_loss", "missing_fast_retransmit")

    duration_s: float = quantity(12.0, "Simulated time, s.", least=1e-3, most=1e6)
    first_s: float = quantity(2.0, "When it stops first, s.", least=0.0, most=1e6)
    stops_s: float = quantity(2.5, "For how long, s.", least=0.0, most=1e6)
    every_s: float = quantity(4.0, "Period of the stops, s.", least=1e-3, most=1e6)
    window_bytes: int = quantity(31_856, "The receiver's buffer: 22 segments.", least=1448, most=1 << 30)
    rate_bps: float = quantity(40e6, "Of the line.", least=1e3, most=1e10)

    def world(self) -> World:
        pauses = tuple((start, self.stops_s) for start in repeated(self, self.first_s, self.every_s))
        tcp = Tcp(receive_window_bytes=self.window_bytes)
        flow = Flow(0, 1, bulk(), tcp=tcp, reader=Reader(1 << 20, 0.001, pauses))
        return line(flow, rate_bps=self.rate_bps, delay_s=0.0005)
