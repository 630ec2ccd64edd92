"""The simulated samples: `python -m tests.samples` writes them to sample_traces/ again.

The other samples come from a real kernel (see sample_traces/MANIFEST.tsv). A changed simulator does not change the
samples until this is run; `make golden` must follow.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import wlanlens as wl
from tests.captures import SAMPLES
from wlanlens.simulation import scenario
from wlanlens.simulation.config import TapClock

#: Bytes kept of a packet: all headers of each kind of capture, little payload.
SNAPLEN_BYTES = {"sender": 100, "receiver": 100, "air": 150, "usb": 264}


class Sample(NamedTuple):
    """Captures of one world; `points` says which tap is written under which point's name."""

    stem: str
    scenario: str
    points: dict[str, str]
    parameters: dict[str, Any]
    seed: int = 7


ALL = (
    Sample(
        "usb_ack_holding",
        "ack_holding_over_usb",
        {"sender": "sender", "usb": "usb", "air": "air", "receiver": "receiver"},
        {"duration_s": 0.8, "receive_window_bytes": 8192, "mean_gap_s": 0.3},
    ),
    # The server is wired to the access point: its capture is the access point's wired side.
    Sample(
        "ap_overflow",
        "access_point_overflow",
        {"ap": "sender", "air": "air", "receiver": "receiver"},
        {"duration_s": 0.5},
    ),
    Sample("burst_loss", "burst_loss", {"air": "air"}, {"duration_s": 0.6}),
)


def write(sample: Sample, out: Path) -> list[Path]:
    """Simulate a sample and write its captures as STEM.POINT.pcap."""
    made = scenario.find(sample.scenario).make(sample.parameters)
    taps = tuple(sample.points.values())
    clocks = {tap: TapClock(snaplen_bytes=SNAPLEN_BYTES[tap]) for tap in taps}
    written = []
    with tempfile.TemporaryDirectory(dir=out) as folder:
        run = wl.simulate(made, folder, seed=sample.seed, taps=taps, clocks=clocks, truth=False)
        for point, tap in sample.points.items():
            written.append(run.captures[tap].replace(out / f"{sample.stem}.{point}.pcap"))
    return written


def main() -> None:
    """Write every simulated sample."""
    for sample in ALL:
        for path in write(sample, SAMPLES):
            print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
