from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wlanlens.scenario import Scenario, quantity, scenario
from wlanlens.world import Cell, Flow, Node, RadioPath, Station, Tcp, World, automatic, bulk, fixed, multiplicative


@scenario("rate_thrashing")
@dataclass(frozen=True, kw_only=True)
class RateThrashing(Scenario):
    """Both stations raise their rate again and again where only the lowest works, and drop the frame that tries it.

    The firmware defect of the USB study: after `up_after` frames the next goes out at 11 Mb/s three times, then at
    5.5 Mb/s up to the retry limit, all in vain. `rate_control` names a healthy one instead: the look-alike.
    """

    rate_control: str = quantity("multiplicative", 'Or "arf", "aarf", "minstrel", "fixed" (at 1 Mb/s).')
    up_after: int = quantity(10, "Frames at the low rate before the next raise.", least=1, most=10_000)
    retry_limit: int = quantity(8, "Attempts of a frame.", least=1, most=255)
    low_frame_error_rate: float = quantity(0.05, "At 1 and 2 Mb/s, where the link still works.", least=0.0, most=1.0)
    snr_db: float = quantity(-1.0, "Signal to noise in 22 MHz: 1 Mb/s works, 5.5 does not.", least=-20.0, most=60.0)

    def world(self) -> World:
        control: dict[str, Any]
        if self.rate_control == "multiplicative":
            control = multiplicative(((11.0, 3), (5.5, 1)), 1.0, self.up_after)
        elif self.rate_control == "fixed":
            control = fixed(1.0)
        else:
            control = automatic(self.rate_control)
        stations = tuple(
            Station(node=n, rate_control=control, short_retry_limit=self.retry_limit, control_rate_mbps=1.0)
            for n in (0, 1)
        )
        paths = tuple(
            RadioPath(a, b, snr_db=self.snr_db, frame_error_rate=self.low_frame_error_rate) for a, b in ((0, 1), (1, 0))
        )
        return World(
            nodes=(Node("sender"), Node("receiver")),
            cell=Cell(stations, ad_hoc=True, beacons=False, paths=paths),
            flows=(Flow(0, 1, bulk(), tcp=Tcp(delayed_ack_timer_s=0.1)),),
        )
