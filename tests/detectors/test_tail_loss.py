"""tail_loss: the end of a transfer was lost, and only a timer found it."""

from __future__ import annotations

import pytest

from tests import kernel
from tests.detectors.made import MS, MSS, ack, again, data, flows, run, timeout, trace

CODE = "tail_loss"
END = 1 + 4 * MSS


def sent() -> list[dict[str, object]]:
    """Four segments; the first is acknowledged."""
    return [data(i + 1, 1000, 1 + i * MSS) for i in range(4)] + [ack(5, 1020, 1 + MSS)]


def test_found_by_the_timer() -> None:
    rows = [*sent(), again(10, 1200, 1 + MSS, trigger="rto"), ack(11, 1220, END)]
    made = trace(timeouts=[timeout(10, 1200, flight_bytes=3 * MSS)], segments=rows)
    found, _ = run(CODE, made)
    assert [f.cost_s for f in found] == [pytest.approx(0.2)]
    assert found[0].values["found_by"] == "retransmission timer"


@pytest.mark.parametrize(
    ("trigger", "evidence", "words"),
    [
        ("tail_loss_probe", "probe_timer", "tail loss probe"),
        ("undecided", "timer_expired", "probe or retransmission timer"),
    ],
)
def test_found_by_a_probe(trigger: str, evidence: str, words: str) -> None:
    probe = again(
        10,
        1100,
        1 + 3 * MSS,
        trigger=trigger,
        trigger_evidence=evidence,
        spurious=False,
        since_previous_ns=100_000_000,
        flight_bytes=MSS,
    )
    found, _ = run(CODE, trace(segments=[*sent(), probe, ack(11, 1120, END)]))
    assert [f.cost_s for f in found] == [pytest.approx(0.1)]
    assert found[0].values["found_by"] == words


def test_a_probe_of_which_nothing_shows_whether_it_was_spurious_is_undecided() -> None:
    probe = again(
        10, 1100, 1 + 3 * MSS, trigger="tail_loss_probe", trigger_evidence="probe_timer", spurious=None,
        since_previous_ns=100_000_000, flight_bytes=MSS,
    )  # fmt: skip
    found, (open_,) = run(CODE, trace(segments=[*sent(), probe, ack(11, 1120, END)]))
    assert (found, open_.count) == ([], 1)
    # Without an answer it is no_answer.
    assert run(CODE, trace(segments=[*sent(), probe])) == ([], [])


def test_no_finding_when_new_data_follows() -> None:
    rows = [*sent(), again(10, 1200, 1 + MSS, trigger="rto"), ack(11, 1220, END), data(12, 1221, END)]
    assert run(CODE, trace(timeouts=[timeout(10, 1200, flight_bytes=3 * MSS)], segments=rows)) == ([], [])


def at_the_receiver(*after: dict[str, object], **more: object) -> tuple[int, int]:
    """Findings and undecided cases at the receiver for a timeout, its ACK and what follows."""
    rows = [*sent(), again(10, 1200, 1 + MSS, trigger="rto"), ack(11, 1220, END), *after]
    expiry = timeout(10, 1200, flight_bytes=3 * MSS)
    found, undecided = run(CODE, trace(flows(tap="near_receiver", **more), timeouts=[expiry], segments=rows))
    return len(found), sum(u.count for u in undecided)


def test_at_the_receiver_without_later_data() -> None:
    assert at_the_receiver() == (1, 0)


def test_at_the_receiver_new_data_arrives_a_round_trip_later() -> None:
    assert at_the_receiver(data(12, 1620, END), handshake_rtt_ns=300 * MS) == (0, 0)


def test_at_the_receiver_segments_lost_after_the_tail_come_first() -> None:
    lost = [again(12 + i, 1230 + i, END + i * MSS, lost_before_tap=True) for i in range(2)]
    rest = [ack(14, 1320, END + 2 * MSS), data(15, 1325, END + 2 * MSS)]
    assert at_the_receiver(*lost, *rest) == (0, 0)


def test_away_from_the_sender_a_pause_may_be_one_more_loss() -> None:
    assert at_the_receiver(data(12, 5000, END)) == (0, 1)


def test_no_finding_after_three_duplicate_acks() -> None:
    dups = [ack(6 + i, 1030 + i, 1 + MSS, kind="dupack", dupacks=i + 1) for i in range(3)]
    rows = [*sent(), *dups, again(10, 1200, 1 + MSS, trigger="rto"), ack(11, 1220, END)]
    assert run(CODE, trace(timeouts=[timeout(10, 1200, flight_bytes=3 * MSS)], segments=rows)) == ([], [])


