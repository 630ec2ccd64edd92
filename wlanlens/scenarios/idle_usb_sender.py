from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from wlanlens.scenarios._usb import UsbScenario
from wlanlens.simulation.applications import paced
from wlanlens.simulation.scenario import quantity, scenario


@scenario("idle_usb_sender")
@dataclass(frozen=True, kw_only=True)
class IdleUsbSender(UsbScenario):
    """An application writes little data at intervals over a slow USB bus, which has room for it.

    Few bytes in each millisecond, because there is little to send: the bus does not limit.
    """

    resembles: ClassVar[tuple[str, ...]] = ("usb_bottleneck",)

    reclamation: bool = quantity(False, "Full-speed bandwidth reclamation (FSBR).")
    message_bytes: int = quantity(1448, "Size of one write.", least=1, most=1 << 30)
    every_s: float = quantity(0.1, "How often, s.", least=1e-3, most=1e6)

    def application(self) -> Mapping[str, Any]:
        return paced(self.message_bytes, self.every_s)
