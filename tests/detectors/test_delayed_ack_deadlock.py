"""delayed_ack_deadlock: a lone segment waits for the receiver's timer; pauses, silly windows and slow lines are not stalls."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wlanlens as wl
from tests import kernel
from tests.detectors.made import MS, MSS, ack, again, data, flows, run, trace
from wlanlens.simulation.simulate import simulate
from wlanlens.validation.random_worlds import random_world

CODE = "delayed_ack_deadlock"
#: A round trip of 5 ms at the sender's tap.
FLOWS = flows(tap_rtt_min_ns=5 * MS, handshake_rtt_ns=5 * MS, segment_max_bytes=MSS)


def lone(count: int = 3, wait_ms: float = 105.0, pause_ms: float = 0.02, **more: object) -> list[dict[str, object]]:
    """One segment at a time, each acknowledged after a while, the next sent a while after that."""
    rows: list[dict[str, object]] = []
    t = 1000.0
    for i in range(count + 1):
        rows.append(data(2 * i + 1, t, 1 + i * MSS, **{"peer_window_bytes": 32_768, **more}))
        rows.append(ack(2 * i + 2, t + wait_ms, 1 + (i + 1) * MSS))
        t += wait_ms + pause_ms
    return rows[:-1]


def codes(rows: list[dict[str, object]], flow_rows: list[dict[str, object]] | None = None) -> list[float]:
    return [f.cost_s for f in run(CODE, trace(flow_rows or FLOWS, segments=rows))[0]]


def test_the_cost_is_each_wait_less_the_round_trip() -> None:
    (found,), _ = run(CODE, trace(FLOWS, segments=lone()))
    assert found.cost_s == pytest.approx(0.3)
    assert found.values["waits_count"] == 3
    assert found.t_start_ns == 1000 * MS
    assert "cwnd was one segment" in found.sentence


def test_a_window_that_the_receiver_has_closed_meanwhile_is_no_stall() -> None:
    """World 640069: the segment was sent in a large window, but the ACK before its own left no room for another."""
    rows: list[dict[str, object]] = []
    t = 1000.0
    for i in range(4):
        first = 1 + 5 * i * MSS
        for k in range(5):
            rows.append(data(10 * i + k + 1, t + k / 10, first + k * MSS, peer_window_bytes=6 * MSS))
        rows.append(ack(10 * i + 6, t + 6, first + 2 * MSS, peer_window_bytes=3 * MSS + 100))
        rows.append(ack(10 * i + 7, t + 8, first + 4 * MSS, peer_window_bytes=MSS + 100))
        rows.append(ack(10 * i + 8, t + 108, first + 5 * MSS, peer_window_bytes=6 * MSS))
        t += 108.02
    assert codes(rows[:-1]) == []
    for row in rows:
        row["peer_window_bytes"] = 6 * MSS
    assert len(codes(rows[:-1])) == 1


def of_sizes(sizes: tuple[int, ...], wait_ms: Callable[[int], float]) -> list[dict[str, object]]:
    """Single segments of these sizes, one after another."""
    rows: list[dict[str, object]] = []
    t, seq = 1000.0, 1
    for i, size in enumerate(sizes):
        rows.append(data(2 * i + 1, t, seq, len=size, peer_window_bytes=32_768))
        rows.append(ack(2 * i + 2, t + wait_ms(size), seq + size))
        t += wait_ms(size) + 0.02
        seq += size
    return rows[:-1]


def test_a_slow_line_takes_longer_for_larger_segments_and_a_timer_does_not() -> None:
    """World 361271: a line of 2.2 kbit/s, and writes of 108, 144 and 252 bytes."""
    sizes = (252, 144, 144, 108, 144, 108, 144, 144, 108, 144, 108)
    assert codes(of_sizes(sizes, lambda size: 5 + (size - 108) * 3.7)) == []
    assert len(codes(of_sizes(sizes, lambda size: 138.0 if size > 108 else 5.0))) == 1


def test_a_receiver_that_acknowledges_at_once_in_the_beginning() -> None:
    """World 363004: sixteen segments at once, and then two of three wait for the timer."""
    rows: list[dict[str, object]] = []
    t = 1000.0
    for i in range(19):
        wait_ms = 205.0 if i in (16, 18) else 5.0
        rows.append(data(2 * i + 1, t, 1 + i * MSS, peer_window_bytes=32_768))
        rows.append(ack(2 * i + 2, t + wait_ms, 1 + (i + 1) * MSS))
        t += wait_ms + 0.02
    rows.append(data(40, t, 1 + 19 * MSS, peer_window_bytes=32_768))
    assert codes(rows) == [pytest.approx(0.4)]


def test_waits_of_different_lengths_are_undecided() -> None:
    """A timer runs equally long each time; frames that are late on the air do not."""
    rows: list[dict[str, object]] = []
    t = 1000.0
    for i, wait_ms in enumerate((35.0, 80.0, 50.0, 110.0, 60.0, 60.0)):
        rows.append(data(2 * i + 1, t, 1 + i * MSS, peer_window_bytes=32_768))
        rows.append(ack(2 * i + 2, t + wait_ms, 1 + (i + 1) * MSS))
        t += wait_ms + 0.02
    found, (open_,) = run(CODE, trace(FLOWS, segments=rows[:-1]))
    assert not found
    assert "different times" in open_.sentence
    assert open_.spans[0][1] == 1000 * MS
    assert len(run(CODE, trace(FLOWS, segments=rows[:-1]), even_share=2.0)[0]) == 1


def first_alone(next_rtt_ms: float = 5.0, next_len: int = MSS, each: bool = False) -> list[dict[str, object]]:
    """A connection's first segment waits for its ACK, and the next two take a round trip of this length. `each` has an ACK."""
    rows = lone(count=1)
    rows[-1]["len"] = next_len
    t, rtt = 1000.0 + 105.0 + 0.02, {"rtt_ns": int(next_rtt_ms * MS)}
    rows.append(data(4, t, 1 + MSS + next_len, peer_window_bytes=32_768))
    if each:
        rows.append(ack(5, t + next_rtt_ms, 1 + MSS + next_len, flight_bytes=MSS, **rtt))
    return [*rows, ack(6, t + next_rtt_ms, 1 + 2 * MSS + next_len, **rtt)]


