from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wlanlens.scenarios._weak import Weak
from wlanlens.simulation.rate_control import DSSS_MBPS, fixed
from wlanlens.simulation.scenario import quantity, scenario


@scenario("weak_link")
@dataclass(frozen=True, kw_only=True)
class WeakLink(Weak):
    """A link on which only 1 and 2 Mb/s work, at one constant rate: slow, but as fast as possible.

    The USB study's static rates (section 4.3.2): 0.77 Mb/s at 1 Mb/s, 1.46 at 2.
    """

    resembles = ("rate_thrashing", "stuck_rate")

    rate_mbps: float = quantity(2.0, "Data rate of both stations.", least=1.0, most=11.0, among=DSSS_MBPS)

    def rate_control(self) -> dict[str, Any]:
        return fixed(self.rate_mbps)
