from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._line import line
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, repeated, scenario


@scenario("lost_acks")
@dataclass(frozen=True, kw_only=True)
class LostAcks(Scenario):
    """Only ACKs are lost, all of them for some time: the timer expires although the data arrived.

    The look-alike of ACK holding: the first ACK after the silence is new, and there is no burst; and of retransmissions after
    their ACK: that ACK never reached the sender.
    """

    shows = ("spurious_timeout", "ack_loss")
    resembles = ("ack_holding", "acked_data_retransmission")

    duration_s: float = quantity(20.0, "Simulated time, s.", least=1e-3, most=1e6)
    lost_s: float = quantity(0.5, "Length of the ACK loss, s.", least=0.0, most=100.0)
    first_s: float = quantity(3.0, "When first, s.", least=0.0, most=1e6)
    every_s: float = quantity(4.0, "Period of the ACK loss, s.", least=1e-3, most=1e6)
    loss_rate: float = quantity(0.0005, "Packet loss rate, each way, at all times.", least=0.0, most=1.0)

    def world(self) -> World:
        spans = tuple((start, self.lost_s) for start in repeated(self, self.first_s, self.every_s))
        return line(Flow(0, 1, bulk(), tcp=Tcp(frto=False)), ack_blackouts_s=spans, loss_rate=self.loss_rate)
