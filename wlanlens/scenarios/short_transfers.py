from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios import _reserved
from wlanlens.simulation.applications import file, pareto
from wlanlens.simulation.config import Flow, World
from wlanlens.simulation.scenario import FLOWS_MOST, Scenario, few_flows, quantity, scenario

#: (n, d): up to segment number n an ACK for every d segments (Altman and Jimenez 2003); d = 4 after that.
DYNAMIC = ((1, 1), (4, 2), (8, 3))


@scenario("short_transfers")
@dataclass(frozen=True, kw_only=True)
class ShortTransfers(Scenario):
    """Files of heavy-tailed size, one connection each, one after the other at every station: the delayed-ACK timer ends most of them.

    The feedback-traffic study's section 5: Pareto sizes of mean 30 kB and shape 1.5 in whole segments, no FIN, so
    a file whose number of segments is no multiple of d waits for the delayed-ACK timer. Every seed and setting has the same
    set of sizes in another order.
    """

    duration_s: float = quantity(600.0, "Simulated time at most, s.", least=1e-3, most=1e6)
    stations: int = quantity(1, "Stations that fetch files from the access point.", least=1, most=200)
    files: int = quantity(300, "Files of each station.", least=1, most=20_000)
    think_s: float = quantity(0.0, "Mean time between files, s.", least=0.0, most=1e4)
    mean_bytes: float = quantity(30_000.0, "Mean size of a file.", least=1.0, most=1e9)
    shape: float = quantity(1.5, "Shape of the Pareto distribution.", least=1.01, most=100.0)
    stratified: bool = quantity(True, "Sizes whose mean is exactly that of the distribution; else independent draws.")
    closes: bool = quantity(False, "The sender closes: its FIN is acknowledged at once.")
    window_segments: int = quantity(20, "The receiver's window, segments of 1000 bytes.", least=1, most=10_000)
    delayed_ack_segments: int = quantity(2, "Segments per ACK; also the initial window.", least=1, most=64)
    delayed_ack_timer_s: float = quantity(0.04, "The receiver's delayed-ACK timer, s.", least=0.0, most=10.0)
    dynamic: bool = quantity(False, "An ACK every 1, 2, 3, then 4 segments as the connection proceeds.")

    def world(self) -> World:
        few_flows(self, self.stations * self.files, "files", FLOWS_MOST // self.stations)
        nodes, cell = _reserved.cell(self.stations)
        tcp = _reserved.tcp(
            every=4 if self.dynamic else self.delayed_ack_segments,
            window=self.window_segments,
            timer_s=self.delayed_ack_timer_s,
            steps=DYNAMIC if self.dynamic else (),
            initial=1 if self.dynamic else self.delayed_ack_segments,
        )
        flows: list[Flow] = []
        for station in range(1, self.stations + 1):
            for number in range(self.files):
                of = self.files * self.stations if self.stratified else 0
                place = (station - 1) * self.files + number if self.stratified else 0
                size = pareto(self.mean_bytes, self.shape, number=place, of=of, unit_bytes=_reserved.SEGMENT)
                after = len(flows) - 1 if number else None
                start_s = 0.0 if self.stations == 1 else self.think_s * (station - 0.5) / self.stations
                flows.append(
                    Flow(
                        0,
                        station,
                        file(size, closes=self.closes),
                        start_s=start_s,
                        tcp=tcp,
                        after=after,
                        think_s=self.think_s,
                    )
                )
        return _reserved.world(nodes, cell, tuple(flows))
