"""repeated_fast_retransmit: several cwnd reductions in one loss episode; separate losses and partial ACKs do not count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import wlanlens as wl
from tests import kernel
from tests.detectors.made import MSS, ack, again, data, flows, run, timeout, trace
from wlanlens.trace import Trace

CODE = "repeated_fast_retransmit"


def dupacks(packet: int, t_ms: float, number: int, count: int = 3) -> list[dict[str, Any]]:
    return [ack(packet + i, t_ms + i, number, kind="dupack", dupacks=i + 1) for i in range(count)]


def resend(packet: int, t_ms: float, seq: int, flight: int, **more: Any) -> dict[str, Any]:
    return again(packet, t_ms, seq, **{"trigger": "fast", "spurious": False, "flight_bytes": flight * MSS, **more})


def reno(*, second: int = 6, partial_dupacks: bool = True, spurious: bool = False, timestamps: bool = True) -> Trace:
    """Segments 0 to 9 are in flight when the first is found lost; then another, by duplicate ACKs after the partial ACK."""
    rows = [data(1 + i, 1000 + i, 1 + i * MSS) for i in range(second + 4)]
    rows += dupacks(20, 1020, 1)
    rows.append(resend(30, 1022.5, 1, 10, spurious=spurious))
    partial = 1 + second * MSS
    rows.append(ack(40, 1060, partial, dupacks=0))
    if partial_dupacks:
        rows += dupacks(41, 1061, partial)
    rows.append(resend(50, 1063.5, partial, 4, trigger="partial_ack"))
    rows.append(ack(60, 1090, 1 + 20 * MSS, dupacks=0))
    recovery = {
        "packet": 30, "t_start_ns": 1_022_500_000, "t_end_ns": 1_090_000_000, "ended_by": "acked", "dupacks": 3,
        "retransmissions": 2, "spurious_retransmissions": 0, "undecided": 0, "recover_rel_seq": 1 + 10 * MSS,
    }  # fmt: skip
    ordered = sorted(rows, key=lambda row: row["packet"])
    return trace(flows(timestamps_agreed=timestamps), segments=ordered, recoveries=[recovery])


def test_reno_reduces_cwnd_for_each_loss() -> None:
    (finding,), _ = run(CODE, reno())
    assert finding.values["cwnd_reductions_count"] == 2
    assert (finding.t_start_ns, finding.t_end_ns) == (1_022_500_000, 1_090_000_000)
    assert finding.cost_s == pytest.approx(0.0265)


@pytest.mark.parametrize("evidence", ["duplicate_acks", "partial_ack"])
def test_duplicate_acks_before_an_ack_that_ends_a_recovery_count_on(evidence: str) -> None:
    """World 364227: Linux begins the next recovery with that ACK, and the next loss of the same window reduces cwnd again."""
    made = {name: reno().table(name).to_pylist() for name in ("segments", "recoveries", "flows")}
    made["segments"] = [row for row in made["segments"] if row["packet"] not in range(20, 23)]
    made["segments"].append(ack(20, 1020, 1, dupacks=0))
    made["segments"].sort(key=lambda row: row["packet"])
    for row in made["segments"]:
        if row["packet"] == 30:
            row["trigger_evidence"] = evidence
    made["recoveries"][0]["dupacks"] = 0
    flow_rows = made.pop("flows")
    found, _ = run(CODE, trace(flow_rows, **made))
    assert [f.values["cwnd_reductions_count"] for f in found] == ([2] if evidence == "duplicate_acks" else [])


@pytest.mark.parametrize("tap", ["near_sender", "near_receiver"])
def test_the_answers_may_wait_in_the_queue_before_the_tap(tap: str) -> None:
    """World 381297: only reordering; both retransmissions passed after the ACKs of what was missing, and all before them was sent."""
    rows: list[dict[str, Any]] = [data(1 + i, 1000 + i, 1 + i * MSS) for i in range(10)]
    rows += [*dupacks(20, 1020, 1), ack(24, 1024, 1 + 4 * MSS), resend(30, 1040, 1, 6, spurious=True)]
    rows += [
        *dupacks(41, 1041, 1 + 6 * MSS),
        ack(45, 1045, 1 + 8 * MSS),
        resend(50, 1060, 1 + 6 * MSS, 2, spurious=True),
    ]
    rows.append(ack(60, 1070, 1 + 10 * MSS))
    for row in rows:
        row["phase"] = "open"
    found, _ = run(CODE, trace(flows(timestamps_agreed=False, tap=tap), segments=rows))
    times = [(f.t_start_ns, f.t_end_ns) for f in found]
    assert times == ([(1_022_000_000, 1_070_000_000)] if tap == "near_sender" else [])


@pytest.mark.parametrize(("dupacks_seen", "number"), [(3, 1), (0, 0)])
def test_without_sack_a_recovery_begins_with_duplicate_acks(dupacks_seen: int, number: int) -> None:
    """The tap took the partial ACK's retransmission for the begin of a recovery: the sender had begun it before (world 320034)."""
    made = reno(partial_dupacks=False)
    second = {**made.table("recoveries").to_pylist()[0], "packet": 50, "dupacks": dupacks_seen}
    rows = [*made.table("recoveries").to_pylist(), second]
    again = trace(flows(), segments=made.table("segments").to_pylist(), recoveries=rows)
    assert len(run(CODE, again)[0]) == number


