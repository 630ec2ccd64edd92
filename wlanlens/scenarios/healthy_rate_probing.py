from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wlanlens.scenarios._weak import Weak
from wlanlens.simulation.rate_control import automatic
from wlanlens.simulation.scenario import quantity, scenario


@scenario("healthy_rate_probing")
@dataclass(frozen=True, kw_only=True)
class HealthyRateProbing(Weak):
    """Rate control that probes higher rates carefully, where the defective one thrashes: it loses little.

    ARF, AARF or minstrel, on a constant channel or with multipath fading (`doppler_hz` above 0).
    """

    resembles = ("rate_thrashing",)

    algorithm: str = quantity("arf", "Which.", among=("arf", "aarf", "minstrel"))
    doppler_hz: float = quantity(0.0, "Doppler frequency: 8 Hz at walking speed; 0: no fading.", least=0.0, most=1e4)
    direct_factor: float = quantity(
        0.0, "Rice K factor: power of the direct wave over that of the others.", least=0.0, most=1e4
    )

    def rate_control(self) -> dict[str, Any]:
        return automatic(self.algorithm)

    def air(self) -> dict[str, Any]:
        return {"multipath": (self.doppler_hz, self.direct_factor) if self.doppler_hz > 0 else None}
