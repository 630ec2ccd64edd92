"""Counts in `flows` agree with the rows of `segments` and `timeouts` that several captures corrected."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa

import wlanlens as wl
from tests.captures import samples


def counted(rows: list[dict[str, object]], column: str) -> Counter[tuple[object, ...]]:
    return Counter((row["capture"], row["flow"], row["direction"], row[column]) for row in rows)


def check(flows: pa.Table, segments: pa.Table, timeouts: pa.Table) -> int:
    spurious, kinds = counted(segments.to_pylist(), "spurious"), counted(timeouts.to_pylist(), "kind")
    for row in flows.to_pylist():
        key = (row["capture"], row["flow"], row["direction"])
        assert row["spurious_retransmissions"] == spurious[(*key, True)]
        assert row["needed_retransmissions"] == spurious[(*key, False)]
        for kind in ("genuine", "spurious", "ack_lost", "undecided"):
            assert row[f"rto_{kind}"] == kinds[(*key, kind)]
    return int(sum(flows.column("spurious_retransmissions").to_pylist()))


def test_of_each_capture_alone() -> None:
    # At the sender alone one of the two is undecided.
    trace = wl.align(samples()["usb_ack_holding"])
    assert check(trace.table("flows"), trace.table("segments"), trace.table("timeouts")) == 8


def test_of_an_analysis(tmp_path: Path) -> None:
    trace = wl.analyze(samples()["usb_ack_holding"], out=tmp_path / "out", report=False).trace
    assert check(trace.table("flows"), trace.table("segments"), trace.table("timeouts")) == 2
