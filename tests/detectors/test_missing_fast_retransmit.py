"""missing_fast_retransmit: three duplicate ACKs without a retransmission, right or wrong."""

from __future__ import annotations

import pytest

from tests import kernel
from tests.detectors.made import MS, MSS, ack, again, data, flows, run, timeout, trace

CODE = "missing_fast_retransmit"
HOLE = 1 + 10 * MSS


def dupacks(t_ms: float = 100.0) -> list[dict[str, object]]:
    """An ACK up to the hole and three duplicates."""
    more = {"srtt_ns": 20 * MS}
    out = [ack(50, t_ms - 10, HOLE)]
    return out + [ack(51 + i, t_ms + i, HOLE, kind="dupack", dupacks=i + 1, **more) for i in range(3)]


def above(count: int) -> list[dict[str, object]]:
    """The missing segment, and as many after it."""
    return [data(1 + i, i / 10, HOLE + i * MSS) for i in range(1 + count)]


def test_wrong_without_a_reason() -> None:
    rows = [*above(3), *dupacks(), again(60, 322, HOLE, trigger="rto"), ack(61, 342, HOLE + MSS)]
    found, _ = run(CODE, trace(segments=rows))
    (finding,) = found
    assert finding.values["verdict"] == "wrong"
    assert finding.cost_s == pytest.approx(0.2)  # from the third duplicate to the resend, less a round trip


def test_with_sack_two_segments_above_the_hole_are_a_reason() -> None:
    """A copy of one of them, such as a tail loss probe, is acknowledged, too."""
    rows = [*above(2), *dupacks(), again(60, 322, HOLE, trigger="rto"), ack(61, 342, HOLE + MSS)]
    found, _ = run(CODE, trace(segments=rows))
    assert [(f.values["verdict"], f.values["reason"]) for f in found] == [("right", "few_above")]
    found, _ = run(CODE, trace(flows(sack_agreed=False), segments=rows))
    assert [f.values["verdict"] for f in found] == ["wrong"]


@pytest.mark.parametrize(
    ("sack", "sent_ms", "below", "verdict"),
    [
        (True, 20.0, 1, "right"),
        # RFC 5681 counts it.
        (False, 20.0, 1, "wrong"),
        # Its answer came before the hole; the copy fills another one.
        (True, -2.0, 1, "wrong"),
        (True, 20.0, -2, "wrong"),
    ],
)
def test_with_sack_the_answer_to_a_spurious_copy_reports_nothing(
    sack: bool, sent_ms: float, below: int, verdict: str
) -> None:
    """World 394206: a probe's copy of the segment below the hole caused one of the three duplicate ACKs."""
    probe = again(9, sent_ms, HOLE - below * MSS, trigger="tail_loss_probe", spurious=True)
    rows = [
        data(0, -1, HOLE - MSS),
        *above(3),
        probe,
        *dupacks(),
        again(60, 322, HOLE, trigger="rto"),
        ack(61, 342, HOLE + MSS),
    ]
    found, _ = run(CODE, trace(flows(sack_agreed=sack), segments=sorted(rows, key=lambda r: r["t_ns"])))
    assert [f.values["verdict"] for f in found] == [verdict]


@pytest.mark.parametrize("t_ms", [102.1, 115.0, 99.5])
def test_no_finding_after_a_fast_retransmit(t_ms: float) -> None:
    rows = [data(1, 0, HOLE), *dupacks(), again(60, t_ms, HOLE, trigger="fast"), ack(61, 130, HOLE + MSS)]
    assert run(CODE, trace(segments=sorted(rows, key=lambda r: r["t_ns"]))) == ([], [])


def test_the_answer_may_wait_in_the_queue_before_the_tap() -> None:
    rows = [data(1, 0, HOLE), *dupacks(), again(60, 500, HOLE, trigger="fast"), ack(61, 520, HOLE + MSS)]
    assert run(CODE, trace(segments=rows)) == ([], [])


