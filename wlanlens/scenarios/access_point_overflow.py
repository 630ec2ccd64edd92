from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._download import DownloadWorld
from wlanlens.simulation.scenario import quantity, scenario


@scenario("access_point_overflow")
@dataclass(frozen=True, kw_only=True)
class AccessPointOverflow(DownloadWorld):
    """A window of 43 segments does not fit into an access point's queue of 30, and slow start overshoots it.

    The window-size study's largest window. Afterwards the window grows into the queue repeatedly: these
    cycles of growth and loss are the look-alike of periodic losses.
    """

    shows = ("startup_overflow", "ap_buffer_loss")
    resembles = ("periodic_loss",)

    window_segments: int = quantity(43, "The client's window, segments.", least=1, most=10_000)
    queue_packets: int = quantity(30, "Queue length at the access point, packets.", least=1, most=100_000)
