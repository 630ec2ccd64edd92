from __future__ import annotations

from dataclasses import dataclass

from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Cell, Flow, Node, Station, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, repeated, scenario


@scenario("held_acks_timestamp_defect")
@dataclass(frozen=True, kw_only=True)
class HeldAcksTimestampDefect(Scenario):
    """ACKs are held at least twice, and Linux 2.4 does not detect that its first timeout was spurious.

    The USB study's section 4.2: the timestamp of the first retransmission is that of the SYN, so the first timeout is followed by
    slow start and spurious retransmissions; later timeouts are undone. The receiver sends no DSACK; the adapter takes one packet at
    a time, and 100 wait for it, so tcpdump captures retransmissions after the ACK that covers them.
    """

    shows = ("spurious_timeout", "ack_holding", "acked_data_retransmission")

    duration_s: float = quantity(12.0, "Simulated time, s.", least=1e-3, most=1e6)
    hold_s: float = quantity(0.6, "How long ACKs are kept, s.", least=0.0, most=100.0)
    first_s: float = quantity(2.0, "Start of the first hold, s.", least=0.0, most=1e6)
    every_s: float = quantity(4.0, "Period of the holds, s.", least=1e-3, most=1e6)
    stamp_defect: bool = quantity(True, "Linux 2.4's defect: wrong timestamp of the first retransmission.")
    dsack: bool = quantity(False, "The receiver reports duplicates with DSACK (RFC 2883).")
    device_frames: int = quantity(1, "Packets that the adapter accepts before it has sent one.", least=1, most=1000)

    def world(self) -> World:
        holds = tuple((start, self.hold_s) for start in repeated(self, self.first_s, self.every_s))
        tcp = Tcp(frto=False, dsack=self.dsack, eifel_first_stamp_defect=self.stamp_defect, rto="linux24", quick_acks=0)
        stations = (Station(node=0, queue_frames=self.device_frames), Station(node=1))
        return World(
            nodes=(Node("sender", queue_packets=100, holds_s=holds), Node("receiver")),
            cell=Cell(stations, ad_hoc=True, beacons=False),
            flows=(Flow(0, 1, bulk(), tcp=tcp),),
        )
