from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._dips import Dips
from wlanlens.scenarios._pair import pair
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, Station, Tcp, World
from wlanlens.simulation.scenario import quantity, scenario


@scenario("harmless_dips")
@dataclass(frozen=True, kw_only=True)
class HarmlessDips(Dips):
    """The signal falls by 15 dB at intervals and is still strong enough: no frame fails.

    The look-alike of a fade that hurts.
    """

    resembles = ("signal_fade", "burst_loss")
    clean = True

    snr_db: float = quantity(
        45.0, "Signal-to-noise ratio outside the spells, in 22 MHz, dB; 11 Mb/s needs 8.5.", least=-20.0, most=90.0
    )

    def world(self) -> World:
        signal = -95.0 + self.snr_db
        sender = Station(node=0, signal_dbm=signal, fades_s=self.spells_s())
        receiver = Station(node=1, signal_dbm=signal)
        return pair((sender, receiver), Flow(0, 1, bulk(), tcp=Tcp()), both={"snr_db": self.snr_db})