def test_a_spurious_reduction_may_have_been_undone() -> None:
    found, (open_,) = run(CODE, reno(spurious=True))
    assert not found
    assert open_.spans[0][1:] == (1_022_500_000, 1_090_000_000)
    # Without timestamps the sender does not know.
    found, undecided = run(CODE, reno(spurious=True, timestamps=False))
    assert (len(found), undecided) == (1, [])


@pytest.mark.parametrize(("trigger", "number"), [("tail_loss_probe", 0), ("undecided", 0), ("go_back_n", 1)])
def test_only_going_back_shows_that_a_timeout_was_not_undone(trigger: str, number: int) -> None:
    rows = [data(1 + i, 1000 + i, 1 + i * MSS) for i in range(6)]
    rows.append(resend(30, 1300, 1, 6, trigger="rto", trigger_evidence="timer_expired", spurious=True))
    rows.append(ack(40, 1310, 1 + MSS, dupacks=0))
    rows.append(resend(45, 1400, 1 + 4 * MSS, 5, trigger=trigger, trigger_evidence="timer_expired"))
    rows += dupacks(46, 1410, 1 + MSS)
    rows.append(resend(50, 1412.5, 1 + MSS, 5))
    rows.append(ack(60, 1440, 1 + 6 * MSS, dupacks=0))
    recovery = {
        "packet": 50, "t_start_ns": 1_412_500_000, "t_end_ns": 1_440_000_000, "ended_by": "acked", "dupacks": 3,
        "retransmissions": 1, "spurious_retransmissions": 0, "undecided": 0, "recover_rel_seq": 1 + 6 * MSS,
    }  # fmt: skip
    expiry = timeout(30, 1300, flight_bytes=6 * MSS)
    found, _ = run(CODE, trace(flows(), segments=rows, recoveries=[recovery], timeouts=[expiry]))
    assert len(found) == number


def test_a_retransmission_on_the_partial_ack_belongs_to_the_recovery() -> None:
    assert run(CODE, reno(partial_dupacks=False)) == ([], [])


def test_a_loss_above_the_recovery_point_is_separate() -> None:
    assert run(CODE, reno(second=12)) == ([], [])


def left_recovery(*, new_data: bool = True, sack: bool = False) -> Trace:
    """A partial ACK that the sender answers with new data, if with anything, until its timer expires for the next loss."""
    rows = [data(1 + i, 1000 + i, 1 + i * MSS) for i in range(10)]
    rows += dupacks(20, 1020, 1)
    rows.append(resend(30, 1022.5, 1, 10))
    partial = 1 + 2 * MSS
    rows.append(ack(40, 1060, partial, dupacks=0))
    if new_data:
        rows.append(data(41, 1060.1, 1 + 10 * MSS))
    rows += dupacks(42, 1061, partial, count=1)
    more = {"trigger_evidence": "sack_blocks"} if sack else {}
    rows.append(resend(50, 1300, partial, 9, trigger="rto", **more))
    rows.append(ack(60, 1330, 1 + 11 * MSS, dupacks=0))
    recovery = {
        "packet": 30, "t_start_ns": 1_022_500_000, "t_end_ns": 1_060_000_000, "ended_by": "timeout", "dupacks": 3,
        "retransmissions": 1, "spurious_retransmissions": 0, "undecided": 0, "recover_rel_seq": 1 + 10 * MSS,
    }  # fmt: skip
    expired = timeout(50, 1300, rel_seq=partial)
    return trace(segments=sorted(rows, key=lambda row: row["packet"]), recoveries=[recovery], timeouts=[expired])


