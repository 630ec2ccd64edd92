from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._download import DownloadWorld
from wlanlens.simulation.config import World
from wlanlens.simulation.scenario import quantity, scenario


@scenario("obstructed_client")
@dataclass(frozen=True, kw_only=True)
class ObstructedClient(DownloadWorld):
    """A client without line of sight: the signal is lost for about a second at intervals, and the timer backs off.

    The window-size study's "non line of sight" at the Belkin. With `fade_db` 0 and `frame_error_rate` 0.28 single packets are
    lost instead, as at the Airport.
    """

    shows = ("idle_backoff",)

    duration_s: float = quantity(40.0, "Simulated time, s.", least=1e-3, most=1e6)
    first_s: float = quantity(2.5, "The first fade, s.", least=0.0, most=1e6)
    lasts_s: float = quantity(0.9, "How long a fade is, s.", least=0.0, most=1e6)
    every_s: float = quantity(3.7, "Period of the fades, s.", least=1e-3, most=1e6)
    fade_db: float = quantity(40.0, "How deep it is, dB.", least=0.0, most=200.0)
    snr_db: float = quantity(20.0, "Signal-to-noise ratio in 22 MHz outside the fades, dB.", least=-20.0, most=90.0)
    frame_error_rate: float = quantity(0.0, "Share of frames lost at all times.", least=0.0, most=1.0)
    retry_limit: int = quantity(4, "Attempts of a frame.", least=1, most=255)

    def world(self) -> World:
        return self.through(
            self.cell(
                {"short_retry_limit": self.retry_limit},
                snr_db=self.snr_db,
                frame_error_rate=self.frame_error_rate,
                fades_s=((self.first_s, self.lasts_s, self.fade_db, self.every_s),),
            )
        )