def test_the_answer_may_leave_the_queue_after_the_ack_of_new_data() -> None:
    """World 361081: what was missing came late, and TCP had retransmitted it."""
    rows = [data(1, 0, HOLE), *dupacks(), ack(60, 104, HOLE + MSS), again(61, 180, HOLE, trigger="fast")]
    assert run(CODE, trace(segments=rows)) == ([], [])


def test_a_timer_as_fast_as_a_fast_retransmit_is_not_wrong() -> None:
    rows = [*above(3), *dupacks(), again(60, 115, HOLE, trigger="rto"), ack(61, 130, HOLE + MSS)]
    assert run(CODE, trace(segments=rows)) == ([], [])


def test_one_finding_lists_all_reasons() -> None:
    later = [{**row, "packet": row["packet"] + 50, "t_ns": row["t_ns"] + 1000 * MS} for row in dupacks()]  # type: ignore[operator]
    for row in later:
        row["rel_ack"] = HOLE + 5 * MSS
    rows = [*dupacks(), ack(70, 400, HOLE + MSS), *later, ack(120, 1400, HOLE + 6 * MSS)]
    (finding,), _ = run(CODE, trace(segments=rows, timeouts=[timeout(40, 50, rel_seq=1, flight_bytes=10 * MSS)]))
    assert finding.values["runs_count"] == 2
    assert finding.values["reason"] == "after_timeout, filled_without_retransmission"
    assert (finding.t_start_ns, finding.t_end_ns) == (102 * MS, 1102 * MS)


def test_after_a_timeout() -> None:
    late = [ack(70, 400, HOLE + MSS)]
    expiry = timeout(40, 50, rel_seq=1, flight_bytes=10 * MSS)
    found, _ = run(CODE, trace(segments=[*dupacks(), *late], timeouts=[expiry]))
    assert [(f.values["verdict"], f.values["reason"], f.cost_s) for f in found] == [("right", "after_timeout", 0.0)]


@pytest.mark.parametrize(("seqs", "reason"), [((1, 1, 1), None), ((1, 500, 900), "data_between")])
def test_acks_that_follow_new_data_are_not_counted_by_linux(seqs: tuple[int, ...], reason: str | None) -> None:
    rows = [data(1, 0, HOLE), *dupacks(), again(60, 322, HOLE, trigger="rto"), ack(61, 342, HOLE + MSS)]
    for row, seq in zip([r for r in rows if r["kind"] == "dupack"], seqs, strict=True):
        row["rel_seq"] = seq
    found, _ = run(CODE, trace(flows(sack_agreed=False), segments=rows))
    assert [f.values["reason"] for f in found] == [reason or "none found"]


def test_two_holes_and_one_retransmission() -> None:
    """The late original filled the first hole; the retransmission of the second one answers its own duplicates only."""
    first = [{**row, "rel_ack": HOLE - 4 * MSS, "packet": 20 + i} for i, row in enumerate(dupacks(40))]
    rows = [data(1, 0, HOLE), *first, ack(30, 60, HOLE), *dupacks()[1:], again(60, 102.1, HOLE, trigger="fast")]
    found, _ = run(CODE, trace(segments=[*rows, ack(61, 130, HOLE + MSS)]))
    assert [f.t_start_ns for f in found] == [42 * MS]


def resent_in_a_row(*between: dict[str, object]) -> list[dict[str, object]]:
    """The timer's retransmission, then that of the hole, segments `between`, and duplicate ACKs for the hole."""
    first = again(40, 60, HOLE - MSS, spurious=False, trigger="rto")
    stood = ack(39, 59, HOLE - MSS)
    return [data(1, 0, HOLE), stood, first, *between, again(48, 62, HOLE), data(49, 63, HOLE + 5 * MSS), *dupacks()]


def test_a_retransmission_under_way_is_the_answer() -> None:
    """Whether it is lost shows only later: one or three segments before it (world 361050)."""
    for count in (1, 3):
        between = [data(41 + i, 61, HOLE + (i + 2) * MSS) for i in range(count)]
        assert run(CODE, trace(segments=resent_in_a_row(*between))) == ([], [])


