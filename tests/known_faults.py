"""Kernel captures for which a fact is known to be wrong today.

Each line names a test, a capture and what is wrong. The test of that capture is expected to fail, strictly: whoever
mends the fact must remove the line. Tests of the whole set read the list too, so that they keep asserting the captures
that are right.
"""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """A test that fails for one capture, and why."""

    test: str
    capture: str
    wrong: str


def _lines(test: str, **wrong: str) -> tuple[Fault, ...]:
    return tuple(Fault(test, capture, why) for capture, why in wrong.items())


_SYNACK = "the truth has no SYN-ACK timers (README of the set): one timeout more is right"
_ONE_DIRECTION = "the truth lists the retransmissions of one direction, the test compares both"

_LAST_ACK = "the last ACK arrived after the receiver's capture had ended; the truth does not list it as lost"

FAULTS: tuple[Fault, ...] = (
    # tests/correlation/test_kernel.py
    *_lines(
        "test_the_clock",
        m_app_blackout="the offset is 0.67 ms from the true one",
        m_app_hold="the offset is 0.72 ms from the true one",
        m_app_idle_zero="the offset is 0.75 ms from the true one",
        m_rcv24k="the offset is 0.28 ms from the true one",
        m_readslow="the offset is 0.72 ms from the true one",
        n_chunks_er4="the offset is 0.54 ms from the true one",
        n_gso_newreno_hold="the offset is 0.33 ms from the true one",
        n_http20="the receiver's clock is the reference here, the test reads the other one",
        n_mtu_drop="the offset is 0.50 ms from the true one",
        n_rjit60_cubic="the offset is 0.65 ms from the true one: the path reorders packets",
        n_rtomin20="the offset is 1.09 ms from the true one: every packet has its own delay",
        n_syn3="the offset is 0.31 ms from the true one",
    ),
    *_lines("test_every_packet_is_linked", delaystep=_LAST_ACK),
    *_lines("test_the_dropped_copies_are_in_one_capture", delaystep=_LAST_ACK),
    *_lines(
        "test_every_retransmission_is_decided",
        m_blackhole="a tail loss probe is left undecided although the receiver's capture has it",
        n_bidir_newreno=_ONE_DIRECTION,
        n_http20=_ONE_DIRECTION,
        n_http20_rev=_ONE_DIRECTION,
        n_syn3="lost SYNs are left undecided although the receiver's capture lacks them",
    ),
    # tests/flow/test_kernel.py
    *_lines(
        "test_retransmissions_are_exactly_the_senders",
        m_app_blackout="fast retransmissions after undone timeouts are called go-back-N",
        m_ratestep="fast retransmissions are taken for a timeout and go-back-N",
        n_ecn_loss10_both="two fast retransmissions are called go-back-N",
        n_http20_rev="a SYN-ACK that answers a repeated SYN is left undecided, the truth calls it RTO",
    ),
    *_lines(
        "test_need_is_never_wrong",
        m_multi_loss="three retransmissions of lost segments are called spurious",
        reorder2_newreno="nine retransmissions of reordered segments are called needed",
    ),
    *_lines(
        "test_timeouts_are_counted_exactly",
        m_ratestep="fast retransmissions are taken for a timeout",
        n_bidir_newreno_rev=_SYNACK,
        n_http20="a SYN whose SYN-ACK was lost is called a spurious timeout, not ack_lost",
        n_http20_rev=_SYNACK,
    ),
    *_lines(
        "test_each_timeout_is_named_when_it_fired",
        m_ratestep="fast retransmissions are taken for a timeout",
        n_bidir_newreno_rev=_SYNACK,
        n_http20="a SYN whose SYN-ACK was lost is called a spurious timeout, not ack_lost",
        n_http20_rev=_SYNACK,
    ),
    *_lines(
        "test_idle_time_of_timeouts", n_http20_rev="the truth counts data only, the sender answered requests between"
    ),
    *_lines(
        "test_no_other_time_is_delayed_ack",
        m_app_idle_zero="79 ms of a closed window are called delayed ACK",
        m_readslow="3.9 s of a slow reader are called delayed ACK",
        n_ecn_loss10_both="0.4 s are called delayed ACK, as the truth has it; the test expects none",
        n_mtu_drop="0.1 s of recoveries are called delayed ACK",
    ),
    *_lines(
        "test_at_the_receivers_tap",
        m_multi_loss="retransmissions of a flow with 20 % loss are missed or wrong",
        n_chunks_er4="retransmissions of lone segments are missed or wrong",
        n_ecn_loss10_both="retransmissions after double losses are missed or wrong",
        n_http20="retransmissions of short flows are missed or wrong",
        n_http20_rev="retransmissions of short flows are missed or wrong",
        n_rjit60_cubic="reordered segments are called retransmissions",
    ),
    *_lines(
        "test_the_common_score",
        m_app_blackout="fast retransmissions after undone timeouts are called go-back-N",
        m_multi_loss="three retransmissions of lost segments are called spurious",
        m_ratestep="fast retransmissions are taken for a timeout and go-back-N",
        n_ecn_loss10_both="two fast retransmissions are called go-back-N",
        n_http20="a SYN whose SYN-ACK was lost is called a spurious timeout, not ack_lost",
        reorder2_newreno="nine retransmissions of reordered segments are called needed",
    ),
    # tests/detectors/test_score.py
    *_lines(
        "test_timeouts",
        m_ratestep="fast retransmissions are taken for a timeout",
        n_bidir_newreno_rev=_SYNACK,
        n_http20="a SYN whose SYN-ACK was lost is called a spurious timeout, not ack_lost",
        n_http20_rev=_SYNACK,
    ),
    *_lines(
        "test_spurious_findings_count_what_the_kernel_did",
        n_http20="a SYN whose SYN-ACK was lost is called a spurious timeout, not ack_lost",
    ),
    *_lines("test_idle_time_in_the_ledger", m_ratestep="0.56 s are called RTO wait, no timer expired"),
    # tests/detectors/test_missing_fast_retransmit.py
    *_lines(
        "test_kernel_captures_are_never_wrong",
        n_bidir_newreno_rev="the timer retransmits after three duplicate ACKs; no reason is found",
    ),
)


def captures(test: str) -> set[str]:
    """Captures for which a test is expected to fail."""
    return {fault.capture for fault in FAULTS if fault.test == test}


def without(test: str, names: list[str]) -> list[str]:
    """The captures for which a test is expected to pass."""
    return [name for name in names if name not in captures(test)]


def reason(test: str, capture: str) -> str | None:
    """What is wrong in this capture, where this test is expected to fail."""
    return next((fault.wrong for fault in FAULTS if (fault.test, fault.capture) == (test, capture)), None)
