"""spurious_timeout: timers that expired although nothing had been lost."""

from __future__ import annotations

import pytest

from tests import kernel
from tests.detectors.made import MS, ack, again, data, flows, interval, run, timeout, trace

CODE = "spurious_timeout"


def test_fires_with_the_silence_and_the_spurious_retransmissions() -> None:
    made = trace(
        timeouts=[timeout(10, 1200, kind="spurious", kind_evidence="timestamp", evidence_packet=11)],
        segments=[
            ack(4, 0, 1),
            ack(5, 1000, 1449),
            again(10, 1200, 1449, trigger="rto", spurious=True),
            ack(11, 1220, 2897, tsval=6010),
            again(12, 1221, 2897, spurious=True),
        ],
        intervals=[interval("loss_recovery", 1220, 1250, timeout_packet=10)],
    )
    found, undecided = run(CODE, made)
    assert not undecided
    (finding,) = found
    assert (finding.t_start_ns, finding.t_end_ns) == (1000 * MS, 1250 * MS)
    assert finding.cost_s == pytest.approx(0.25)
    assert finding.severity == "warning"
    assert finding.values["spurious_retransmissions_count"] == 2
    assert finding.values["ack_late_ms"] == pytest.approx(210)
    assert "210 ms late" in finding.sentence
    assert finding.rows("timeouts") == (10,)
    assert finding.display_filter == "frame.number in {10..12}"


def test_consecutive_expiries_are_one_finding() -> None:
    rows = [
        timeout(10, 1200, kind="spurious", progress_ns=2000 * MS, progress_packet=20),
        timeout(
            11, 1600, kind="spurious", silent_from_ns=1200 * MS, progress_ns=2000 * MS, progress_packet=20, backoff=1
        ),
        timeout(30, 5000, kind="spurious"),
    ]
    found, _ = run(CODE, trace(timeouts=rows))
    assert [f.values["expiries_count"] for f in found] == [2, 1]


def test_cost_starts_after_genuine_expiries() -> None:
    rows = [
        timeout(10, 1000, kind="genuine", progress_ns=3100 * MS),
        timeout(11, 3000, kind="ack_lost", silent_from_ns=1000 * MS, progress_ns=3100 * MS),
    ]
    found, _ = run(CODE, trace(timeouts=rows))
    assert [f.cost_s for f in found] == [pytest.approx(2.1)]
    assert "only its ACKs were lost" in found[0].sentence


def test_no_finding_without_spurious_expiries() -> None:
    assert run(CODE, trace(timeouts=[timeout(10, 1200)])) == ([], [])
    assert run(CODE, trace()) == ([], [])


def test_undecided_expiries() -> None:
    found, undecided = run(
        CODE, trace(timeouts=[timeout(10, 1200, kind="undecided"), timeout(20, 3000, kind="undecided")])
    )
    assert not found
    assert [u.count for u in undecided] == [2]


def test_a_lone_segment_that_a_probe_may_have_sent_is_undecided() -> None:
    copy = again(
        2, 400, 1, trigger="undecided", trigger_evidence="timer_expired", spurious=True, since_previous_ns=390 * MS
    )
    found, (open_,) = run(CODE, trace(segments=[data(1, 10, 1), copy, ack(3, 410, 1449)]))
    assert not found
    assert [(start, end) for _, start, end in open_.spans] == [(10 * MS, 410 * MS)]
    # A copy that was needed is no spurious timeout, whichever timer sent it.
    assert run(CODE, trace(segments=[data(1, 10, 1), {**copy, "spurious": False}])) == ([], [])


@kernel.needed
@pytest.mark.parametrize(
    "name", ["ackhold400_frto2_ts1", "ackhold400_frto0_ts0", "ackhold1000_newreno", "ipv6_ackhold"]
)
def test_held_acks(name: str) -> None:
    true = kernel.truth(name)["flows"][0]["rto_runs"]
    found = kernel.of(kernel.found(name), CODE)
    assert len(found) == len(true) == 1
    assert found[0].values["expiries_count"] == true[0]["n"]
    assert found[0].values["idle_s"] == pytest.approx(true[0]["idle_s"], abs=0.02)


@kernel.needed
@pytest.mark.parametrize(
    "name", ["blackout_data10", "tail3_newreno", "tail_tlp", "rnd2_cubic", "zerowin", "ackhold120"]
)
def test_no_finding_in_other_kernel_captures(name: str) -> None:
    assert not kernel.of(kernel.found(name), CODE)


@pytest.mark.parametrize(("tap", "found_count"), [("near_sender", 1), ("near_receiver", 0)])
def test_a_spurious_copy_proves_the_timeout_at_the_sender(tap: str, found_count: int) -> None:
    """Whether the ACK was late or lost may be unknown; the data had arrived."""
    made = trace(
        flows(tap=tap),
        timeouts=[timeout(10, 1200, kind="undecided")],
        segments=[
            ack(5, 1000, 1449),
            again(10, 1200, 1449, trigger="rto", spurious=True, spurious_evidence="timestamp"),
            ack(11, 1220, 2897),
        ],
    )
    found, undecided = run(CODE, made)
    assert (len(found), len(undecided)) == (found_count, 1 - found_count)
    if found:
        assert "late or lost" in found[0].sentence
        assert found[0].values["spurious_evidence"] == "timestamp"
