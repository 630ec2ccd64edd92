from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wlanlens.scenarios._usb import UsbScenario
from wlanlens.simulation.rate_control import RATES_MBPS
from wlanlens.simulation.scenario import quantity, scenario


@scenario("fast_air_over_usb")
@dataclass(frozen=True, kw_only=True)
class FastAirOverUsb(UsbScenario):
    """A channel faster than a full-speed USB bus: frames at 54 Mb/s, one packet in two bus frames, or a full bus.

    The USB study's prediction for 802.11a in section 4.1.2: with reclamation 5.8 Mb/s one packet at a time, 8 Mb/s with
    `queued`.
    """

    shows: ClassVar[tuple[str, ...]] = ("usb_bottleneck",)

    rate_mbps: float = quantity(
        54.0, "802.11b or 802.11g rate of both stations, Mb/s.", least=1.0, most=54.0, among=RATES_MBPS
    )
