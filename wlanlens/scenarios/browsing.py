from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wlanlens.simulation.applications import pareto, request
from wlanlens.simulation.config import Cell, Flow, Node, Station, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario


@scenario("browsing")
@dataclass(frozen=True, kw_only=True)
class Browsing(Scenario):
    """A user loads pages through an access point, with thinking time between: all idle time is application-limited.

    Each page is a connection: a request by the station, an answer of heavy-tailed size, a close. 802.11b, no errors.
    """

    clean: ClassVar[bool] = True
    resembles: ClassVar[tuple[str, ...]] = ("delayed_ack_deadlock", "idle_backoff", "tail_loss")

    duration_s: float = quantity(30.0, "Simulated time at most, s.", least=1e-3, most=1e6)
    pages: int = quantity(20, "Pages fetched.", least=1, most=10_000)
    think_s: float = quantity(1.0, "Mean time between pages, s.", least=0.0, most=1e4)
    request_bytes: int = quantity(400, "Size of a request.", least=1, most=1 << 20)
    mean_bytes: float = quantity(60_000.0, "Mean size of a page.", least=1.0, most=1e9)
    shape: float = quantity(1.5, "Shape of the Pareto distribution of sizes.", least=1.01, most=100.0)

    def world(self) -> World:
        flows = tuple(
            Flow(
                0,
                1,
                request(self.request_bytes, pareto(self.mean_bytes, self.shape, number=n, of=self.pages)),
                tcp=Tcp(),
                after=n - 1 if n else None,
                think_s=self.think_s if n else 0.0,
            )
            for n in range(self.pages)
        )
        return World(
            nodes=(Node("reader"), Node("access point")),
            cell=Cell((Station(node=0), Station(node=1, access_point=True)), beacons=False),
            flows=flows,
        )
