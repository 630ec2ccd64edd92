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


FAULTS: tuple[Fault, ...] = (
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