def test_dupacks_may_answer_data_before_the_retransmission() -> None:
    """The ACK jumps over three segments that the receiver had: their copies cause the duplicate ACKs."""
    expiry = timeout(40, 60, rel_seq=HOLE - 4 * MSS, flight_bytes=6 * MSS)
    copies = [again(40 + i, 60, HOLE - (4 - i) * MSS, spurious=False) for i in range(5)]
    rows = [data(1, 0, HOLE), ack(39, 59, HOLE - 4 * MSS), *copies, data(49, 63, HOLE + 5 * MSS), *dupacks()]
    assert run(CODE, trace(segments=rows, timeouts=[expiry])) == ([], [])


def test_a_fast_recovery_retransmits_once() -> None:
    rows = resent_in_a_row()
    rows[-1]["phase"] = "recovery"
    assert run(CODE, trace(segments=rows)) == ([], [])


def test_an_old_retransmission_in_the_same_fast_recovery_is_the_answer() -> None:
    episode = {"packet": 2, "t_start_ns": 10 * MS, "t_end_ns": 300 * MS, "recover_rel_seq": HOLE + 20 * MSS}
    rows = [data(1, 0, HOLE), again(2, 10, HOLE, trigger="fast"), *dupacks(), again(60, 322, HOLE, trigger="rto")]
    rows[-2]["phase"] = "recovery"
    assert run(CODE, trace(segments=rows, recoveries=[episode])) == ([], [])


def test_the_timers_retransmission_is_no_answer() -> None:
    episode = {"packet": 40, "t_start_ns": 50 * MS, "t_end_ns": 90 * MS, "recover_rel_seq": HOLE}
    rows = [*dupacks(), again(60, 115, HOLE, trigger="rto")]
    found, _ = run(CODE, trace(segments=rows, recoveries=[episode]))
    assert [f.values["reason"] for f in found] == ["recovery_point"]


def test_after_a_timeout_the_left_edge_again_is_the_timers() -> None:
    """Its trigger may be unknown: the timer of a copy that was lost again."""
    rows = [*above(3), *dupacks(), again(60, 322, HOLE, trigger="go_back_n"), ack(61, 342, HOLE + MSS)]
    for row in rows:
        row["phase"] = "loss"
    expiry = timeout(40, 50, rel_seq=1, flight_bytes=10 * MSS)
    found, _ = run(CODE, trace(segments=rows, timeouts=[expiry]))
    assert [f.values["reason"] for f in found] == ["after_timeout"]
    for row in rows:
        row["phase"] = "open"
    assert run(CODE, trace(segments=rows, timeouts=[expiry])) == ([], [])


def test_after_a_timeout_a_copy_that_follows_at_once_is_the_answer() -> None:
    """World 640088: with SACK a sender repairs what duplicate ACKs report, after a timeout, too."""
    rows = [*above(3), *dupacks(), again(60, 108, HOLE, trigger="go_back_n"), ack(61, 128, HOLE + MSS)]
    for row in rows:
        row["phase"] = "loss"
    expiry = timeout(40, 50, rel_seq=1, flight_bytes=10 * MSS)
    assert run(CODE, trace(segments=rows, timeouts=[expiry])) == ([], [])


def test_after_a_timeout_a_copy_that_passes_after_its_ack_waited_in_the_queue() -> None:
    """World 381023: going back N, the sender had retransmitted it when the duplicate ACKs came."""
    rows = [*above(3), *dupacks(), ack(60, 104, HOLE + MSS), again(61, 106, HOLE, trigger="go_back_n")]
    for row in rows:
        row["phase"] = "loss"
    expiry = timeout(40, 50, rel_seq=1, flight_bytes=10 * MSS)
    assert run(CODE, trace(segments=rows, timeouts=[expiry])) == ([], [])


