"""What really happened in a simulation, and what a detector must find of it: one file a family of causes.

Each module beside this one has `CODES`, the codes that it decides, and `findings(facts) -> list of Finding`: from what
the simulator did, never from a capture, and by the same rule in every world. Times are ns since the run's start; `capture` names a capture that shows it.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.detection.finding import Finding
    from wlanlens.simulation.config import World


@dataclass(frozen=True, eq=False)
class Truth:
    """What really happened in a run, as tables.

    Attributes
    ----------
    packets, frames, events, queues, urbs : pyarrow.Table
        `truth_packets`, `truth_frames` ...; every column is documented in its field's metadata.
    world : World
        What was simulated.
    """

    packets: pa.Table
    frames: pa.Table
    events: pa.Table
    queues: pa.Table
    urbs: pa.Table
    world: World

    def subject(self, flow: int, direction: str) -> str:
        """ "10.0.0.1:40000 > 10.0.0.2:5001", as the captures have it."""
        f = self.world.flows[flow]
        ends = [f"{address(f.client)}:{40_000 + flow}", f"{address(f.server)}:{5001 if f.tcp is not None else 9}"]
        a, b = ends if direction == "a2b" else ends[::-1]
        return f"{a} > {b}"

    @property
    def end_ns(self) -> int:
        """When the last packet met its fate."""
        import pyarrow.compute as pc

        return int(pc.max(self.packets.column("t_end_ns")).as_py() or 0)

    def pair(self, station: int, to: int) -> str:
        """ "station 02:.. > 02:..": who sends to whom in the cell."""
        cell = self.world.cell
        if cell is None:
            raise ValueError("there is no cell")
        a, b = (_mac(cell.stations[place].node) for place in (station, to))
        return f"station {a} > {b}"

    def findings(self) -> list[Finding]:
        """What must be found, in order of time."""
        found = []
        for module in _modules():
            found += module.findings(self)
        return sorted(found, key=lambda f: (f.t_start_ns, f.code))

    def on_air(self) -> list[Finding]:
        """What is true besides of packets as a sniffer sees them, before they are where the findings are judged."""
        return [f for module in _modules() if hasattr(module, "on_air") for f in module.on_air(self)]


def codes() -> set[str]:
    """Codes that the truth decides: where it has no finding of one of them, there was none."""
    return {code for module in _modules() for code in getattr(module, "CODES", ())}


def _modules() -> list[ModuleType]:
    names = sorted(info.name for info in pkgutil.iter_modules(__path__) if not info.name.startswith("_"))
    return [importlib.import_module(f"{__name__}.{name}") for name in names]


def address(node: int) -> str:
    """A node's IPv4 address."""
    return f"10.0.{(node + 1) >> 8}.{(node + 1) & 255}"


def _mac(node: int) -> str:
    return "02:00:" + (node + 1).to_bytes(4, "big").hex(":")
