"""The sentence on a path that was full: what it carried, by the ACKs at the sender."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
import pytest

import wlanlens as wl
from tests.captures import sample
from wlanlens.detection.full_path import OF_SEGMENTS, full_path
from wlanlens.report import downsampling

S = 10**9


def test_a_full_path_is_said_with_its_rate_and_its_queue() -> None:
    # The line of this sample carries 5 Mbit/s, of which headers take 3 %; its ACKs need 20 ms.
    trace = sample("clean_cubic.sender")
    assert full_path(trace, (0, "a2b"), 1_500_000, 2_528_000_000) == (
        ", full at 4.75 of 4.84 Mbit/s (round trip 101 ms on average, 20.4 ms at least)"
    )


def test_segments_that_the_report_leaves_out_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    capture = wl.simulate("many_downloads", tmp_path / "made", seed=1, taps=("sender",), duration_s=1.0).captures[
        "sender"
    ]
    trace = wl.analyze(capture, out=tmp_path / "out", report=False).trace
    segments, flow = trace.table("segments"), trace.table("flows").column("flow")[0].as_py()
    monkeypatch.setattr(downsampling, "SEGMENT_ROWS", segments.num_rows // 2)
    drawn = downsampling.Digest(trace.captures, trace._held, range(9), start_ns=0, duration_ns=trace.duration_ns)
    assert drawn.table("segments").num_rows < segments.num_rows
    own = segments.filter(pc.equal(segments.column("flow"), flow)).select(OF_SEGMENTS)
    assert own.equals(drawn.of_flow(flow).table("segments"))
    assert own.equals(trace.of_flow(flow).table("segments").select(OF_SEGMENTS))


@pytest.mark.parametrize(
    ("which", "payload_bytes", "lifetime_ns"),
    [
        ((0, "a2b"), 1_300_000, 2_528_000_000),
        ((0, "a2b"), 1_700_000, 2_528_000_000),
        ((7, "a2b"), 1, S),
        ((0, "a2b"), 1, 0),
    ],
)
def test_a_path_with_room_is_not_called_full(which: tuple[int, str], payload_bytes: int, lifetime_ns: int) -> None:
    assert full_path(sample("clean_cubic.sender"), which, payload_bytes, lifetime_ns) == ""


def test_away_from_the_sender_nothing_is_said() -> None:
    trace = sample("burst_loss.air")
    columns = (trace.table("flows")[name].to_pylist() for name in ("payload_bytes", "flow", "direction"))
    _, flow, direction = max(zip(*columns, strict=True))
    assert all(full_path(trace, (flow, direction), kbps * 125, S) == "" for kbps in range(1000, 15_000, 100))
