from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios.bursty_errors import idle_time_world
from wlanlens.simulation.config import Bursts, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("kept_backoff")
@dataclass(frozen=True, kw_only=True)
class KeptBackoff(Scenario):
    """The link is almost down for a second or two at intervals; the sender stays silent for up to two minutes afterwards.

    Linux 2.2 keeps the RTO backoff when an ACK of new data comes, until nothing is outstanding (the idle-time
    study's table 2). `rto` "linux22_reset" is the study's remedy: backoff ends with that ACK. The remedy needs an ACK of new data between
    the timeouts, as in the study's figure 2. After a time without any frame everything is repaired before the next one, and both senders behave alike.
    """

    shows = ("idle_backoff",)

    duration_s: float = quantity(600.0, "Simulated time at most, s.", least=1e-3, most=1e6)
    file_bytes: int = quantity(40 << 20, "Size of the file.", least=1, most=1 << 40)
    dead_s: float = quantity(2.0, "Mean length of a time without link, s.", least=1e-3, most=1e4)
    alive_s: float = quantity(7.0, "Mean time between two, s.", least=1e-3, most=1e4)
    dead_error_rate: float = quantity(0.9, "Share of bad frames while the link is down.", least=0.0, most=1.0)
    rto: str = quantity("linux22", "The retransmission timer.", among=("linux22", "linux22_reset", "linux", "rfc6298"))

    def world(self) -> World:
        bursts = Bursts(self.alive_s, self.dead_s, error_rate=self.dead_error_rate, clock="time")
        return idle_time_world(self.file_bytes, bursts, self.rto)
