"""Every display filter is one that Wireshark takes, and selects the evidence."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests import kernel

pytestmark = [
    kernel.needed,
    pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed"),
]


@pytest.mark.parametrize(
    "name", ["mixed_newreno", "blackout3", "bloat100", "ackhold120", "zerowin", "tail_tlp", "synloss"]
)
def test_tshark_takes_it_and_finds_the_evidence(name: str) -> None:
    found = kernel.found(name)
    assert found
    for finding in found:
        capture = str(kernel.FOLDER / f"{name}.sender.pcap")
        command = ["tshark", "-n", "-r", capture, "-Y", finding.display_filter, "-T", "fields", "-e", "frame.number"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert {int(n) for n in done.stdout.split()} == {row for _, _, rows in finding.evidence for row in rows}
