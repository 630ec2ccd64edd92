from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.models.usb_bus import UsbBus
from wlanlens.papers._air import throughput_mbps
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from wlanlens.simulation.simulate import Run

_S = 60.0
#: Omitted at the beginning, s: not the steady state.
_SETTLED_NS = 1_000_000_000


@dataclass(frozen=True)
class _Cell:
    """A cell of table 2."""

    depth_first: bool
    queued: bool
    reclamation: bool
    mbps: float
    sd: float
    off: float = 0.0

    @property
    def name(self) -> str:
        first = "depth first" if self.depth_first else "breadth first"
        return f"{first}, {'queued' if self.queued else 'queueless'}, FSBR {'on' if self.reclamation else 'off'}"

    @property
    def case(self) -> tuple[str, dict[str, object]]:
        modes = {"depth_first": self.depth_first, "queued": self.queued}
        return "clean_usb_link" if self.reclamation else "slow_bus", {"duration_s": _S, **modes}

    @property
    def model(self) -> UsbBus:
        return UsbBus(depth_first=self.depth_first, queued=self.queued, reclamation=self.reclamation)


#: In the table's order: mode, mean and standard deviation of ten runs, half the band.
_CELLS = (
    _Cell(False, False, False, 0.44, 0.00, 0.02),
    _Cell(False, True, False, 0.46, 0.00, 0.01),
    _Cell(True, False, False, 2.89, 0.00, 0.1),
    _Cell(True, True, False, 3.84, 0.02, 0.1),
    _Cell(False, False, True, 5.16, 0.04),
    _Cell(False, True, True, 5.16, 0.03),
    _Cell(True, False, True, 5.14, 0.05),
    _Cell(True, True, True, 5.15, 0.06),
)


def _measure(run: Run) -> tuple[float, float]:
    """TCP throughput in Mb/s, and ms between the transfers of consecutive segments."""
    import pyarrow.compute as pc

    urbs = run.facts.urbs
    done = np.asarray(urbs.filter(pc.equal(urbs["direction"], "out"))["t_complete_ns"])
    done = done[done >= _SETTLED_NS]
    return throughput_mbps(run), float(done[-1] - done[0]) / 1e6 / (len(done) - 1)


@experiment("usb_host_modes", study="usb_adapter", source="section 4.1.2, table 2; appendix A")
def usb_host_modes(lab: Lab) -> Result:
    """TCP throughput in the eight modes of the USB host controller: without reclamation the bus limits, with it the channel.

    Ten runs of 60 s for each mode, as in the study; a laptop with the adapter, an access point, a host on its LAN.
    """
    runs = [np.array(results) for results in lab.measure_all(_measure, [c.case for c in _CELLS], seeds=10)]
    means = [float(r[:, 0].mean()) for r in runs]
    deviations = [float(r[:, 0].std(ddof=1)) for r in runs]
    rows = [*_printed()]
    for cell, run, mean in zip(_CELLS, runs, means, strict=True):
        if cell.reclamation:
            band, because = (5.0, 5.3), "the air limits"
        else:
            band = (cell.mbps - cell.off, cell.mbps + cell.off)
            because = f"{cell.model.frames():g} frames a segment of {cell.model.transactions()} transactions"
        rows.append(Row(f"{cell.name} (Mb/s)", f"{cell.mbps:.2f}", "Q", mean, band, because=because))
        if not cell.reclamation:
            frames = cell.model.frames()
            rows.append(
                Row(f"{cell.name}: ms a segment", "not printed", "E", float(run[:, 1].mean()),
                    (frames - 0.01, frames + 0.01), because="whole frames: the bus is deterministic")
            )  # fmt: skip
    rows += [
        Row(f"depth first, {'queued' if queued else 'queueless'}, without refusal by the adapter: the bus alone (Mb/s)",
            "not printed", "N", UsbBus(depth_first=True, queued=queued, refuses_second=False).throughput_bps() / 1e6,
            because="turnaround and new frames alone leave one frame per segment unexplained: the refusal is inferred from it")
        for queued in (False, True)
    ]  # fmt: skip
    reclaimed = [m for c, m in zip(_CELLS, means, strict=True) if c.reclamation]
    spread = 100 * (max(reclaimed) / min(reclaimed) - 1)
    rows.append(
        Row(
            "FSBR on: the fastest mode over the slowest (%)",
            "0.4",
            "Q",
            spread,
            (0.0, 2.0),
            because="the air limits all four",
        )
    )
    bus, air = (max(d for c, d in zip(_CELLS, deviations, strict=True) if c.reclamation is on) for on in (False, True))
    rows.append(
        Row("standard deviation of ten runs, maximum with FSBR off; on (Mb/s)", "0.02; 0.06", "S",
            f"{bus:.4f}; {air:.4f}", holds=bus < 0.02 and bus < air, because="the bus is deterministic, the channel is not")
    )  # fmt: skip
    return Result(tuple(rows), (("Table 2: TCP throughput in eight modes of the bus", _figure(means, deviations)),))


def _printed() -> list[Row]:
    """The study's calculation."""
    bus = UsbBus()
    exact = (
        ("transactions of a 1500-byte packet", "24", float(bus.bare_transactions()), 24.0, 0.0, "1500 / 64"),
        ("with the descriptor", "not printed", float(bus.transactions()), 25.0, 0.0, "(1500 + 14 + 60) / 64"),
        ("one transaction a frame (kb/s)", "512", bus.one_transaction_bps() / 1e3, 512.0, 1e-9, "64 B a ms"),
        ("0.44 Mb/s of that", "0.86", 0.44e6 / bus.one_transaction_bps(), 0.86, 0.005, "the study's overhead of 15 %"),
        ("two packets in seven frames (Mb/s)", "3.43", bus.pattern_bps(7, 2) / 1e6, 3.43, 0.005,
         "DATA DATA IDLE DATA DATA ACK IDLE"),
        ("85 % of it (Mb/s)", "2.9", 0.85 * bus.pattern_bps(7, 2) / 1e6, 2.91, 0.005, "the same overhead, fitted"),
        ("a packet in two frames (Mb/s)", "6", bus.pattern_bps(2, 1) / 1e6, 6.0, 1e-9, "FSBR on: no idle frame"),
        ("19 bulk transactions a frame (Mb/s)", "9.728", bus.full_bps() / 1e6, 9.728, 0.0005, "appendix A"),
        ("1023 isochronous bytes a frame (Mb/s)", "8.184", bus.isochronous_bps() / 1e6, 8.184, 0.0005, "appendix A"),
    )  # fmt: skip
    return [
        Row(what, printed, "E", ours, (value - off, value + off), because=because, origin="computed")
        for what, printed, ours, value, off, because in exact
    ]


def _figure(means: list[float], deviations: list[float]) -> Figure:
    """The table as bars: the study and this simulation."""
    import plotly.graph_objects as go

    names = [c.name.replace(", ", "<br>") for c in _CELLS]
    bars = (
        ("study", [c.mbps for c in _CELLS], [c.sd for c in _CELLS], "#c9ced6"),
        ("simulated", means, deviations, "#0072b2"),
        ("bus alone, in whole frames", [c.model.throughput_bps() / 1e6 for c in _CELLS], None, "#7a5195"),
    )
    figure = go.Figure(
        [
            go.Bar(x=names, y=y, name=name, marker_color=colour, error_y={"array": sd} if sd is not None else None)
            for name, y, sd, colour in bars
        ]
    )
    figure.update_layout(title="TCP throughput and USB modes", yaxis_title="Mb/s", template="simple_white")
    return figure
