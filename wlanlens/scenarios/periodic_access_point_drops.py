from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._download import DownloadWorld
from wlanlens.simulation.config import World
from wlanlens.simulation.scenario import quantity, scenario


@scenario("periodic_access_point_drops")
@dataclass(frozen=True, kw_only=True)
class PeriodicAccessPointDrops(DownloadWorld):
    """An access point drops a packet every two seconds, when it polls; duplicate ACKs detect each loss.

    The window-size study's Apple Airport, whose losses were two seconds apart. `period_s` 0 leaves only the first one.
    """

    shows = ("periodic_loss",)
    resembles = ("ap_buffer_loss",)

    duration_s: float = quantity(40.0, "Simulated time, s.", least=1e-3, most=1e6)
    first_s: float = quantity(1.3, "The first drop, s.", least=0.0, most=1e6)
    period_s: float = quantity(2.0, "From one to the next, s.", least=0.0, most=1e6)
    packets: int = quantity(1, "Packets dropped each time.", least=0, most=10_000)

    def world(self) -> World:
        return self.through(self.cell(), drops_s=((self.first_s, self.period_s, self.packets),))
