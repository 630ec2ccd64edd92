from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._slow_line import UNLIMITED, SlowLineWorld
from wlanlens.simulation.scenario import quantity, scenario


@scenario("early_drop_at_buffer")
@dataclass(frozen=True, kw_only=True)
class EarlyDropAtBuffer(SlowLineWorld):
    """A buffer drops one packet when slow start has filled part of it, so slow start never overshoots it.

    The dual threshold that the Seawind study proposes against start-up overflow; `discipline` tail_drop removes it.
    """

    resembles = ("startup_overflow",)

    buffer_packets: int = quantity(30, "Queue length before the link, packets.", least=0, most=UNLIMITED)
    discipline: str = quantity("dual_threshold", "Of that buffer.", among=("tail_drop", "red", "dual_threshold"))
