from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._pair import pair
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, Station, Tcp, World
from wlanlens.simulation.rate_control import automatic, fixed
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("stuck_rate")
@dataclass(frozen=True, kw_only=True)
class StuckRate(Scenario):
    """A driver sends everything at 2 Mb/s over a link that supports 11 Mb/s, which the other end uses.

    The USB study's driver defect (section 3.3, table 1): 1.5 instead of 5.1 Mb/s.
    """

    shows = ("stuck_rate",)

    rate_mbps: float = quantity(2.0, "The sender's only rate, Mb/s.", least=1.0, most=5.5, among=(1.0, 2.0, 5.5))
    snr_db: float = quantity(40.0, "Signal-to-noise ratio in 22 MHz, both ways, dB.", least=-20.0, most=90.0)

    def world(self) -> World:
        signal = -95.0 + self.snr_db
        sender = Station(node=0, rate_control=fixed(self.rate_mbps), signal_dbm=signal)
        receiver = Station(node=1, rate_control=automatic("arf"), signal_dbm=signal)
        return pair((sender, receiver), Flow(0, 1, bulk(), tcp=Tcp()), both={"snr_db": self.snr_db})
