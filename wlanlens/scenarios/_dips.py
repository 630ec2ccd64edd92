"""Periodic spells in which a link is bad or only looks bad."""

from __future__ import annotations

from dataclasses import dataclass

from wlanlens.simulation.scenario import Scenario, quantity


@dataclass(frozen=True, kw_only=True)
class Dips(Scenario):
    """Times of the spells."""

    duration_s: float = quantity(20.0, "Simulated time, s.", least=1e-3, most=1e6)
    first_s: float = quantity(3.137, "When the first begins, s.", least=0.0, most=1e6)
    lasts_s: float = quantity(0.46, "How long each is, s.", least=1e-3, most=1e6)
    every_s: float = quantity(3.9, "From one to the next, s.", least=1e-3, most=1e6)

    depth_db: float = quantity(15.0, "How much is lost, dB.", least=0.0, most=100.0)
    snr_db: float = quantity(
        22.5, "Signal-to-noise ratio outside the spells, in 22 MHz, dB; 11 Mb/s needs 8.5.", least=-20.0, most=90.0
    )

    def spells_s(self) -> tuple[tuple[float, float, float, float], ...]:
        """The spells in the simulator's format."""
        return ((self.first_s, self.lasts_s, self.depth_db, self.every_s),)
