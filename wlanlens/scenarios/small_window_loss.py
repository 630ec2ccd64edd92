from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._download import DownloadWorld
from wlanlens.simulation.scenario import quantity, scenario


@scenario("small_window_loss")
@dataclass(frozen=True, kw_only=True)
class SmallWindowLoss(DownloadWorld):
    """A window of two segments and random losses: three duplicate ACKs are impossible, so every loss waits for the timer.

    The window-size study's smallest window. With `window_segments` 15 duplicate ACKs detect nearly all losses.
    """

    window_segments: int = quantity(2, "The client's window, segments.", least=1, most=10_000)
    loss_rate: float = quantity(
        0.045, "Probability that a data packet is lost before the access point.", least=0.0, most=1.0
    )
