from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._pair import pair
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Bursts, Flow, RadioPath, Station, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("genuine_timeout")
@dataclass(frozen=True, kw_only=True)
class GenuineTimeout(Scenario):
    """The link is down for half a second at intervals: data is lost, and the timeouts are genuine.

    The look-alike of a spurious timeout, and of retransmissions queued in an adapter until after their ACK:
    all unacknowledged data is retransmitted.
    """

    shows = ("idle_backoff",)
    resembles = ("spurious_timeout", "acked_data_retransmission", "ack_holding")

    duration_s: float = quantity(60.0, "Simulated time, s.", least=1e-3, most=1e6)
    dead_s: float = quantity(0.7, "Mean length of a time without link, s.", least=1e-3, most=1e4)
    alive_s: float = quantity(5.0, "Mean time between two, s.", least=1e-3, most=1e4)
    sack: bool = quantity(True, "Selective acknowledgments.")
    attempts: int = quantity(3, "Transmissions per frame by the sender's adapter.", least=1, most=255)

    def world(self) -> World:
        tcp = Tcp(sack=self.sack, frto=False, dsack=self.sack)
        bursts = (Bursts(self.alive_s, self.dead_s, clock="time"),)
        # An adapter with a low retry limit has dropped the whole flight when the link is back: nothing arrives late.
        sender = Station(node=0, short_retry_limit=self.attempts)
        # Only the data direction: lost ACKs would make some timeouts spurious.
        paths = (RadioPath(0, 1, bursts=0),)
        return pair((sender, Station(node=1)), Flow(0, 1, bulk(), tcp=tcp), bursts=bursts, paths=paths)