def test_at_the_recovery_point() -> None:
    episode = {"packet": 40, "t_start_ns": 50 * MS, "t_end_ns": 90 * MS, "recover_rel_seq": HOLE}
    rows = [*dupacks(), again(60, 322, HOLE, trigger="rto")]
    found, _ = run(CODE, trace(segments=rows, recoveries=[episode]))
    assert [f.values["reason"] for f in found] == ["recovery_point"]


def test_linux_waits_for_more_after_a_spurious_fast_retransmit() -> None:
    """World 340217: the kernel raises its threshold of duplicate ACKs when it sees reordering."""
    episode = {"packet": 4, "t_start_ns": 5 * MS, "t_end_ns": 9 * MS, "recover_rel_seq": 1, "spurious": True}
    rows = [*above(3), *dupacks(), again(60, 322, HOLE, trigger="rto")]
    found, _ = run(CODE, trace(segments=rows, recoveries=[episode]))
    assert [f.values["reason"] for f in found] == ["reordering"]
    found, _ = run(CODE, trace(segments=rows, recoveries=[episode | {"spurious": False}]))
    assert [f.values["verdict"] for f in found] == ["wrong"]


def test_linux_waits_for_more_after_a_fast_retransmit_that_came_late() -> None:
    """World 364172: the fourth duplicate ACK had to come before, as the kernel's threshold was 4."""
    episode = {"packet": 4, "t_start_ns": 5 * MS, "t_end_ns": 9 * MS, "recover_rel_seq": 1, "dupacks": 4}
    rows = [*above(3), *dupacks(), again(60, 322, HOLE, trigger="rto")]
    found, _ = run(CODE, trace(segments=rows, recoveries=[episode]))
    assert [f.values["reason"] for f in found] == ["reordering"]
    found, _ = run(CODE, trace(segments=rows, recoveries=[episode | {"dupacks": 3}]))
    assert [f.values["verdict"] for f in found] == ["wrong"]


@pytest.mark.parametrize("missing", [0, 2])
def test_the_capture_misses_packets_of_the_sender(missing: int) -> None:
    """World 361198: the host's queue dropped what the sender retransmitted, and the IP identifications show it."""
    rows = [*above(3), *dupacks(), again(60, 322, HOLE, trigger="rto"), ack(61, 342, HOLE + MSS)]
    found, undecided = run(CODE, trace(flows(missing_packets=missing), segments=rows))
    assert (len(found), len(undecided)) == ((0, 1) if missing else (1, 0))


@pytest.mark.parametrize("pause_ms", [0, 5])
def test_the_answer_may_still_be_in_the_queue_before_the_tap(pause_ms: int) -> None:
    """World 365261: packets that the sender made before leave the queue for a second; a pause shows that it is empty."""
    queued = [data(60 + i, 90 + i + (pause_ms if i > 50 else 0), HOLE + (10 + i) * MSS) for i in range(232)]
    rows = [data(1, 0, HOLE), *dupacks(), *queued, again(300, 322, HOLE, trigger="rto"), ack(301, 342, HOLE + MSS)]
    found, undecided = run(CODE, trace(flows(sack_agreed=False), segments=sorted(rows, key=lambda row: row["t_ns"])))
    assert (len(found), len(undecided)) == ((1, 0) if pause_ms else (0, 1))


def test_caused_by_spurious_retransmissions() -> None:
    resends = [again(40 + i, 70 + i, 1 + i * MSS, spurious=True) for i in range(3)]
    found, _ = run(CODE, trace(segments=[*resends, *dupacks(), again(60, 322, HOLE, trigger="rto")]))
    assert [f.values["reason"] for f in found] == ["spurious_retransmissions"]


def test_no_sack_blocks_although_agreed() -> None:
    rows = flows()
    rows[1]["sack_packets"] = 0
    found, _ = run(CODE, trace(rows, segments=[*dupacks(), again(60, 322, HOLE, trigger="rto")]))
    assert [f.values["reason"] for f in found] == ["no_sack_blocks"]


