from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenario import quantity, scenario
from wlanlens.scenarios._dips import Dips
from wlanlens.scenarios._pair import pair
from wlanlens.world import Bursts, Flow, Station, Tcp, World, bulk


@scenario("interference")
@dataclass(frozen=True, kw_only=True)
class Interference(Dips):
    """Something that the sniffer cannot name damages most frames for half a second or so every four; signals stay.

    The look-alike of a fade: the same failures, the signal as it was.
    """

    shows = ("burst_loss",)
    resembles = ("signal_fade",)

    error_share: float = quantity(0.75, "Share of frames that it damages.", least=0.0, most=1.0)

    def world(self) -> World:
        gap = max(1e-3, self.every_s - self.lasts_s)
        bursts = Bursts(gap, self.lasts_s, error_rate=self.error_share, clock="time")
        stations = Station(node=0, signal_dbm=-72.0), Station(node=1, signal_dbm=-72.0)
        return pair(*stations, Flow(0, 1, bulk(), tcp=Tcp()), both={"bursts": 0}, bursts=(bursts,))
