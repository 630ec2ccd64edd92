"""Connections begin with their first packet in any capture."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from wlanlens.ledger.openings import from_first_packet
from wlanlens.tables import CATEGORIES, POINTS

S = 1_000_000_000
HANDSHAKE, RTO_WAIT, RTO_BACKOFF, PATH = map(CATEGORIES.index, ("handshake", "rto_wait", "rto_backoff", "path"))


def links(*seen: dict[str, int]) -> pa.Table:
    """Packets of connection 0, by the seconds at which they passed captures."""
    columns = {"flow": pa.array([0] * len(seen), pa.int32())}
    for point in POINTS:
        times = [int(row[point] * S) if point in row else None for row in seen]
        columns[f"{point}_t_ns"] = pa.array(times, pa.int64())
    return pa.table(columns)


def moved(packets: pa.Table, *rows: tuple[int, float, float, int]) -> list[tuple[int, float, float, str]]:
    """Rows of direction, start and end in seconds, and category; with the directions of the results."""
    back, start, end, category = (np.array(column) for column in zip(*rows, strict=True))
    flow = np.zeros(len(rows), np.int64)
    start, end = (np.array(t * S, np.int64) for t in (start, end))
    row, a, b, code = from_first_packet(packets, flow, back, start, end, category)
    return [(int(back[r]), s / S, e / S, CATEGORIES[c]) for r, s, e, c in zip(row, a, b, code, strict=True)]


def test_the_answering_end_waits_for_what_the_opener_waits_for() -> None:
    # The first SYN is lost. The second arrives after 0.1 s; its answer is lost, and a timer repeats that.
    packets = links({"sender": 0}, {"sender": 1, "receiver": 1.1}, {"receiver": 1.1}, {"receiver": 2.1, "sender": 2.2})
    opener = [(0, 0, 1, RTO_WAIT), (0, 1, 2.1, RTO_BACKOFF), (0, 2.1, 2.2, HANDSHAKE), (0, 2.2, 3, PATH)]
    answerer = [(1, 1.1, 2.1, RTO_WAIT), (1, 2.1, 2.3, HANDSHAKE), (1, 2.3, 3, PATH)]
    found = moved(packets, *opener, *answerer)
    assert found[:4] == [(back, s, e, CATEGORIES[code]) for back, s, e, code in opener]
    assert found[4:] == [
        (1, 0, 1, "rto_wait"),
        (1, 1, 1.1, "rto_backoff"),
        (1, 1.1, 2.1, "rto_backoff"),
        (1, 2.1, 2.3, "handshake"),
        (1, 2.3, 3, "path"),
    ]


def test_a_way_to_the_answering_end_is_of_the_handshake() -> None:
    packets = links({"sender": 0, "receiver": 0.1})
    assert moved(packets, (1, 0.1, 0.3, HANDSHAKE), (1, 0.3, 1, PATH)) == [
        (1, 0, 0.1, "handshake"),
        (1, 0.1, 0.3, "handshake"),
        (1, 0.3, 1, "path"),
    ]
    # A capture that begins in the middle shows no opening.
    assert moved(packets, (1, 0.1, 1, PATH)) == [(1, 0.1, 1, "path")]


def test_a_timer_of_the_answering_end_is_its_first_while_the_openers_runs() -> None:
    # The SYN+ACK is lost, and the timers of both ends expire at the same time.
    packets = links({"sender": 0, "receiver": 0.1}, {"receiver": 0.1}, {"receiver": 1.1, "sender": 1.2})
    rows = [
        (0, 0, 1, RTO_WAIT),
        (0, 1, 1.2, RTO_BACKOFF),
        (0, 1.2, 3, PATH),
        (1, 0.1, 1.1, RTO_WAIT),
        (1, 1.1, 3, PATH),
    ]
    assert moved(packets, *rows)[3:] == [(1, 0, 0.1, "rto_wait"), (1, 0.1, 1.1, "rto_wait"), (1, 1.1, 3, "path")]
