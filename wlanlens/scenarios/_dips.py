"""Spells at an interval, in which a link is bad or only looks so."""

from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenario import Scenario, quantity, repeated


@dataclass(frozen=True, kw_only=True)
class Dips(Scenario):
    """When the spells come."""

    duration_s: float = quantity(20.0, "Simulated time, s.", least=1e-3, most=1e6)
    first_s: float = quantity(3.0, "When the first begins, s.", least=0.0, most=1e6)
    lasts_s: float = quantity(0.5, "How long each is, s.", least=1e-3, most=1e6)
    every_s: float = quantity(4.0, "From one to the next, s.", least=1e-3, most=1e6)

    def spells_s(self) -> tuple[tuple[float, float], ...]:
        """(from, for) of each."""
        return tuple((start, self.lasts_s) for start in repeated(self, self.first_s, self.every_s))
