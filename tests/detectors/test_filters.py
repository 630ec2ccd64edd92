"""Wireshark accepts every display filter, and it selects the evidence."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

import wlanlens as wl
from tests import kernel
from wlanlens.registry import units

pytestmark = [
    kernel.needed,
    pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed"),
]


#: Scenarios for the codes that no kernel capture shows.
SIMULATED = ("delayed_ack_deadlock", "periodic_access_point_drops", "repeated_fast_retransmit")


def examples(folder: Path) -> dict[Path, list[wl.Finding]]:
    """One finding of each code, by capture."""
    out: dict[Path, list[wl.Finding]] = {}
    seen: set[str] = set()

    def take(path: Path, findings: Iterable[wl.Finding]) -> None:
        for finding in findings:
            if finding.code not in seen:
                seen.add(finding.code)
                out.setdefault(path, []).append(finding)

    for name in ("mixed_newreno", "blackout3", "bloat100", "ackhold120", "zerowin", "tail_tlp", "m_blackhole"):
        take(kernel.FOLDER / f"{name}.sender.pcap", kernel.found(name))
    for name in SIMULATED:
        path = wl.simulate(name, folder / name, taps=("sender",)).captures["sender"]
        take(path, wl.detect(wl.align([path])))
    return out


def test_tshark_accepts_filters_and_selects_the_evidence(tmp_path: Path) -> None:
    # Those of the air have their own, test_air_capture; those of several captures show packets of each.
    tcp = {code for code, unit in units("detectors").items() if not {"frames", "urbs", "links"} & set(unit.needs)}
    found = examples(tmp_path)
    assert {finding.code for mine in found.values() for finding in mine} == tcp
    for path, mine in found.items():
        either = " || ".join(f"({finding.display_filter})" for finding in mine)
        command = ["tshark", "-n", "-r", str(path), "-Y", either, "-T", "fields", "-e", "frame.number"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        rows = {row for finding in mine for _, _, rows in finding.evidence for row in rows}
        assert {int(n) for n in done.stdout.split()} == rows
