from __future__ import annotations

from dataclasses import dataclass, replace

from wlanlens.scenarios._download import DownloadWorld
from wlanlens.simulation.config import TapClock, World
from wlanlens.simulation.scenario import quantity, scenario


@scenario("deaf_sniffer")
@dataclass(frozen=True, kw_only=True)
class DeafSniffer(DownloadWorld):
    """A download whose packets are lost on the air, with two transmissions per frame, while the sniffer misses one frame in five.

    The missed frames were on the air: the look-alike of drops in the access point's queue.
    """

    resembles = ("ap_buffer_loss",)

    missed_share: float = quantity(0.2, "Frames that the sniffer misses.", least=0.0, most=1.0)
    frame_error_rate: float = quantity(0.08, "Share of bad frames.", least=0.0, most=0.9)
    retry_limit: int = quantity(2, "Attempts of a frame.", least=1, most=255)

    def world(self) -> World:
        cell = self.cell({"short_retry_limit": self.retry_limit}, frame_error_rate=self.frame_error_rate)
        return replace(self.through(cell), clocks={"air": TapClock(missed_share=self.missed_share)})
