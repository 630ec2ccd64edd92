from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wlanlens.scenarios._usb import UsbScenario
from wlanlens.simulation.rate_control import DSSS_MBPS
from wlanlens.simulation.scenario import quantity, scenario


@scenario("slow_air_over_usb")
@dataclass(frozen=True, kw_only=True)
class SlowAirOverUsb(UsbScenario):
    """Frames are sent at 2 Mb/s, and the full adapter NAKs the bus: transfers are outstanding all the time.

    The driver bug of the USB study's table 1. By bytes per millisecond alone it looks like a slow bus.
    """

    resembles: ClassVar[tuple[str, ...]] = ("usb_bottleneck",)

    rate_mbps: float = quantity(
        2.0, "Data rate of both stations: 1, 2, 5.5 or 11.", least=1.0, most=11.0, among=DSSS_MBPS
    )
