from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._line import line
from wlanlens.simulation.applications import file
from wlanlens.simulation.config import Flow, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("lost_tail")
@dataclass(frozen=True, kw_only=True)
class LostTail(Scenario):
    """The last segments of short transfers are lost: too little data follows, so only a timer detects the loss.

    Ten files one after another; `tail_loss_probe` detects the loss after two round trips instead (RFC 8985).
    """

    shows = ("tail_loss",)

    duration_s: float = quantity(30.0, "Simulated time at most, s.", least=1e-3, most=1e6)
    file_bytes: int = quantity(60_000, "Size of a file.", least=1, most=1 << 30)
    files: int = quantity(10, "How many.", least=1, most=1000)
    lost_segments: int = quantity(2, "Number of a file's last segments that are lost once.", least=1, most=3)
    tail_loss_probe: bool = quantity(False, "Tail loss probes.")
    think_s: float = quantity(0.3, "Mean time between files, s.", least=0.0, most=1e4)

    def world(self) -> World:
        segments = -(-self.file_bytes // 1448)
        # Retransmissions count too: as many as were lost, but a probe reveals the others one by one.
        again = self.lost_segments
        lost: list[int] = []
        for n in range(self.files):
            begin = n * (segments + again)
            lost += range(begin + max(0, segments - self.lost_segments), begin + segments)
        tcp = Tcp(tail_loss_probe=self.tail_loss_probe)
        flows = tuple(
            Flow(0, 1, file(self.file_bytes), tcp=tcp, after=n - 1 if n else None, think_s=self.think_s)
            for n in range(self.files)
        )
        return line(*flows, lose_data=tuple(lost))
