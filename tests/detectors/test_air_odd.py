"""Odd tables: whatever they hold, the detectors of the air end and their findings can be written."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.detectors import worlds
from tests.detectors.changed import with_column
from tests.detectors.made import run
from tests.rows import columns
from wlanlens import tables
from wlanlens.detection import finding
from wlanlens.trace import Trace

STATIONS = ["02:00:00:00:00:0a", "02:00:00:00:00:0b", "03:00:00:00:00:0c", "ff:ff:ff:ff:ff:ff", None]


def some(rng: np.random.Generator, values: list[Any], n: int) -> list[Any]:
    return [values[i] for i in rng.integers(len(values), size=n)]


@cache
def spoilt(seed: int) -> Trace:
    """A world's tables in which one value of twenty is odd."""
    rng = np.random.default_rng(seed)
    world, bad = worlds.trace(["thrashing a", "fades", "stuck", "collisions"][seed % 4], 3), odd(seed)
    held = {name: world.table(name) for name in tables.names()}
    for name in ("frames", "exchanges"):
        table, source = held[name], bad.table(name)
        for field in table.schema:
            if field.name in ("capture", "packet", "packets", "rates_mbps"):
                continue
            values, other = table.column(field.name).to_pylist(), source.column(field.name).to_pylist()
            for at in rng.integers(len(values), size=len(values) // 20):
                values[at] = other[int(rng.integers(len(other)))]
            table = with_column(table, field.name, values)
        held[name] = table
    return Trace.of_tables(held, duration_ns=world.duration_ns)


@cache
def odd(seed: int, n: int = 600) -> Trace:
    """Impossible rows: times that go back, rates of zero, transmissions of missing frames."""
    rng = np.random.default_rng(seed)
    times = [None, 0, -5, 2**62, *(int(t) for t in rng.integers(0, 10**10, size=300))]
    rates = [float("nan"), 0.0, -1.0, 1.0, 11.0, 65.0, 1e9, float("inf")]
    frames = columns("frames", {
        "capture": ["a"] * n, "packet": np.sort(rng.integers(1, 2 * n, size=n)), "t_ns": some(rng, times, n),
        "mpdu_bytes": some(rng, [0, 14, 1500, 2**32 - 1], n), "type": some(rng, ["data", "control", None], n),
        "ta": some(rng, STATIONS, n), "ra": some(rng, STATIONS, n), "retry": some(rng, [True, False, None], n),
        "fcs_ok": some(rng, [True, False, None], n), "rate_mbps": some(rng, rates, n),
        "streams": some(rng, [None, 0, 1, 255], n), "width_mhz": some(rng, [None, 0, 20, 65535], n),
        "signal_dbm": some(rng, [None, -128, -50, 127], n), "ampdu": some(rng, [None, 1, 2, 2**32 - 1], n),
        "airtime_us": some(rng, [float("nan"), 0.0, 100.0, 5e6], n),
    })  # fmt: skip
    packets = [[int(p) for p in rng.integers(0, 2 * n, size=k)] for k in rng.integers(0, 5, size=n)]
    listed = [some(rng, rates, len(p)) for p in packets]
    for k in rng.integers(n, size=5):
        listed[int(k)] = [1.0]
    exchanges = columns("exchanges", {
        "capture": ["a"] * n, "ta": some(rng, STATIONS, n), "ra": some(rng, STATIONS[:-1], n),
        "first_packet": [p[0] if p else None for p in packets], "last_packet": [p[-1] if p else None for p in packets],
        "packets": pa.array(packets, pa.list_(pa.uint64())), "rates_mbps": pa.array(listed, pa.list_(pa.float64())),
        "t_first_ns": some(rng, times, n), "t_last_ns": some(rng, times, n), "t_ack_ns": some(rng, times, n),
        "attempts": some(rng, [0, 1, 2, 8, 65535], n), "attempts_inferred": some(rng, [0, 1, 65535], n),
        "outcome": some(rng, ["delivered", "dropped", "unknown"], n),
        "airtime_us": some(rng, [float("nan"), 0.0, 1e3], n), "mpdu_bytes": some(rng, [None, 0, 1500], n),
        "carries": some(rng, ["tcp_data", "tcp_ack", "udp", "protected", None], n),
        "tcp_kind": some(rng, ["data", "ack", None], n), "flow": some(rng, [0, 1, None], n),
        "direction": some(rng, ["a2b", "b2a", None], n),
    })  # fmt: skip
    held = {**{name: tables.empty(name) for name in tables.names()}, "frames": frames, "exchanges": exchanges}
    return Trace.of_tables(held, duration_ns=10**10)


@pytest.mark.parametrize("code", worlds.FIRES)
@pytest.mark.parametrize("seed", range(4))
def test_odd_rows(code: str, seed: int) -> None:
    low = {
        "data_ack_collision": {"least_exchanges_count": 5, "least_pairs_count": 1, "chance_share": 1.0},
        "burst_loss": {"least_frames_count": 10, "burst_factor": 0.0, "chance_share": 1.0, "missed_share": 1.0},
        "rate_thrashing": {"failures_count": 1, "least_cycles_count": 1, "dropped_share": 0.0, "waste_share": 0.0, "missed_share": 1.0},
        "stuck_rate": {"least_frames_count": 5, "least_time_s": 0.0, "same_share": 0.0, "retry_share": 1.0, "better_receiver_db": 200.0},
        "signal_fade": {"drop_db_ratio": 1.0, "least_frames_count": 1, "failed_factor": 0.0, "chance_share": 1.0},
    }  # fmt: skip
    for trace, thresholds in ((odd(seed), {}), (odd(seed), low[code]), (spoilt(seed), {}), (spoilt(seed), low[code])):
        found, _ = run(code, trace, **thresholds)
        finding.to_json(found)
        finding.to_table(found)
        for one in found:
            assert one.display_filter
            assert one.evidence


@pytest.mark.parametrize("code", worlds.FIRES)
def test_one_row_and_none(code: str) -> None:
    whole = odd(0)
    held = {name: whole.table(name).slice(0, 1) for name in tables.names()}
    for frames, exchanges in ((1, 1), (0, 1), (1, 0)):
        part = {
            **held,
            "frames": whole.table("frames").slice(0, frames),
            "exchanges": whole.table("exchanges").slice(0, exchanges),
        }
        assert run(code, Trace.of_tables(part, duration_ns=1))[0] == []