def test_a_sender_that_left_recovery_at_a_partial_ack_reduces_again_at_its_timer() -> None:
    (finding,), _ = run(CODE, left_recovery())
    assert finding.values["cwnd_reductions_count"] == 2
    assert finding.t_start_ns == 1_022_500_000


def test_a_sender_that_sends_nothing_may_still_be_in_recovery() -> None:
    """Proportional rate reduction, as in Linux, may let NewReno send nothing for a partial ACK."""
    assert run(CODE, left_recovery(new_data=False)) == ([], [])
    assert run(CODE, left_recovery(sack=True)) == ([], [])


def careless(spurious: int) -> Trace:
    """A timeout, a number of spurious retransmissions, and a fast retransmit at the recovery point."""
    rows = [data(1 + i, 1000 + i, 1 + i * MSS) for i in range(10)]
    rows.append(again(20, 1300, 1, trigger="rto", spurious=True, flight_bytes=10 * MSS))
    rows += [again(21 + i, 1310 + i, 1 + (i + 1) * MSS, spurious=True, flight_bytes=9 * MSS) for i in range(spurious)]
    point = 1 + 10 * MSS
    rows.append(ack(40, 1320, point, dupacks=0))
    rows.append(data(41, 1320.1, point))
    rows += dupacks(42, 1330, point)
    rows.append(resend(50, 1332.5, point, 1, spurious=True, trigger="go_back_n"))
    rows.append(ack(60, 1360, point + MSS, dupacks=0))
    return trace(segments=sorted(rows, key=lambda row: row["packet"]), timeouts=[timeout(20, 1300)])


def test_spurious_retransmissions_cause_another_reduction() -> None:
    (finding,), _ = run(CODE, careless(4))
    assert finding.values["first_reduction"] == "timeout"
    assert run(CODE, careless(1)) == ([], [])


@pytest.mark.parametrize("scenario", ["repeated_fast_retransmit", "block_loss_without_sack"])
def test_simulated_causes(scenario: str, tmp_path: Path) -> None:
    made = wl.simulate(scenario, tmp_path, taps=("sender",))
    (finding,) = wl.detect(wl.align([made.captures["sender"]]), only=[CODE])
    (true,) = [f for f in made.truth if f.code == CODE]
    assert abs(finding.t_start_ns - true.t_start_ns) < 10_000_000
    assert abs(finding.t_end_ns - true.t_end_ns) < 10_000_000
    assert finding.cost_s == pytest.approx(true.cost_s, rel=0.05)


@pytest.mark.parametrize(
    ("scenario", "changed"),
    [
        ("repeated_fast_retransmit", {"recovery": "newreno"}),
        ("block_loss_without_sack", {"recovery": "newreno"}),
        ("block_loss_without_sack", {"sack": True}),
        ("separate_losses", {}),
        ("congestion_cycles", {}),
    ],
)
def test_no_finding_with_one_reduction_per_window(scenario: str, changed: dict[str, Any], tmp_path: Path) -> None:
    made = wl.simulate(scenario, tmp_path, taps=("sender",), **changed)
    assert [f for f in made.truth if f.code == CODE] == []
    assert list(wl.detect(wl.align([made.captures["sender"]]), only=[CODE])) == []


@kernel.needed
@pytest.mark.parametrize("name", [name for name in kernel.NAMES if "newreno" in name])
def test_no_finding_in_kernel_captures(name: str) -> None:
    assert kernel.of(kernel.found(name), CODE) == []
