from __future__ import annotations

from dataclasses import dataclass

from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Cell, Flow, Node, RadioPath, Station, Tcp, World
from wlanlens.simulation.rate_control import DSSS_MBPS, automatic, fixed
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("far_station")
@dataclass(frozen=True, kw_only=True)
class FarStation(Scenario):
    """A far station with a weak transmitter uses 2 Mb/s because nothing faster arrives; its stronger peer uses 5.5.

    The look-alike of a stuck rate: one rate with few retries, and a higher one that works in the other direction.
    """

    resembles = ("stuck_rate",)

    rate_mbps: float = quantity(2.0, "The far station's rate.", least=1.0, most=11.0, among=DSSS_MBPS)
    snr_db: float = quantity(
        3.5, "Signal-to-noise ratio of the far station's frames, in 22 MHz, dB.", least=-20.0, most=60.0
    )
    stronger_db: float = quantity(4.0, "Additional transmit power of its peer, dB.", least=0.0, most=60.0)

    def world(self) -> World:
        there, back = self.snr_db, self.snr_db + self.stronger_db
        far = Station(node=0, rate_control=fixed(self.rate_mbps), signal_dbm=-95.0 + there)
        peer = Station(node=1, rate_control=automatic("aarf", (1.0, 2.0, 5.5)), signal_dbm=-50.0)
        return World(
            nodes=(Node("sender"), Node("receiver")),
            cell=Cell(
                (far, peer),
                ad_hoc=True,
                beacons=False,
                paths=(RadioPath(0, 1, snr_db=there), RadioPath(1, 0, snr_db=back)),
            ),
            flows=(Flow(0, 1, bulk(), tcp=Tcp()),),
        )
