from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._line import line
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, Holds, Node, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("spurious_retransmissions")
@dataclass(frozen=True, kw_only=True)
class SpuriousRetransmissions(Scenario):
    """After a spurious timeout the sender retransmits data that had arrived, and ignores the resulting duplicate ACKs.

    That is right: they carry no SACK blocks and acknowledge only data sent before the timeout (the USB study's section
    4.2.3). ACKs are held at random; the sender has neither Eifel nor F-RTO, the receiver no DSACK.
    """

    shows = ("spurious_timeout", "ack_holding", "acked_data_retransmission", "missing_fast_retransmit")

    duration_s: float = quantity(20.0, "Simulated time, s.", least=1e-3, most=1e6)
    mean_gap_s: float = quantity(3.0, "Mean gap between holds, s.", least=1e-3, most=1e4)
    shortest_s: float = quantity(0.4, "Shortest hold, s.", least=0.0, most=100.0)
    longest_s: float = quantity(0.7, "Longest, s; the shortest if that is longer.", least=0.0, most=100.0)
    dsack: bool = quantity(False, "The receiver reports duplicates with DSACK (RFC 2883).")

    def world(self) -> World:
        holds = Holds(self.mean_gap_s, self.shortest_s, max(self.shortest_s, self.longest_s))
        tcp = Tcp(eifel=False, frto=False, dsack=self.dsack)
        return line(Flow(0, 1, bulk(), tcp=tcp), sender=Node("sender", holds=holds))
