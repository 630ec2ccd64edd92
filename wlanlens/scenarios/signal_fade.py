from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._dips import Dips
from wlanlens.scenarios._pair import pair
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, Station, Tcp, World
from wlanlens.simulation.scenario import scenario


@scenario("signal_fade")
@dataclass(frozen=True, kw_only=True)
class SignalFade(Dips):
    """The sender's signal falls by 15 dB for half a second every four seconds, and most of its frames fail during that time.

    The sniffer measures the fade too.
    """

    shows = ("signal_fade", "burst_loss")

    def world(self) -> World:
        signal = -95.0 + self.snr_db
        sender = Station(node=0, signal_dbm=signal, fades_s=self.spells_s())
        receiver = Station(node=1, signal_dbm=signal)
        return pair((sender, receiver), Flow(0, 1, bulk(), tcp=Tcp()), both={"snr_db": self.snr_db})
