"""When a line between two captured hosts is full of a connection, and how long its packets wait behind those of others."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from wlanlens.ledger.line import Line
from wlanlens.ledger.paced_line import paced_line
from wlanlens.ledger.spans import Spans

MS = 1_000_000
#: A segment takes so long on the line, and so long behind it; ms.
OWN, BEHIND = 10.0, 20.0
#: Flow, direction, bytes, time at the sender's host and at the receiver's, ms; -1 where it did not pass.
Row = tuple[int, str, int, float, float]


def links(rows: list[Row]) -> pa.Table:
    columns = list(zip(*rows, strict=True))
    near, far = (pa.array([None if t < 0 else round(t * MS) for t in column], pa.int64()) for column in columns[3:])
    none = pa.nulls(len(rows), pa.int64())
    return pa.table(
        {
            "flow": pa.array(columns[0], pa.uint32()),
            "direction": pa.array(columns[1]).dictionary_encode(),
            "payload_bytes": pa.array(columns[2], pa.uint32()),
            "sender_t_ns": near,
            "receiver_t_ns": far,
            "air_t_ns": none,
            "usb_packet": none,
        }
    )


def sent(times: list[tuple[int, float]], lost: tuple[int, ...] = ()) -> list[Row]:
    """Segments of flows, by when they are sent, in order, over one line; each is acknowledged at once."""
    rows: list[Row] = [(flow, "a2b", 0, 0.0, BEHIND) for flow in {flow for flow, _ in times}]
    free = 0.0
    for n, (flow, t) in enumerate(times):
        free = max(free, t) + OWN
        arrives = -1.0 if n in lost else free + BEHIND
        rows.append((flow, "a2b", 1000, t, arrives))
        if n not in lost:
            rows.append((flow, "b2a", 0, arrives + BEHIND, arrives))
    return rows


def full_of(rows: list[Row], back: int = 0) -> Spans:
    full = Line(links(rows)).full(0, back)
    assert full is not None
    assert full.sure is full.possible
    return full.sure


def window(size: int, segments: int) -> list[tuple[int, float]]:
    """When a flow sends that has a window of so many segments: a round trip takes 50 ms without a queue."""
    out: list[float] = []
    acked: list[float] = []
    free = 0.0
    for n in range(segments):
        t = 100.0 if n < size else acked[n - size]
        free = max(free, t) + OWN
        acked.append(free + 2 * BEHIND)
        out.append(t)
    return [(0, t) for t in out]


@pytest.mark.parametrize(("size", "share"), [(1, 0.0), (3, 0.0), (4, 0.0), (5, 1.0), (9, 1.0)])
def test_a_line_is_full_of_a_window_that_fills_a_round_trip(size: int, share: float) -> None:
    rows = sent(window(size, 60))
    full = full_of(rows)
    life = max(row[4] for row in rows) - BEHIND - 100.0
    assert (full.end - full.start).sum() / MS == pytest.approx(share * life, abs=1.0)
    # In the other direction nothing is sent.
    assert not len(full_of(rows, 1).start)


def test_what_was_lost_behind_the_line_had_filled_it() -> None:
    whole, lossy = (full_of(sent(window(6, 60), lost)) for lost in ((), tuple(range(10, 50, 7))))
    assert (whole.end - whole.start).sum() == pytest.approx((lossy.end - lossy.start).sum(), rel=0.02)
    assert len(lossy.start) == 1


def test_data_that_has_not_arrived_at_the_end_is_on_the_line() -> None:
    rows = sent([(1, float(t)) for t in range(60)])
    rows += [(0, "a2b", 0, 0.0, BEHIND), (0, "b2a", 0, 2 * BEHIND, BEHIND)]
    last = max(row[3] for row in rows)
    # Sent so long before the end; for less than there and back it may just be under way.
    for since, is_full in ((100.0, True), (30.0, False)):
        full = full_of([*rows, (0, "a2b", 1000, last - since, -1.0)])
        assert bool(len(full.start)) == is_full


def test_a_station_is_no_line() -> None:
    chance = np.random.default_rng(1)
    takes = np.cumsum(chance.uniform(2, 10, 60))
    rows: list[Row] = [(0, "a2b", 1000, 0.0, t) for t in takes.tolist()]
    rows += [(0, "b2a", 0, t + 5, t) for t in takes.tolist()]
    assert Line(links(rows)).full(0, 0) is None


def test_a_queue_of_others_is_counted_by_the_share_of_packets_in_it() -> None:
    # One flow fills the line, another sends a segment into its queue.
    times = sorted([(1, float(t)) for t in range(100)] + [(0, 50.0)], key=lambda x: x[1])
    rows = sent(times)
    line = Line(links(rows))
    arrived = [row[4] for row in rows if row[0] == 0 and row[2] > 0]
    begun = [t - BEHIND - OWN for t in arrived]
    start, end = np.array([0, 50 * MS]), np.array([50 * MS, 2000 * MS])
    found = line.queues(
        np.zeros(2, np.int64), np.zeros(2, np.int64), start, end, np.ones(2, bool), np.arange(2), np.zeros(2, np.int64)
    )
    # It waits until it is sent, and before that nothing of the flow was sent.
    assert found[0] == 0
    assert found[1] / MS == pytest.approx(begun[0] - 50.0, abs=1.0)
    # What fills the line loses nothing by its own queue.
    of_full = line.queues(
        np.ones(2, np.int64), np.zeros(2, np.int64), start, end, np.ones(2, bool), np.arange(2), np.full(2, 7)
    )
    assert of_full.tolist() == [0, 0]


def test_on_a_line_that_takes_no_time_nothing_stays() -> None:
    rows: list[Row] = [(0, "a2b", n % 2 * 1000, 10.0 * n, 10.0 * n + BEHIND) for n in range(20)]
    rows += [(0, "b2a", 0, 10.0 * n + 2 * BEHIND, 10.0 * n + BEHIND) for n in range(20)]
    assert not len(full_of(rows).start)


def test_a_pace_shows_by_two_sizes_where_nothing_waits() -> None:
    first = np.arange(40) * 100 * MS
    size = np.where(np.arange(40) % 2, 1000, 0)
    rows = {"first": first, "last": first + 20 * MS + size * 5000, "bytes": size + 54, "data": size > 0}
    line = paced_line(rows)
    assert line is not None
    assert (line.ns_per_byte, line.rest_ns) == (5000, 20 * MS - 54 * 5000)
    rows["last"] = rows["last"] + np.arange(40) % 7 * MS
    assert paced_line(rows) is None
    assert paced_line({name: values[:0] for name, values in rows.items()}) is None