def test_the_first_segment_counts_alone_on_a_calm_path() -> None:
    assert codes(first_alone()) == [pytest.approx(0.1)]
    # A receiver that acknowledges each segment had not delayed the first one (world 360019).
    assert codes(first_alone(each=True)) == []


def test_the_answer_to_a_second_syn_ack_is_no_duplicate_of_data() -> None:
    rows = first_alone()
    answer = {**ack(2, 1050.0, 1), "kind": "dupack", "dupacks": 1}
    for row in rows[1:]:
        row["packet"] += 1  # type: ignore[operator]
    both = flows(tap_rtt_min_ns=5 * MS, handshake_rtt_ns=5 * MS, segment_max_bytes=MSS, syn_packets=2)
    assert codes([rows[0], answer, *rows[1:]], both) == [pytest.approx(0.1)]
    assert codes([rows[0], answer, *rows[1:]]) == []


def test_one_late_ack_among_others_is_no_timer() -> None:
    assert codes(first_alone(next_rtt_ms=60.0)) == []


def test_a_single_wait_without_later_round_trips_is_no_timer() -> None:
    assert codes(lone(count=1)) == []


def test_a_copy_of_data_that_had_arrived_is_acknowledged_at_once() -> None:
    # The path delays the ACK of each such copy by 100 ms.
    rows: list[dict[str, object]] = []
    for i in range(3):
        seq, t = 1 + i * MSS, 1000.0 + 400 * i
        rows.append(data(3 * i + 1, t, seq, peer_window_bytes=32_768))
        rows.append(again(3 * i + 2, t + 250, seq, peer_window_bytes=32_768, spurious=True, trigger="rto"))
        rows.append(ack(3 * i + 3, t + 399.98, seq + MSS))
    rows.append(data(10, 1000.0 + 1200, 1 + 3 * MSS, peer_window_bytes=32_768))
    assert codes(rows) == []
    for row in rows:
        row.pop("spurious", None)
    assert len(codes(rows)) == 1


def test_a_short_next_segment_names_nagle() -> None:
    (found,), _ = run(CODE, trace(FLOWS, segments=first_alone(next_len=200)))
    assert "Nagle" in found.sentence


def test_no_finding_when_the_application_pauses() -> None:
    assert codes(lone(pause_ms=150.0)) == []


