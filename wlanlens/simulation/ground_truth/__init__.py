"""Ground truth of a simulation, and the findings that a detector must make: one file for each family of causes.

Each module has `CODES`, the codes that it decides, and `findings(facts) -> list of Finding`, from the simulator's tables, never
from a capture, with the same rule in every world. Times are ns since the start of the run; `capture` names a capture that shows it.
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
    """Ground truth of a run, as tables.

    Attributes
    ----------
    packets, frames, events, queues, urbs, ledger : pyarrow.Table
        `truth_packets`, `truth_frames` ...; the field metadata documents every column.
    world : World
        The simulated world.
    """

    packets: pa.Table
    frames: pa.Table
    events: pa.Table
    queues: pa.Table
    urbs: pa.Table
    ledger: pa.Table
    world: World

    def subject(self, flow: int, direction: str) -> str:
        """ "10.0.0.1:40000 > 10.0.0.2:5001", as the captures have it."""
        f = self.world.flows[flow]
        ends = [f"{address(f.client)}:{40_000 + flow}", f"{address(f.server)}:{5001 if f.tcp is not None else 9}"]
        a, b = ends if direction == "a2b" else ends[::-1]
        return f"{a} > {b}"

    @property
    def end_ns(self) -> int:
        """End of the last packet's path: its arrival or loss."""
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
        """The findings to make, in order of time."""
        found = []
        for module in _modules():
            found += module.findings(self)
        return sorted(found, key=lambda f: (f.t_start_ns, f.code))

    def on_air(self) -> list[Finding]:
        """Further true findings as a sniffer sees the packets, before they reach the point where findings are judged."""
        return [f for module in _modules() if hasattr(module, "on_air") for f in module.on_air(self)]


def codes() -> set[str]:
    """Codes that the ground truth decides: no finding of such a code means that the event did not happen."""
    return {code for module in _modules() for code in getattr(module, "CODES", ())}


def _modules() -> list[ModuleType]:
    names = sorted(info.name for info in pkgutil.iter_modules(__path__) if not info.name.startswith("_"))
    return [importlib.import_module(f"{__name__}.{name}") for name in names]


def address(node: int) -> str:
    """A node's IPv4 address."""
    return f"10.0.{(node + 1) >> 8}.{(node + 1) & 255}"


def _mac(node: int) -> str:
    return "02:00:" + (node + 1).to_bytes(4, "big").hex(":")