def test_filled_without_a_retransmission() -> None:
    found, _ = run(CODE, trace(segments=[*dupacks(), ack(60, 104, HOLE + MSS)]))
    assert [f.values["reason"] for f in found] == ["filled_without_retransmission"]


def test_no_finding_for_window_updates_and_keepalives() -> None:
    rows = [ack(51 + i, 100 + i, HOLE, kind=kind) for i, kind in enumerate(["window_update", "keepalive_ack"] * 3)]
    assert run(CODE, trace(segments=rows)) == ([], [])


def test_away_from_the_sender_undecided() -> None:
    rows = [*dupacks(), again(60, 322, HOLE, trigger="rto")]
    found, undecided = run(CODE, trace(flows(tap="near_receiver"), segments=rows))
    assert not found
    assert [u.count for u in undecided] == [1]


@pytest.mark.parametrize("tap", ["near_receiver", "middle"])
def test_away_from_the_sender_the_retransmission_may_fill_the_hole(tap: str) -> None:
    found, undecided = run(
        CODE, trace(flows(tap=tap), segments=[*dupacks(), data(60, 103, HOLE), ack(61, 104, HOLE + MSS)])
    )
    assert not found
    assert [u.count for u in undecided] == [1]


@kernel.needed
def test_right_after_held_acks() -> None:
    (finding,) = kernel.of(kernel.found("ackhold1000_newreno"), CODE)
    assert (finding.values["verdict"], finding.values["reason"]) == ("right", "after_timeout")


@kernel.needed
@pytest.mark.parametrize("name", kernel.NAMES)
def test_kernel_captures_are_never_wrong(name: str) -> None:
    assert all(f.values["verdict"] == "right" for f in kernel.of(kernel.found(name), CODE))


@kernel.needed
@pytest.mark.parametrize("name", ["rnd2_cubic", "loss1_cubic", "loss3_newreno", "periodic2s", "zerowin", "twoflows"])
def test_no_finding_in_other_kernel_captures(name: str) -> None:
    assert not kernel.of(kernel.found(name), CODE)


def test_answers_to_copies_of_a_syn_request_nothing() -> None:
    rows = [ack(50 + i, 100 + i, 1, kind="dupack", dupacks=i) for i in range(4)]
    assert run(CODE, trace(flows(syn_packets=3), segments=[data(1, 90, 1), *rows, ack(60, 900, 1 + MSS)])) == ([], [])


def test_undecided_where_the_capture_ends_in_a_fast_recovery() -> None:
    episode = {"packet": 40, "t_start_ns": 50 * MS, "t_end_ns": 90 * MS, "recover_rel_seq": HOLE}
    found, undecided = run(CODE, trace(segments=dupacks(), recoveries=[episode]))
    assert not found
    assert [u.count for u in undecided] == [1]


def test_undecided_where_the_capture_ends_while_the_segment_is_missing() -> None:
    found, (open_,) = run(CODE, trace(segments=[*above(3), *dupacks()]))
    assert not found
    assert "sender's own queue" in open_.sentence


def test_undecided_where_the_capture_ends_sooner_than_an_answer_may_leave_the_queue() -> None:
    """World 361121: retransmissions wait for 100 ms in the sender's queue."""
    late = [data(1, 0, HOLE - 9 * MSS), *dupacks(), ack(60, 104, HOLE + MSS), again(61, 202, HOLE, trigger="fast")]
    last = [{**row, "packet": row["packet"] + 50, "rel_ack": HOLE + 9 * MSS} for row in dupacks(300)]  # type: ignore[operator]
    for end_ms, undecided in ((340, 1), (500, 0)):
        rows = [*late, *last, ack(150, 310, HOLE + 10 * MSS), ack(151, end_ms, HOLE + 11 * MSS)]
        made = trace(flows(t_end_ns=end_ms * MS), segments=rows)
        found, open_ = run(CODE, made)
        assert (len(found), len(open_)) == (1 - undecided, undecided)
