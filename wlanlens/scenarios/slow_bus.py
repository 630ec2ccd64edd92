from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wlanlens.scenarios._usb import UsbScenario
from wlanlens.simulation.scenario import quantity, scenario


@scenario("slow_bus")
@dataclass(frozen=True, kw_only=True)
class SlowBus(UsbScenario):
    """The USB bus leaves most of each frame idle and limits the transfer to 0.44-3.9 Mb/s; the channel is idle.

    The USB study's section 4.1.2 and table 2 without bandwidth reclamation: `depth_first` and `queued` name the cell.
    """

    shows: ClassVar[tuple[str, ...]] = ("usb_bottleneck",)

    reclamation: bool = quantity(False, "Full-speed bandwidth reclamation (FSBR), which removes the limit.")
