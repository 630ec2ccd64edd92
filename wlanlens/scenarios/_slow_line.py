"""The Seawind study's network: a host behind a last-hop router and a link of 9600 bit/s, 200 ms each way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wlanlens.simulation.applications import file
from wlanlens.simulation.config import Flow, Node, Tcp, Wire, World
from wlanlens.simulation.queue_discipline import dual_threshold, red, tail_drop
from wlanlens.simulation.scenario import Scenario, quantity

#: A buffer of this many packets never fills: the receiver's window is smaller.
UNLIMITED = 100_000


@dataclass(frozen=True, kw_only=True)
class SlowLineWorld(Scenario):
    """A file of 100 KiB over the study's link; the parameters are those that its tables vary."""

    duration_s: float = quantity(1000.0, "Simulated time at most, s.", least=1e-3, most=1e6)
    file_bytes: int = quantity(100 << 10, "Size of the file.", least=1, most=1 << 40)
    flows: int = quantity(1, "Transfers at once.", least=1, most=1000)
    rate_bps: float = quantity(9600.0, "Of the line.", least=1.0, most=1e12)
    delay_s: float = quantity(0.2, "Of the line, each way, s.", least=0.0, most=1e3)
    buffer_packets: int = quantity(7, "Queue length before the link, packets.", least=0, most=UNLIMITED)
    discipline: str = quantity("tail_drop", "Of that buffer.", among=("tail_drop", "red", "dual_threshold"))
    soft_packets: int = quantity(
        10, "Queue length at which the dual threshold drops one packet.", least=1, most=UNLIMITED
    )
    again_packets: int = quantity(0, "Arrivals until it drops the next packet; 0: never.", least=0, most=UNLIMITED)
    loss_rate: float = quantity(0.0, "Packet loss rate of the link, each way.", least=0.0, most=1.0)
    mss_bytes: int = quantity(256, "Segments.", least=88, most=65_000)
    initial_window_segments: int = quantity(2, "Initial window.", least=1, most=1000)
    receive_window_bytes: int = quantity(32_696, "The receiver's buffer.", least=88, most=1 << 30)
    sack: bool = quantity(False, "Selective acknowledgments.")
    recovery: str = quantity(
        "newreno",
        "Recovery without SACK; newreno does not reduce cwnd twice in one loss episode.",
        among=("newreno", "newreno_careless", "reno"),
    )

    rto: str = quantity("linux24", "The retransmission timer.", among=("linux24", "linux", "rfc6298"))

    def queue(self) -> Mapping[str, Any]:
        """The queue discipline of the buffer."""
        made = {
            "tail_drop": tail_drop(),
            "red": red(mean_packet_bytes=self.mss_bytes + 48),
            "dual_threshold": dual_threshold(self.soft_packets, self.again_packets),
        }
        return made.get(self.discipline, {"kind": self.discipline})

    def tcp(self) -> Tcp:
        """The study's baseline: New Reno, delayed ACKs, no timestamps."""
        return Tcp(
            mss_bytes=self.mss_bytes,
            initial_window_segments=self.initial_window_segments,
            receive_window_bytes=max(self.receive_window_bytes, self.mss_bytes),
            sack=self.sack,
            recovery=self.recovery,
            timestamps=False,
            counts_segments=False,
            prr=False,
            limited_transmit=False,
            eifel=False,
            frto=False,
            quick_acks=0,
            delayed_ack_timer_s=0.2,
            rto=self.rto,
            rto_min_s=0.2 if self.rto.startswith("linux") else 1.0,
        )

    def line(self, **more: Any) -> Wire:
        """The link from the router to the receiver, with its buffer; PPP adds 8 bytes to a packet."""
        return Wire(
            2,
            1,
            rate_bps=self.rate_bps,
            delay_s=self.delay_s,
            header_bytes=8,
            queue_packets=self.buffer_packets,
            discipline=self.queue(),
            loss_rate=self.loss_rate,
            **more,
        )

    def over(self, line: Wire) -> World:
        """The transfers over this link; the sender is connected to the router by Ethernet."""
        flows = tuple(Flow(0, 1, file(self.file_bytes), tcp=self.tcp()) for _ in range(self.flows))
        nodes = (Node("sender"), Node("receiver"), Node("router"))
        return World(nodes=nodes, wires=(Wire(0, 2, rate_bps=10e6, delay_s=0.0001), line), flows=flows)

    def world(self) -> World:
        return self.over(self.line())
