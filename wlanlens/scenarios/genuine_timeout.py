from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._pair import pair
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Bursts, Flow, RadioPath, Station, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("genuine_timeout")
@dataclass(frozen=True, kw_only=True)
class GenuineTimeout(Scenario):
    """The link is dead for half a second now and then: data is lost, and the timer expires with reason.

    The look-alike of a spurious timeout, and of the resends that an adapter's queue sends after their ACK:
    what is outstanding is sent again as far as it is not acknowledged.
    """

    shows = ("idle_backoff",)
    resembles = ("spurious_timeout", "acked_data_retransmission", "ack_holding")

    duration_s: float = quantity(60.0, "Simulated time, s.", least=1e-3, most=1e6)
    dead_s: float = quantity(0.7, "Mean length of a dead time, s.", least=1e-3, most=1e4)
    alive_s: float = quantity(5.0, "Mean time between two, s.", least=1e-3, most=1e4)
    sack: bool = quantity(True, "Selective acknowledgments.")
    attempts: int = quantity(3, "Of a frame, by the sender's adapter.", least=1, most=255)

    def world(self) -> World:
        tcp = Tcp(sack=self.sack, frto=False, dsack=self.sack)
        bursts = (Bursts(self.alive_s, self.dead_s, clock="time"),)
        # An adapter that gives up soon has nothing left of the flight when the link is back: none of it arrives late.
        sender = Station(node=0, short_retry_limit=self.attempts)
        # Only the way of the data: ACKs lost as well would make some timeouts spurious.
        paths = (RadioPath(0, 1, bursts=0),)
        return pair((sender, Station(node=1)), Flow(0, 1, bulk(), tcp=tcp), bursts=bursts, paths=paths)