def test_no_finding_where_duplicate_acks_had_requested_it_before_the_last_data() -> None:
    """The fast retransmit was lost: its loss was no loss of an end."""
    dups = [ack(6 + i, 1030 + i, 1 + MSS, kind="dupack", dupacks=i + 1) for i in range(3)]
    last = again(9, 1033, 1 + MSS, trigger="fast")
    rows = [*sent(), *dups, last, again(10, 1233, 1 + MSS, trigger="rto"), ack(11, 1253, END)]
    expiry = timeout(10, 1233, flight_bytes=3 * MSS, silent_from_ns=1033 * MS)
    assert run(CODE, trace(timeouts=[expiry], segments=rows)) == ([], [])


def test_undecided_where_the_capture_ends_before_the_end_is_acknowledged() -> None:
    rows = [*sent(), again(10, 1200, 1 + MSS, trigger="rto"), ack(11, 1220, 1 + 2 * MSS)]
    found, (open_,) = run(CODE, trace(timeouts=[timeout(10, 1200, flight_bytes=3 * MSS)], segments=rows))
    assert (found, open_.count) == ([], 1)


def test_no_finding_for_spurious_and_syn_and_undecided_if_unknown() -> None:
    rows = [*sent(), ack(11, 1220, END)]
    for change in ({"kind": "spurious"}, {"rel_seq": 0, "flight_bytes": 1}):
        assert run(CODE, trace(timeouts=[timeout(10, 1200, **{"flight_bytes": 3 * MSS, **change})], segments=rows)) == (
            [],
            [],
        )
    found, undecided = run(
        CODE, trace(timeouts=[timeout(10, 1200, flight_bytes=3 * MSS, kind="undecided")], segments=rows)
    )
    assert not found
    assert len(undecided) == 1


@kernel.needed
@pytest.mark.parametrize("name", ["tail_tlp", "tail3_newreno", "finloss"])
def test_kernel_captures(name: str) -> None:
    (finding,) = kernel.of(kernel.found(name), CODE)
    flow = kernel.truth(name)["flows"][0]
    waits = [r["t"] - r["prior"][-1][0] for r in flow["retransmission_list"] if r["trigger"] == "TLP"]
    waits += [r["t_last"] - r["silent_from"] for r in flow["rto_runs"]]
    assert finding.cost_s == pytest.approx(waits[-1], abs=0.02)


@kernel.needed
@pytest.mark.parametrize(
    "name", ["applimited", "blackout_data10", "blackout3", "ackhold1000_tlp", "synloss", "delack_initcwnd1"]
)
def test_no_finding_in_other_kernel_captures(name: str) -> None:
    assert not kernel.of(kernel.found(name), CODE)


def test_without_an_ack_nobody_knows_whether_the_transfer_ended() -> None:
    rows = [*sent(), again(10, 1200, 1 + MSS, trigger="rto")]
    expiry = timeout(10, 1200, flight_bytes=3 * MSS, progress_ns=None, progress_packet=None)
    assert run(CODE, trace(timeouts=[expiry], segments=rows)) == ([], [])


def test_a_fin_shows_the_end_where_the_capture_ends_first() -> None:
    """Nothing follows it; without it, more may have."""
    fin = {**data(4, 1000, 1 + 3 * MSS), "kind": "fin"}
    for last, counts in ((fin, (1, 0)), (data(4, 1000, 1 + 3 * MSS), (0, 1))):
        rows = [
            *sent()[:3],
            last,
            ack(5, 1020, 1 + MSS),
            again(10, 1200, 1 + MSS, trigger="rto"),
            ack(11, 1220, 1 + 2 * MSS),
        ]
        found, open_ = run(CODE, trace(timeouts=[timeout(10, 1200, flight_bytes=3 * MSS)], segments=rows))
        assert (len(found), len(open_)) == counts


def test_a_last_segment_with_the_fin_is_new_data() -> None:
    late = {**data(12, 1230, END), "kind": "fin"}
    rows = [*sent(), again(10, 1200, 1 + MSS, trigger="rto"), ack(11, 1220, END), late]
    assert run(CODE, trace(timeouts=[timeout(10, 1200, flight_bytes=3 * MSS)], segments=rows)) == ([], [])
