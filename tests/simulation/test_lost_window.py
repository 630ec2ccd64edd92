"""lost_window: the idle-time study's figure 2, and the study's remedy."""

from __future__ import annotations

import numpy as np
import pytest

import wlanlens as wl


def longest_silence_s(rto: str) -> float:
    packets = wl.simulate("lost_window", rto=rto).facts.packets
    client = np.asarray(packets["direction"].cast("string")) == "a2b"
    return float(np.diff(np.sort(np.asarray(packets["t_made_ns"])[client])).max()) / 1e9


@pytest.mark.parametrize(
    ("rto", "low", "high"), [("linux22", 57.2, 58.0), ("linux22_reset", 3.0, 4.0), ("linux", 0.2, 5.0)]
)
def test_kept_backoff_makes_the_silence(rto: str, low: float, high: float) -> None:
    assert low < longest_silence_s(rto) < high


def test_the_truth_has_the_senders_variables_at_timeouts_and_in_the_recovery_after_them() -> None:
    events = wl.simulate("lost_window").facts.events.to_pylist()
    known = [e for e in events if e["cwnd_segments"] is not None]
    assert {e["what"] for e in known} == {"timeout", "loss_state"}
    assert [(e["what"], e["cwnd_segments"], e["backoff"], e["outstanding_segments"]) for e in known[:3]] == [
        ("timeout", 8, 0, 8),
        ("loss_state", 1, 1, 8),
        ("timeout", 1, 1, 8),
    ]
