from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenario import Scenario, quantity, scenario
from wlanlens.world import Flow, Node, Tcp, Wire, World, file


@scenario("slow_line")
@dataclass(frozen=True, kw_only=True)
class SlowLine(Scenario):
    """A file over a line of 9600 bit/s with a small buffer before it: start-up overflow, and idle time at random losses.

    The wireless wide-area setup of the Seawind study: 200 ms each way, segments of 256 bytes.
    """

    duration_s: float = quantity(1000.0, "Simulated time at most, s.", least=1e-3, most=1e6)
    file_bytes: int = quantity(100 << 10, "Size of the file.", least=1, most=1 << 40)
    buffer_packets: int = quantity(7, "Packets that wait before the line.", least=0, most=100_000)
    loss_rate: float = quantity(0.0, "Chance that the line loses a packet, each way.", least=0.0, most=1.0)
    sack: bool = quantity(False, "Selective acknowledgments.")

    def world(self) -> World:
        tcp = Tcp(
            mss_bytes=256,
            receive_window_bytes=32_696,
            sack=self.sack,
            timestamps=False,
            prr=False,
            frto=False,
            quick_acks=0,
            delayed_ack_timer_s=0.2,
            rto="rfc6298",
            rto_min_s=1.0,
        )
        line = Wire(
            0,
            1,
            rate_bps=9600.0,
            delay_s=0.2,
            header_bytes=8,
            queue_packets=self.buffer_packets,
            loss_rate=self.loss_rate,
        )
        return World(
            nodes=(Node("sender"), Node("receiver")), wires=(line,), flows=(Flow(0, 1, file(self.file_bytes), tcp=tcp),)
        )
