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


_ONE_DIRECTION = "the truth lists the retransmissions of one direction, the test compares both"

_LAST_ACK = "the last ACK arrived after the receiver's capture had ended; the truth does not list it as lost"

FAULTS: tuple[Fault, ...] = (
    # tests/correlation/test_kernel.py
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
        "test_at_the_receivers_tap",
        n_chunks_er4="a lone segment that was repeated before any timer could expire counts as new",
        n_http20="a few requests do not show that the IP ids count this connection alone",
        n_http20_rev="a few responses do not show that the IP ids count this connection alone",
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