def test_no_finding_when_the_window_holds_one_segment() -> None:
    assert codes(lone(peer_window_bytes=2000)) == []


def test_no_finding_for_waits_outside_the_timers_range() -> None:
    assert codes(lone(wait_ms=20.0)) == []
    assert codes(lone(wait_ms=700.0)) == []


def test_few_slow_acks_among_many_fast_ones_are_no_timer() -> None:
    rows = lone(count=12, wait_ms=8.0)
    for row in rows:
        if row["packet"] > 10:  # type: ignore[operator]
            row["t_ns"] += 90 * MS  # type: ignore[operator]
    # The ACK of packet 10 comes late now, and nothing else does.
    rows[9]["t_ns"] += 90 * MS  # type: ignore[operator]
    assert codes(rows) == []


def test_no_finding_when_a_slow_line_delays_each_segment() -> None:
    # Two in a row are acknowledged 100 ms apart: that is the line, not a timer.
    rows = [*lone(), data(20, 2000, 1 + 4 * MSS), data(21, 2001, 1 + 5 * MSS)]
    rows += [ack(22, 2105, 1 + 5 * MSS), ack(23, 2205, 1 + 6 * MSS)]
    assert codes(rows) == []


@pytest.mark.parametrize(("later_ms", "costs"), [(105.0, []), (6.0, [pytest.approx(0.3)])])
def test_no_finding_where_an_ack_of_two_segments_takes_as_long(later_ms: float, costs: list[float]) -> None:
    """No timer delays it, also soon after a retransmission (world 382021: a line of 3 kbit/s)."""
    rows = [
        *lone(),
        again(20, 1800, 1 + 4 * MSS),
        data(21, 1800.01, 1 + 5 * MSS),
        ack(22, 1800 + later_ms, 1 + 6 * MSS),
    ]
    assert codes(rows) == costs


def test_the_last_of_two_segments_can_be_alone() -> None:
    # A sender that repairs all losses first sends nothing for the first ACK; the second waits for the timer.
    rows = []
    for k in range(3):
        n, t, at = 10 * k, 1000.0 + 300 * k, 1 + 4 * k * MSS
        rows += [data(n + i + 1, t + i * 0.01, at + i * MSS, peer_window_bytes=32_768) for i in range(2)]
        rows += [ack(n + 4, t + 5, at + MSS), ack(n + 5, t + 50, at + 2 * MSS)]
        rows += [data(n + 6 + i, t + 50.02, at + (2 + i) * MSS, peer_window_bytes=32_768) for i in range(2)]
        rows += [ack(n + 9, t + 55, at + 4 * MSS)]
    assert codes(rows) == [pytest.approx(3 * 0.045, rel=0.2)]


def test_no_finding_with_a_second_segment_in_flight() -> None:
    rows = [data(1, 1000, 1), data(2, 1001, 1 + MSS), ack(3, 1105, 1 + MSS), data(4, 1105.02, 1 + 2 * MSS)]
    assert codes(rows) == []


def test_segments_given_up_at_a_timeout_are_not_in_flight() -> None:
    rows = [data(i + 1, 1000 + i, 1 + i * MSS, peer_window_bytes=32_768) for i in range(4)]
    rows += [again(10, 1210, 1, trigger="rto", peer_window_bytes=32_768), ack(11, 1315, 1 + MSS)]
    rows += [again(12, 1315.02, 1 + MSS, peer_window_bytes=32_768), ack(13, 1420, 1 + 2 * MSS)]
    rows += [again(14, 1420.02, 1 + 2 * MSS)]
    assert codes(rows) == [pytest.approx(0.2, rel=1e-3)]


def test_at_the_receiver_the_reaction_takes_a_round_trip() -> None:
    assert codes(echoing(lone(pause_ms=201.0)), FAR) == [pytest.approx(0.315)]
    # What comes sooner was sent for an ACK before.
    assert codes(echoing(lone(pause_ms=60.0)), FAR) == []


FAR = flows(tap="near_receiver", tap_rtt_min_ns=0, handshake_rtt_ns=200 * MS, segment_max_bytes=MSS)


