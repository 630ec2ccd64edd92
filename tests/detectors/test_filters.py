"""Every display filter is one that Wireshark takes, and selects the evidence."""

from __future__ import annotations

import shutil
import subprocess

import pytest

import wlanlens as wl
from tests import kernel
from wlanlens.registry import units

pytestmark = [
    kernel.needed,
    pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed"),
]


def examples() -> list[tuple[str, wl.Finding]]:
    """One finding of each code."""
    out: dict[str, tuple[str, wl.Finding]] = {}
    for name in ("mixed_newreno", "blackout3", "bloat100", "ackhold120", "zerowin", "tail_tlp"):
        for finding in kernel.found(name):
            out.setdefault(finding.code, (name, finding))
    return list(out.values())


def test_tshark_takes_it_and_finds_the_evidence() -> None:
    # Those of the air have their own: test_air_capture.
    tcp = {code for code, unit in units("detectors").items() if not {"frames", "urbs"} & set(unit.needs)}
    assert {finding.code for _, finding in examples()} == tcp
    for name in dict.fromkeys(name for name, _ in examples()):
        mine = [finding for at, finding in examples() if at == name]
        either = " || ".join(f"({finding.display_filter})" for finding in mine)
        capture = str(kernel.FOLDER / f"{name}.sender.pcap")
        command = ["tshark", "-n", "-r", capture, "-Y", either, "-T", "fields", "-e", "frame.number"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        rows = {row for finding in mine for _, _, rows in finding.evidence for row in rows}
        assert {int(n) for n in done.stdout.split()} == rows
