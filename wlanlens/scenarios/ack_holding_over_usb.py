from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wlanlens.scenarios._usb import UsbScenario
from wlanlens.simulation.config import Holds, Node, Tcp
from wlanlens.simulation.scenario import quantity, scenario


@scenario("ack_holding_over_usb")
@dataclass(frozen=True, kw_only=True)
class AckHoldingOverUsb(UsbScenario):
    """A USB adapter holds received ACKs at random times: on time on the air, then no IN transfer, then many together.

    The USB study's section 4.2.1 at all four capture points. With `mean_gap_s` 0 the adapter holds nothing.
    """

    shows: ClassVar[tuple[str, ...]] = ("ack_holding",)

    duration_s: float = quantity(20.0, "Simulated time, s.", least=1e-3, most=1e6)
    mean_gap_s: float = quantity(2.0, "Mean gap between holds, s; 0: no holds.", least=0.0, most=1e6)
    shortest_s: float = quantity(0.3, "The shortest hold, s.", least=0.0, most=100.0)
    longest_s: float = quantity(0.6, "The longest hold, s; the shortest if that is longer.", least=0.0, most=100.0)
    run_probability: float = quantity(
        1.0,
        "Probability that a run has holds; in the study a quarter of the runs had them.",
        least=0.0,
        most=1.0,
    )
    timestamps: bool = quantity(True, "TCP timestamps, which prove that the timeout was spurious.")
    frto: bool = quantity(False, "F-RTO (RFC 5682).")

    def laptop(self) -> Node:
        holds = Holds(self.mean_gap_s, self.shortest_s, max(self.shortest_s, self.longest_s), self.run_probability)
        return Node("laptop", holds=holds if self.mean_gap_s > 0 else None)

    def tcp(self) -> Tcp:
        return Tcp(receive_window_bytes=self.receive_window_bytes, timestamps=self.timestamps, frto=self.frto)
