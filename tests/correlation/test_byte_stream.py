"""Positions in byte streams: numbers that stay near one another need no order, and mean the same."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from wlanlens.correlation import byte_stream
from wlanlens.correlation.byte_stream import ByteStreams
from wlanlens.correlation.packet_index import PacketIndex


def index(seed: int) -> PacketIndex:
    """Packets of some connections, in two captures, whose numbers wrap."""
    rng = np.random.default_rng(seed)
    count = 500
    stream = rng.integers(0, 10, count)
    at = np.uint32(2**32 - 40_000) + np.cumsum(rng.integers(-1000, 3000, count)).astype(np.uint32)
    # An ACK asks for the first byte of some packet of the other direction.
    other = [int(rng.choice(np.flatnonzero(stream == of ^ 1))) for of in stream]
    columns = {
        "tcp_seq": (at, rng.random(count) < 0.95),
        "tcp_ack": (at[other], rng.random(count) < 0.9),
        "tcp_flags": (np.full(count, 0x10), np.ones(count, bool)),
        "payload_bytes": (rng.choice([0, 1448], count), np.ones(count, bool)),
    }
    made = SimpleNamespace(
        stream=stream,
        seen=np.asfortranarray(rng.random((count, 2)) < 0.9),
        t_ns=np.asfortranarray(np.sort(rng.integers(0, 10**9, (count, 2)), axis=0)),
        values=columns.__getitem__,
    )
    return cast(PacketIndex, made)


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_time_changes_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def seen() -> list[Any]:
        packets = index(seed)
        streams = ByteStreams(packets, np.flatnonzero(packets.stream < 8))
        rows = np.arange(len(streams.rows))
        copies = streams.copies(rows, packets.seen[streams.rows])
        asked = [streams.asked_for(np.flatnonzero(streams.data), capture) for capture in (0, 1)]
        return [streams.rows, streams.data, streams.acked, *copies, *asked]

    near = seen()
    monkeypatch.setattr(byte_stream, "_NEAR", 0)
    for one, other in zip(near, seen(), strict=True):
        assert (one == other).all()
    assert near[2].any()
    assert not near[2].all()
    assert near[-1].any()
