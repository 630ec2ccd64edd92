from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenario import quantity, scenario
from wlanlens.scenarios._dips import Dips
from wlanlens.scenarios._pair import pair
from wlanlens.world import Flow, Station, Tcp, World, bulk


@scenario("signal_fade")
@dataclass(frozen=True, kw_only=True)
class SignalFade(Dips):
    """The sender's signal falls by 15 dB for half a second every four, and most of its frames fail while it is low.

    The sniffer hears the fall, too.
    """

    shows = ("signal_fade", "burst_loss")

    depth_db: float = quantity(15.0, "How far it falls, dB.", least=0.0, most=100.0)
    snr_db: float = quantity(23.2, "Signal to noise in 22 MHz without a fade; 11 Mb/s needs 8.5.", least=-20.0, most=90.0)

    def world(self) -> World:
        fades = ((self.first_s, self.lasts_s, self.depth_db, self.every_s),)
        signal = -95.0 + self.snr_db
        sender, receiver = Station(node=0, signal_dbm=signal, fades_s=fades), Station(node=1, signal_dbm=signal)
        return pair(sender, receiver, Flow(0, 1, bulk(), tcp=Tcp()), both={"snr_db": self.snr_db})