def echoing(rows: list[dict[str, Any]], back: int = 0) -> list[dict[str, Any]]:
    """Data that echoes the timestamp of the latest ACK before it, or of one `back` more."""
    stamps = [4000, 4000]
    for row in rows:
        if row["kind"] == "ack":
            stamps.append(row["tsval"])
        else:
            row["tsecr"] = stamps[-1 - back]
    return rows


def test_away_from_the_sender_an_older_echo_shows_more_in_flight() -> None:
    assert codes(echoing(lone(pause_ms=201.0), back=1), FAR) == []


def test_away_from_the_sender_without_timestamps_undecided() -> None:
    found, undecided = run(CODE, trace(FAR, segments=lone(pause_ms=201.0)))
    assert not found
    assert [u.count for u in undecided] == [3]


@kernel.needed
def test_kernel_captures_stall_at_the_first_segment_only() -> None:
    (finding,) = kernel.of(kernel.found("delack_initcwnd1"), CODE)
    assert finding.cost_s == pytest.approx(0.041, abs=0.005)
    for name in ("clean_newreno", "applimited", "zerowin", "tail3_newreno", "bloat100"):
        assert kernel.of(kernel.found(name), CODE) == []


@pytest.mark.parametrize(
    ("scenario", "taps"), [("delayed_ack_deadlock", ("sender", "air")), ("nagle_stall", ("sender", "air"))]
)
def test_simulated_stalls_are_found(scenario: str, taps: tuple[str, ...], tmp_path: Path) -> None:
    run_ = wl.simulate(scenario, tmp_path, seed=3, taps=taps)
    for tap in taps:
        found = wl.detect(wl.align([run_.captures[tap]]), only=[CODE])
        score = wl.score(found, run_.truth)[CODE]
        assert (score.precision, score.recall) == (1.0, 1.0)
        assert score.time_error_s is not None
        assert score.time_error_s < 0.01
        assert score.cost_error is not None
        assert score.cost_error < 0.1


@pytest.mark.parametrize(("scenario", "parameters"), [("application_pause", {}), ("nagle_stall", {"nagle": False})])
def test_no_finding_in_simulations_without_stalls(scenario: str, parameters: dict[str, object], tmp_path: Path) -> None:
    run_ = wl.simulate(scenario, tmp_path, seed=3, **parameters)
    assert not [f for f in run_.truth if f.code == CODE]
    for path in run_.captures.values():
        assert wl.detect(wl.align([path]), only=[CODE]) == []


def test_the_first_ack_of_each_connection_counts_from_its_own_segment() -> None:
    """The rows of the connection before, which came later in the capture, end with another ACK."""
    later = [{**row, "packet": row["packet"] + 100} for row in first_alone()]
    second = [{**row, "flow": 1, "t_ns": row["t_ns"] - 500 * MS} for row in first_alone()]
    flow_rows = [*FLOWS, *({**row, "flow": 1} for row in FLOWS)]
    found, _ = run(CODE, trace(flow_rows, segments=[*second, *later]))
    assert [f.cost_s for f in found] == [pytest.approx(0.1)] * 2


@pytest.mark.parametrize(("late_ms", "finds"), [(6.0, 1), (80.0, 0)])
def test_a_queue_that_delays_other_connections_is_no_timer(late_ms: float, finds: int) -> None:
    # Another connection between the same hosts sends all the time.
    others: list[dict[str, object]] = []
    for i in range(30):
        t = 1000.0 + 15 * i
        others.append(data(100 + i, t, 1 + i * MSS, flow=1))
        others.append(ack(200 + i, t + late_ms, 1 + (i + 1) * MSS, flow=1, rtt_ns=int(late_ms * MS)))
    both = [{**row, "flow": flow} for flow in (0, 1) for row in FLOWS]
    found, undecided = run(CODE, trace(both, segments=[*lone(), *others]))
    assert len(found) == finds
    assert len(undecided) == 1 - finds


def test_a_capture_at_the_receiver_shows_whether_it_delayed_the_ack(tmp_path: Path) -> None:
    """World 366024: behind other data on the air the ACK of a lone segment took as long as a timer."""
    captures = simulate(random_world(366024, varied=True), tmp_path, seed=366024).captures
    one, both = ([captures[tap] for tap in taps] for taps in (("sender",), ("sender", "receiver")))
    assert [len(run(CODE, wl.align(paths))[0]) for paths in (one, both)] == [1, 0]
