from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wlanlens.scenarios._usb import UsbScenario
from wlanlens.simulation.scenario import scenario


@scenario("clean_usb_link")
@dataclass(frozen=True, kw_only=True)
class CleanUsbLink(UsbScenario):
    """A bulk transfer over a USB adapter whose bus is faster than the channel: nothing to find.

    The USB study's setup with bandwidth reclamation, Linux's default: 5.1 Mb/s in every mode of table 2.
    """

    clean: ClassVar[bool] = True
    resembles: ClassVar[tuple[str, ...]] = ("usb_bottleneck",)
