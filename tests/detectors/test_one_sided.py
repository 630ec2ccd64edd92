"""Captures of one side only: detectors that need ACKs are undecided instead of silent."""

from __future__ import annotations

import pytest

from tests.detectors.made import data, flows, run, trace

NEED_ACKS = (
    "ack_holding",
    "acked_data_retransmission",
    "missing_fast_retransmit",
    "overbuffering",
    "window_limited",
)


@pytest.mark.parametrize("code", NEED_ACKS)
def test_undecided_without_the_receivers_packets(code: str) -> None:
    rows = flows()
    rows[1] |= {"packets": 0, "payload_bytes": 0}
    found, undecided = run(code, trace(rows, segments=[data(1, 0, 1), data(2, 10, 1449)]))
    assert not found
    assert [(u.count, "no packets from the receiver" in u.sentence) for u in undecided] == [(1, True)]
