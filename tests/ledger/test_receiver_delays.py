"""Delayed ACKs by the captures of both hosts: each interval is cut as it is alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from wlanlens.ledger.receiver_delays import LEAST_NS, LONGEST_NS, ReceiverDelays

MS = 1_000_000
#: Flow, direction, bytes, time at the sender's host and at the receiver's, ms.
Row = tuple[int, str, int, float, float]


def links(rows: list[Row], flags: int = 16) -> pa.Table:
    columns = list(zip(*sorted(rows, key=lambda r: min(r[3:])), strict=True))
    near, far = (pa.array([None if t < 0 else int(t * MS) for t in column], pa.int64()) for column in columns[3:])
    return pa.table(
        {
            "flow": pa.array(columns[0], pa.uint32()),
            "direction": pa.array(columns[1]).dictionary_encode(),
            "payload_bytes": pa.array(columns[2], pa.uint32()),
            "tcp_flags": pa.array([flags] * len(rows), pa.uint16()),
            "usb_t_ns": pa.nulls(len(rows), pa.int64()),
            "sender_t_ns": near,
            "receiver_t_ns": far,
        }
    )


def stop_and_wait(flow: int, start: float, rounds: int, delay_ms: float, back: bool = False) -> list[Row]:
    """Segments whose ACKs leave so much later, and release the next one at once; the path takes 5 ms."""
    rows: list[Row] = []
    for n in range(rounds):
        t = start + n * (10.1 + delay_ms)
        data, ack = (t, t + 5), (t + 10 + delay_ms, t + 5 + delay_ms)
        rows.append((flow, "b2a" if back else "a2b", 1000, *(data[::-1] if back else data)))
        rows.append((flow, "a2b" if back else "b2a", 0, *(ack[::-1] if back else ack)))
    return rows


@pytest.mark.parametrize("back", [False, True])
def test_an_ack_that_leaves_late_was_delayed(back: bool) -> None:
    rows = stop_and_wait(0, 0.0, 4, 40.0, back)
    found = ReceiverDelays(links(rows))
    # The last ACK releases nothing: the sender had sent all.
    assert (found._start / MS).round(1).tolist() == [5.0, 55.1, 105.2]
    assert ((found._end - found._start) / MS).round(1).tolist() == [40.0] * 3
    assert found._key.tolist() == [int(back)] * 3
    for delay_ns in (LEAST_NS - MS, LONGEST_NS + MS):
        assert not ReceiverDelays(links(stop_and_wait(0, 0.0, 4, delay_ns / MS)))
    # A FIN, and a segment with data, wait for the application.
    assert not ReceiverDelays(links(rows, flags=17))
    assert not ReceiverDelays(links([(*row[:2], 100, *row[3:]) for row in rows]))


@pytest.mark.parametrize("back", [False, True])
def test_a_short_delay_counts_where_nothing_else_passes_the_receiver(back: bool) -> None:
    rows = stop_and_wait(0, 0.0, 4, 10.0, back)
    found = ReceiverDelays(links(rows))
    assert ((found._end - found._start) / MS).round(1).tolist() == [10.0] * 3
    # Of another connection, 7 ms after each segment arrived: the ACK may have waited behind it.
    times = [(t + 7, t + 12) for t in (0, 20.1, 40.2)]
    other: list[Row] = [(1, "a2b", 1000, *(t[::-1] if back else t)) for t in times]
    assert not ReceiverDelays(links(rows + other))
    long = stop_and_wait(0, 0.0, 4, 30.0, back)
    assert len(ReceiverDelays(links(long + other))._key) == 3


@pytest.mark.parametrize(("pause_ms", "found"), [(8.0, 3), (14.0, 0)])
def test_a_message_that_is_written_later_waited_for_no_ack(pause_ms: float, found: int) -> None:
    """World 367185: a message each 117 ms, whose last segment the receiver acknowledges 14 ms before the next."""
    rows = [
        (*row[:3], *(t + n // 2 * pause_ms for t in row[3:])) for n, row in enumerate(stop_and_wait(0, 0.0, 4, 40.0))
    ]
    assert len(ReceiverDelays(links(rows))._key) == found


@pytest.mark.parametrize("back", [False, True])
def test_an_ack_that_left_at_once_was_late_on_the_path(back: bool) -> None:
    rows = stop_and_wait(0, 0.0, 4, 2.0, back) + stop_and_wait(1, 0.0, 4, 30.0, back)
    delays = ReceiverDelays(links(rows))
    for flow, at_once in ((0, True), (1, False)):
        came = np.array([max(row[3:]) for row in rows if row[0] == flow and row[2] == 0]) * MS
        asked = delays.at_once(np.full(4, flow), np.full(4, int(back)), came.astype(np.int64))
        assert asked.tolist() == [at_once] * 4
    # No ACK arrived then, and none of another direction.
    assert not delays.at_once(np.array([0]), np.array([int(back)]), np.array([7])).any()
    assert not delays.at_once(np.array([0]), np.array([1 - int(back)]), came[:1].astype(np.int64)).any()


def test_a_sender_that_is_idle_after_an_ack_had_not_waited_for_it() -> None:
    """World 368085: writes of less than a segment, each 9 ms after the delayed ACK of the one before."""
    rows = [(*row[:3], *(t + n // 2 * 9.0 for t in row[3:])) for n, row in enumerate(stop_and_wait(0, 0.0, 4, 40.0))]
    delays = ReceiverDelays(links(rows))
    assert len(delays._key) == 3
    acks = [int(max(row[3:]) * MS) for row in rows if row[2] == 0]
    # Idle after the first two ACKs, in a moment after the third one, and in the other direction.
    start = np.array([acks[0], acks[1], acks[2], acks[2]])
    end = start + np.array([8, 8, 0, 8]) * MS
    delays.leave_out_idle(np.zeros(4, np.int64), np.array([0, 0, 0, 1]), start, end)
    assert (delays._end / MS).round(1).tolist() == [round(acks[2] / MS - 5, 1)]


def test_acks_that_leave_over_a_usb_bus_may_have_waited_for_that() -> None:
    table = links(stop_and_wait(0, 0.0, 4, 40.0))
    at = table.schema.get_field_index("usb_t_ns")
    for point, found in (("receiver_t_ns", 0), ("sender_t_ns", 3)):
        assert len(ReceiverDelays(table.set_column(at, "usb_t_ns", table.column(point)))._key) == found


def test_intervals_are_cut_as_each_alone() -> None:
    draw = np.random.default_rng(2)
    rows: list[Row] = []
    for flow in range(30):
        rows += stop_and_wait(
            flow, float(draw.uniform(0, 50)), 6, float(draw.choice([0.0, 40.0, 90.0])), bool(flow % 3)
        )
        # Both directions of one connection.
        rows += stop_and_wait(flow, 1000 + float(draw.uniform(0, 50)), 6, 60.0, not flow % 3)
    delays = ReceiverDelays(links(rows))
    flow, back = np.divmod(np.repeat(np.arange(60), 40), 2)
    edges = np.sort(draw.integers(0, 2000 * MS, (60, 41)), axis=1)
    start, end = edges[:, :-1].ravel(), edges[:, 1:].ravel()
    category, some = np.arange(len(start)) % 5, draw.random(len(start)) < 0.8
    row, a, b, code = delays.cut(flow, back, start, end, category, some, 9)
    assert (a < b).all()
    assert (np.diff(row) >= 0).all()
    length = np.bincount(row, b - a, minlength=len(start))
    assert (length == end - start).all()
    key = 2 * flow + back
    for i in range(len(start)):
        mine = delays._key == key[i]
        shared = np.minimum(delays._end[mine], end[i]) - np.maximum(delays._start[mine], start[i])
        whole = int(np.maximum(shared, 0).sum())
        assert (b - a)[(row == i) & (code == 9)].sum() == (whole if some[i] else 0)
        assert delays.any_in(flow[[i]], back[[i]], start[[i]], end[[i]])[0] == (whole > 0)


def test_times_that_are_far_apart_overflow_nothing() -> None:
    rows = [row for flow in range(8) for row in stop_and_wait(flow, 10.0**11 * flow, 3, 40.0)]
    assert len(ReceiverDelays(links(rows))._key) == 16
