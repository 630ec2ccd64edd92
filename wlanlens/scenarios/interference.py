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
    """Interference that the sniffer cannot decode damages most frames for half a second every four seconds; signals are unchanged.

    The look-alike of a fade: the same failures with a constant signal. Noise rises at both ends, not at the sniffer.
    """

    shows = ("burst_loss",)
    resembles = ("signal_fade",)

    def world(self) -> World:
        stations = alike(signal_dbm=-95.0 + self.snr_db)
        ways = {"snr_db": self.snr_db, "fades_s": self.spells_s()}
        return pair(stations, Flow(0, 1, bulk(), tcp=Tcp()), both=ways)
