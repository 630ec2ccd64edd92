from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._dips import Dips
from wlanlens.scenarios._pair import alike, pair
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, Tcp, World
from wlanlens.simulation.scenario import scenario


@scenario("interference")
@dataclass(frozen=True, kw_only=True)
class Interference(Dips):
    """Something that the sniffer cannot name drowns most frames for half a second every four; the signals stay.

    The look-alike of a fade: the same failures, the signal as it was. The noise at both ends rises, not the sniffer's.
    """

    shows = ("burst_loss",)
    resembles = ("signal_fade",)

    def world(self) -> World:
        stations = alike(signal_dbm=-95.0 + self.snr_db)
        ways = {"snr_db": self.snr_db, "fades_s": self.spells_s()}
        return pair(stations, Flow(0, 1, bulk(), tcp=Tcp()), both=ways)
