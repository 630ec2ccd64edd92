from __future__ import annotations

from dataclasses import dataclass

from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Cell, Flow, Node, Station, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, repeated, scenario


@scenario("ack_holding")
@dataclass(frozen=True, kw_only=True)
class AckHolding(Scenario):
    """The sender's adapter holds received ACKs for longer than the retransmission timeout, then passes them on together.

    Nothing is lost on the air or at the receiver, but the timer expires (the USB study's section on spurious
    timeouts).
    """

    shows = ("spurious_timeout", "ack_holding")
    resembles = ("ack_loss",)

    hold_s: float = quantity(0.4, "How long ACKs are kept, s.", least=0.0, most=100.0)
    first_s: float = quantity(2.0, "Start of the first hold, s.", least=0.0, most=1e6)
    every_s: float = quantity(3.0, "Period of the holds, s.", least=1e-3, most=1e6)
    timestamps: bool = quantity(True, "TCP timestamps, which prove that the timeout was spurious.")
    frto: bool = quantity(False, "F-RTO (RFC 5682).")

    def world(self) -> World:
        holds = tuple((start, self.hold_s) for start in repeated(self, self.first_s, self.every_s))
        tcp = Tcp(timestamps=self.timestamps, frto=self.frto)
        return World(
            nodes=(Node("sender", holds_s=holds), Node("receiver")),
            cell=Cell((Station(node=0), Station(node=1)), ad_hoc=True, beacons=False),
            flows=(Flow(0, 1, bulk(), tcp=tcp),),
        )
