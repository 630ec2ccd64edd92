from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wlanlens.scenarios._weak import Weak
from wlanlens.simulation.rate_control import multiplicative
from wlanlens.simulation.scenario import quantity, scenario


@scenario("rate_thrashing")
@dataclass(frozen=True, kw_only=True)
class RateThrashing(Weak):
    """Both stations raise their rate repeatedly where only the lowest works, and drop the frame that probes it.

    The firmware defect of the USB study (section 4.3.2): after `up_after` frames the next one is sent at 11 Mb/s three
    times, then at 5.5 Mb/s up to the retry limit, or `middle_attempts` times and then at 1 Mb/s; nearly all of these fail.
    """

    shows = ("rate_thrashing",)

    up_after: int = quantity(10, "Frames at the low rate before the next increase.", least=1, most=10_000)
    middle_attempts: int = quantity(100, "Transmissions at 5.5 Mb/s before 1 Mb/s.", least=0, most=255)

    def rate_control(self) -> dict[str, Any]:
        return multiplicative(((11.0, 3), (5.5, self.middle_attempts), (1.0, 1)), 1.0, self.up_after)
