"""airtime_overhead: beacons, management and low basic rates."""

from __future__ import annotations

from typing import Any

import pytest

from tests.detectors.made import MS, run
from tests.firing import Small
from tests.rows import table
from wlanlens.trace import Trace

CODE = "airtime_overhead"

#: A small simulated world in which it finds something. The contract tests read this name.
FIRES_ON = Small("crowded_channel", 1.5, ("air",))


def frames(kind: str, subtype: str, every_ms: float, airtime_us: float, rate_mbps: float, **more: Any) -> list[Any]:
    """Frames for two seconds."""
    row = {
        "type": kind,
        "subtype": subtype,
        "airtime_us": airtime_us,
        "rate_mbps": rate_mbps,
        "channel_mhz": 2412,
        **more,
    }
    return [{**row, "packet": n, "t_ns": int(n * every_ms * MS)} for n in range(int(2000 / every_ms) + 1)]


def found(*rows: list[dict[str, Any]]) -> list[Any]:
    numbered = [{**row, "packet": n} for n, row in enumerate(row for part in rows for row in part)]
    return run(CODE, Trace.of_tables({"frames": table("frames", numbered)}, duration_ns=2000 * MS))[0]


def test_beacons_of_many_networks() -> None:
    (finding,) = found(frames("management", "beacon", 10, 2600, 1.0, ta="02:00:00:00:00:01", mpdu_bytes=300))
    assert finding.values["overhead_share"] == pytest.approx(0.26, rel=0.01)
    assert finding.values["beacon_senders_count"] == 1
    assert finding.cost_s == pytest.approx(0.52, rel=0.01)


def test_control_frames_count_with_what_a_low_rate_adds() -> None:
    """An ACK at 1 Mbit/s takes 304 us, and would take 202 us at 11 Mbit/s."""
    (finding,) = found(frames("control", "ack", 0.4, 304, 1.0, mpdu_bytes=14))
    assert finding.values["low_rates_s"] == pytest.approx(5000 * 102e-6, rel=0.01)
    assert found(frames("control", "ack", 0.4, 202, 11.0, mpdu_bytes=14)) == []


def test_data_and_few_beacons_are_no_overhead() -> None:
    assert found(frames("data", "data", 2, 1900, 11.0, mpdu_bytes=1500)) == []
    assert found(frames("management", "beacon", 102.4, 2600, 1.0, mpdu_bytes=300)) == []
    damaged = frames("management", "beacon", 10, 2600, 1.0, mpdu_bytes=300, fcs_ok=False)
    assert found(damaged) == []
