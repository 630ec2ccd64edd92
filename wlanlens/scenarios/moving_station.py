from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._pair import pair
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, PathLoss, Station, Tcp, World
from wlanlens.simulation.rate_control import automatic
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("moving_station")
@dataclass(frozen=True, kw_only=True)
class MovingStation(Scenario):
    """A station moves away while it sends: its rate falls step by step, correctly.

    Path loss of a building; the sniffer is near the other end.
    """

    resembles = ("rate_thrashing", "signal_fade", "stuck_rate", "burst_loss")

    duration_s: float = quantity(60.0, "Simulated time, s.", least=1e-3, most=1e6)
    algorithm: str = quantity("arf", "Rate control of both ends.", among=("arf", "aarf", "minstrel"))
    from_m: float = quantity(20.0, "Distance at the start, m.", least=0.0, most=1e4)
    walks_m_per_s: float = quantity(1.2, "Speed, m/s.", least=0.0, most=100.0)
    exponent: float = quantity(3.5, "Path loss exponent: 2 in the open, 3 to 4 in buildings.", least=0.0, most=10.0)
    doppler_hz: float = quantity(
        10.0, "Doppler frequency of multipath fading: speed over wavelength; 0: no fading.", least=0.0, most=1e4
    )
    direct_factor: float = quantity(
        20.0, "Rice K factor: power of the direct wave over that of the others.", least=0.0, most=1e4
    )

    def world(self) -> World:
        control = automatic(self.algorithm)
        walker = Station(node=0, rate_control=control, at_m=(self.from_m, 0.0), walks_m_per_s=(self.walks_m_per_s, 0.0))
        return pair(
            (walker, Station(node=1, rate_control=control)),
            Flow(0, 1, bulk(), tcp=Tcp()),
            path_loss=PathLoss(exponent=self.exponent),
            multipath=(self.doppler_hz, self.direct_factor) if self.doppler_hz > 0 else None,
            sniffer_m=(0.0, 2.0),
        )
