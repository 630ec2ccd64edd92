"""The benchmarks' own code still fits the package: each step and one simulation run once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.captures import SAMPLES

BENCHES = Path(__file__).parent.parent / "benches"
SENDER, RECEIVER = (str(SAMPLES / f"usb_ack_holding.{tap}.pcap") for tap in ("sender", "receiver"))


@pytest.mark.parametrize("step", ["decode", "facts", "detectors", "align"])
def test_a_step_is_measured(step: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(str(BENCHES))
    import steps

    steps.main([step, SENDER, RECEIVER, "--runs", "1"])
    rows, spent = json.loads(capsys.readouterr().out)
    assert len(spent) == 1
    assert (rows > 0) == (step == "align")


def test_one_simulation_is_measured(tmp_path: Path) -> None:
    words = ["clean_link", str(tmp_path / "out"), "all", "duration_s=1"]
    subprocess.run([sys.executable, str(BENCHES / "simulate_once.py"), *words], check=True)
    assert (tmp_path / "out" / "truth.json").exists()
