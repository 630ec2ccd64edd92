from __future__ import annotations

from dataclasses import dataclass, replace

from wlanlens.scenarios._weak import LINUX24
from wlanlens.simulation.applications import bulk, udp
from wlanlens.simulation.config import Cell, Flow, Node, RadioPath, Station, Usb, Wire, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario

#: A sender without SACK and without limited transmit (nothing sent on the first two duplicate ACKs).
NEWRENO = replace(
    LINUX24,
    sack=False,
    fack=False,
    rate_halving=False,
    lost_retransmissions=False,
    linux24_scoreboard=False,
    burst_segments=0,
    limited_transmit=False,
)


@scenario("no_mac_retransmission")
@dataclass(frozen=True, kw_only=True)
class NoMacRetransmission(Scenario):
    """A station, or both ends of its link, never retries a frame: each collision of data with an ACK is a TCP loss.

    The USB study's section 4.3.1, with a patched driver: TCP loses a quarter of its throughput, UDP does not. The other end is
    an access point with a wired host.
    """

    ends: str = quantity("station", "Who does not.", among=("none", "station", "both"))
    datagrams: bool = quantity(False, "UDP instead of TCP.")
    snr_db: float = quantity(
        9.5, "Signal-to-noise ratio in 22 MHz: 0.7 % of full frames at 11 Mb/s fail at 9.5 dB.", least=-20.0, most=90.0
    )
    receive_window_bytes: int = quantity(24_576, "The receiver's buffer: that of SunOS 5.8.", least=1448, most=1 << 30)
    sack: bool = quantity(True, "Selective acknowledgments.")
    usb: bool = quantity(False, "The station's adapter is on a USB bus, as the study's.")
    sender: str = quantity(
        "linux24", "TCP sender: the study's, or RFC 6582 without SACK.", among=("linux24", "newreno")
    )

    def world(self) -> World:
        adapter = Usb() if self.usb else None
        station = Station(node=0, short_retry_limit=1 if self.ends != "none" else 7, usb=adapter)
        access_point = Station(node=1, access_point=True, short_retry_limit=1 if self.ends == "both" else 7)
        tcp = LINUX24 if self.sender == "linux24" else NEWRENO
        tcp = replace(tcp, receive_window_bytes=self.receive_window_bytes, sack=self.sack and tcp.sack)
        flow = Flow(0, 2, udp(8e6), tcp=None) if self.datagrams else Flow(0, 2, bulk(), tcp=tcp)
        return World(
            nodes=(Node("station"), Node("access_point"), Node("host")),
            cell=Cell(
                (station, access_point),
                beacons=False,
                paths=(RadioPath(0, 1, snr_db=self.snr_db), RadioPath(1, 0, snr_db=self.snr_db)),
            ),
            wires=(Wire(1, 2),),
            flows=(flow,),
            receiver=2,
        )
