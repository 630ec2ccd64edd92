"""acked_data_retransmission: retransmissions that pass the tap after their ACK."""

from __future__ import annotations

import pytest

from tests import kernel
from tests.detectors.made import MSS, ack, again, data, flows, run, trace

CODE = "acked_data_retransmission"


def rows(after_ms: float, *, acked: int = 1 + 2 * MSS) -> list[dict[str, object]]:
    """Two segments, their ACK, and a retransmission of the second this long after the ACK."""
    return [
        data(1, 0, 1),
        data(2, 0, 1 + MSS),
        ack(3, 100, acked),
        again(4, 100 + after_ms, 1 + MSS, spurious=True),
    ]


def test_fires_and_names_the_queue() -> None:
    found, _ = run(CODE, trace(segments=rows(12)))
    (finding,) = found
    assert finding.values["cause"] == "queue before the tap"
    assert finding.values["longest_after_ack_ms"] == pytest.approx(12)
    assert finding.cost_s == pytest.approx(0.040 / 10)
    assert finding.rows("segments") == (4,)


def test_a_long_delay_is_not_a_queue() -> None:
    found, _ = run(CODE, trace(segments=rows(700)))
    assert [f.values["cause"] for f in found] == ["ACK not seen by the sender"]


def test_no_finding_for_look_alikes() -> None:
    assert run(CODE, trace(segments=rows(12, acked=1 + MSS))) == ([], [])
    needed = [{**row, "spurious": False} if "spurious" in row else row for row in rows(12)]
    assert run(CODE, trace(segments=needed)) == ([], [])


def test_away_from_the_sender_undecided() -> None:
    found, undecided = run(CODE, trace(flows(tap="middle"), segments=rows(12)))
    assert not found
    assert [u.count for u in undecided] == [1]


@kernel.needed
def test_kernel_capture() -> None:
    found = kernel.of(kernel.found("mixed_newreno"), CODE)
    true = {
        round(r["t"], 4)
        for r in kernel.truth("mixed_newreno")["flows"][0]["retransmission_list"]
        if r.get("reason") == "already_acked"
    }
    segments = kernel.trace("mixed_newreno").table("segments").select(["packet", "t_ns"]).to_pydict()
    times = dict(zip(segments["packet"], segments["t_ns"], strict=True))
    begin = kernel.offset_s("mixed_newreno")
    assert found
    assert all(round(times[p] / 1e9 - begin, 4) in true for f in found for p in f.rows("segments"))


@kernel.needed
@pytest.mark.parametrize("name", ["blackout3", "reorder1", "rnd2_cubic", "tail_tlp", "burst_newreno", "synloss"])
def test_no_finding_in_other_kernel_captures(name: str) -> None:
    assert not kernel.of(kernel.found(name), CODE)
