"""The ledger and the verdict against captures with known answers, by the scorers that came with them, unchanged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import wlanlens as wl

SHARED = Path(__file__).parents[3] / "shared"


@pytest.mark.skipif(not (SHARED / "kernel" / "ledger.py").exists(), reason="the kernel captures are not here")
def test_every_check_of_the_ledger_at_both_taps() -> None:
    command = [sys.executable, str(SHARED / "kernel" / "ledger.py"), str(SHARED / "kernel")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    hold, checks = done.stdout.splitlines()[-1].split(":")[1].split()[0].split("/")
    # Timers of SYNs are no longer part of the handshake, which has its checks only above a tenth of the life.
    assert hold == checks, done.stdout
    assert int(checks) >= 590


@pytest.mark.skipif(not (SHARED / "answers" / "labels.tsv").exists(), reason="the labelled captures are not here")
def test_every_labelled_capture() -> None:
    answers = SHARED / "answers"
    command = [
        sys.executable,
        str(answers / "score_answers.py"),
        str(answers / "labels.tsv"),
        str(answers / "captures"),
    ]
    done = subprocess.run(
        [*command, str(SHARED / "captures")], check=False, capture_output=True, text=True, timeout=300
    )
    assert done.stdout.splitlines()[-1].startswith("16 of 16"), done.stdout + done.stderr


@pytest.mark.skipif(
    not (SHARED / "captures" / "tcp" / "206_example_b.pcap").exists(), reason="the captures are not here"
)
def test_expiries_of_a_silent_peer_are_backoff_though_a_tap_may_have_missed_some() -> None:
    # The sender repeats two segments at each expiry, after 0.3, 0.4, 0.5, 0.8 ... 15.6 s, and nobody answers: the last ACK passed 0.3 s
    # before the first of them, four times as long as an answer to it takes.
    trace = wl.open(SHARED / "captures" / "tcp" / "206_example_b.pcap")
    rows = trace.table("timeouts").to_pylist()
    assert [row["backoff"] for row in rows if row["flow"] == 0] == list(range(12))
    waits = [r for r in trace.table("intervals").to_pylist() if r["flow"] == 0 and r["state"] == "backoff_wait"]
    assert sum(r["t_end_ns"] - r["t_start_ns"] for r in waits) > 79e9
