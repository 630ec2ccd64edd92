from __future__ import annotations

from dataclasses import dataclass

from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Cell, Flow, Node, Station, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, repeated, scenario


@scenario("held_acks_stamp_defect")
@dataclass(frozen=True, kw_only=True)
class HeldAcksStampDefect(Scenario):
    """ACKs are kept twice and more, and Linux 2.4 does not notice that its first timeout was spurious.

    The USB study's section 4.2: the stamp of the first resend is that of the SYN, so the first timeout is followed by slow
    start and spurious resends, later ones are undone. The receiver reports no duplicates; the adapter takes one packet at
    a time, and 100 wait for it, so that tcpdump sees resends after the ACK that covers them.
    """

    shows = ("spurious_timeout", "ack_holding", "acked_data_retransmission")

    duration_s: float = quantity(12.0, "Simulated time, s.", least=1e-3, most=1e6)
    hold_s: float = quantity(0.6, "How long ACKs are kept, s.", least=0.0, most=100.0)
    first_s: float = quantity(2.0, "When they are kept first, s.", least=0.0, most=1e6)
    every_s: float = quantity(4.0, "From one hold to the next, s.", least=1e-3, most=1e6)
    stamp_defect: bool = quantity(True, "Linux 2.4's stamp of the first resend.")
    dsack: bool = quantity(False, "The receiver reports duplicates (RFC 2883).")
    device_frames: int = quantity(1, "Packets that the adapter takes before it has sent one.", least=1, most=1000)

    def world(self) -> World:
        holds = tuple((start, self.hold_s) for start in repeated(self, self.first_s, self.every_s))
        tcp = Tcp(frto=False, dsack=self.dsack, eifel_first_stamp_defect=self.stamp_defect, rto="linux24", quick_acks=0)
        stations = (Station(node=0, queue_frames=self.device_frames), Station(node=1))
        return World(
            nodes=(Node("sender", queue_packets=100, holds_s=holds), Node("receiver")),
            cell=Cell(stations, ad_hoc=True, beacons=False),
            flows=(Flow(0, 1, bulk(), tcp=tcp),),
        )
