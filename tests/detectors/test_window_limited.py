"""window_limited: the receiver's window limits the throughput."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests import kernel
from tests.detectors.made import MS, MSS, S, ack, flows, interval, run, trace
from tests.rows import table
from wlanlens.trace import Trace

CODE = "window_limited"


def test_fires_with_window_per_round_trip() -> None:
    rows = [
        interval("transfer", 0, 5000),
        interval("window_limited", 5000, 7000, window_bytes=10_000, acked_bytes=1_000_000),
        interval("zero_window", 7000, 8000),
    ]
    found, _ = run(CODE, trace(intervals=rows))
    (finding,) = found
    assert finding.cost_s == pytest.approx(3.0)
    assert finding.values["zero_window_s"] == pytest.approx(1.0)
    assert finding.values["window_per_rtt_bps"] == pytest.approx(10_000 * 8 / 0.020)
    assert finding.values["throughput_bps"] == pytest.approx(4e6)
    assert (finding.t_start_ns, finding.t_end_ns) == (5000 * MS, 8000 * MS)


def test_no_finding_when_the_window_fills_the_path() -> None:
    assert run(CODE, trace(intervals=[interval("full_path", 0, 9000, acked_bytes=9_000_000)])) == ([], [])


def test_two_round_trips_of_a_long_path_count() -> None:
    rows = [interval("slow_start", 0, 4000), interval("window_limited", 4000, 5600, rtt_ns=800 * MS)]
    assert [f.cost_s for f in run(CODE, trace(intervals=rows))[0]] == [pytest.approx(1.6)]


@pytest.mark.parametrize(("last_ms", "ends_ms"), [(10, 3000), (700, 8700)])
def test_a_burst_apart_is_left_out(last_ms: int, ends_ms: int) -> None:
    rows = [
        interval("window_limited", 1000, 3000),
        interval("transfer", 3000, 8000),
        interval("window_limited", 8000, 8000 + last_ms),
    ]
    (finding,) = run(CODE, trace(intervals=rows))[0]
    assert (finding.cost_s, finding.t_end_ns) == (pytest.approx(2 + last_ms / 1e3), ends_ms * MS)


def test_many_bursts_are_one_event() -> None:
    """Each of two round trips, none longer than the others (world 340061)."""
    rows = [interval("window_limited", 200 * i, 200 * i + 40) for i in range(40)]
    (finding,) = run(CODE, trace(intervals=rows))[0]
    # The first and last fifth of them are left out.
    assert (finding.t_start_ns, finding.t_end_ns) == (1600 * MS, 6240 * MS)
    assert finding.cost_s == pytest.approx(1.6)


def test_after_a_loss_the_congestion_window_may_be_the_limit() -> None:
    edge = 1 + 4 * MSS
    window = {"window_bytes": 4 * MSS, "flight_bytes": 4 * MSS}
    rows = [
        interval("fast_recovery", 0, 1000),
        *(interval("window_limited", 1000 + 20 * i, 1020 + 20 * i, **window) for i in range(400)),
    ]
    acks = [ack(2, 999, 1), *(ack(3 + i, 1020 + 20 * i, 1 + MSS + MSS * i) for i in range(400))]
    made = trace(flows(segment_max_bytes=MSS), intervals=rows, segments=acks)
    (finding,) = run(CODE, made)[0]
    reached = next(int(row["t_ns"]) for row in acks if int(row["rel_ack"]) >= edge)
    assert (finding.t_start_ns, finding.cost_s) == (reached, pytest.approx(8.0 - 0.08))


def test_the_congestion_window_is_never_below_one_segment() -> None:
    window = {"window_bytes": MSS, "flight_bytes": MSS}
    rows = [interval("fast_recovery", 0, 1000), interval("window_limited", 1000, 9000, **window)]
    made = trace(flows(segment_max_bytes=MSS), intervals=rows, segments=[ack(2, 999, 1)])
    (finding,) = run(CODE, made)[0]
    assert (finding.t_start_ns, finding.cost_s) == (1000 * MS, pytest.approx(8.0))


@pytest.mark.parametrize(
    ("least_ms", "rtt_ms", "segments", "decided"),
    [
        (2, 5, 2, False),  # two segments take 3 ms on 802.11b, and the handshake 2 ms
        (2, 2, 2, True),  # the window adds nothing to the round trip: a distance
        (2, 42, 2, False),  # a delayed ACK, or data of other stations
        (2, 42, 1, True),  # a delayed ACK: no link needs as long for one segment
        (20, 42, 2, True),
        (20, 200, 2, False),  # others fill a queue
        (20, 200, 1, True),
    ],
)
def test_undecided_where_a_link_may_be_busy(least_ms: int, rtt_ms: int, segments: int, decided: bool) -> None:
    row = interval("window_limited", 1000, 9000, window_bytes=segments * MSS, rtt_ns=rtt_ms * MS)
    made = trace(flows(segment_max_bytes=MSS, handshake_rtt_ns=least_ms * MS), intervals=[row])
    found, undecided = run(CODE, made)
    assert (len(found), len(undecided)) == ((1, 0) if decided else (0, 1))


def test_one_packet_in_flight_leaves_each_link_idle_while_its_ack_comes_back() -> None:
    """5 ms, as one frame with a retry takes (world 340232), unless others use the link."""
    row = interval("window_limited", 1000, 9000, window_bytes=MSS, rtt_ns=5 * MS)
    made = flows(segment_max_bytes=MSS, handshake_rtt_ns=2 * MS)
    found, undecided = run(CODE, trace(made, intervals=[row]))
    assert (len(found), undecided) == (1, [])
    other = {**made[0], "flow": 1, "ip_dst": "10.0.0.9", "flight_max_bytes": 2 * MSS}
    found, undecided = run(CODE, trace([*made, other], intervals=[row]))
    assert (found, len(undecided)) == ([], 1)


@pytest.mark.parametrize(("acked", "decided"), [(1, False), (2, True)])
def test_one_ack_for_the_whole_window_leaves_each_link_idle_while_it_comes_back(acked: int, decided: bool) -> None:
    """Two segments and an ACK for both, over and over, take 5 ms on 802.11b (world 381086)."""
    window = {"window_bytes": 2 * MSS, "flight_bytes": MSS, "acked_bytes": acked * MSS, "rtt_ns": 5 * MS}
    rows = [interval("window_limited", 1000 + 5 * i, 1005 + 5 * i, **window) for i in range(800)]
    found, undecided = run(CODE, trace(flows(segment_max_bytes=MSS, handshake_rtt_ns=2 * MS), intervals=rows))
    assert (len(found), len(undecided)) == ((1, 0) if decided else (0, 1))


def test_undecided_where_only_both_together_would_be_a_finding() -> None:
    """A finding takes half a second of ten: 0.3 s are decided, 0.4 s are open."""
    window = {"window_bytes": 2 * MSS}
    rows = [
        interval("window_limited", 1000, 1300, rtt_ns=2 * MS, **window),
        interval("window_limited", 2000, 2400, rtt_ns=5 * MS, **window),
    ]
    made = flows(segment_max_bytes=MSS, handshake_rtt_ns=2 * MS)
    found, undecided = run(CODE, trace(made, intervals=rows))
    assert (len(found), len(undecided)) == (0, 1)
    assert run(CODE, trace(made, intervals=rows[:1])) == ([], [])


def _acked_at(times_ms: list[float], **more: object) -> list[dict[str, object]]:
    """Intervals of a full window of ten segments; one segment is acknowledged at the end of each."""
    full = {"window_bytes": 10 * MSS, "acked_bytes": MSS, "rtt_ns": 100 * MS, **more}
    return [interval("window_limited", a, b, **full) for a, b in pairwise(times_ms)]


def test_evenly_paced_acks_show_a_busy_link() -> None:
    """Ten segments in each round trip of 100 ms, ten apart: the path holds just the window, and no queue lengthens the round trip."""
    made = flows(segment_max_bytes=MSS, peer_window_max_bytes=10 * MSS, tap_rtt_min_ns=90 * MS)
    even = _acked_at([10.0 * i for i in range(200)])
    assert run(CODE, trace(made, intervals=even)) == ([], [])
    # A train of ten in 50 ms and a pause, and a reader that opens a smaller window at its pace.
    trains = _acked_at([100.0 * (i // 10) + 5 * (i % 10) for i in range(200)])
    read = _acked_at([10.0 * i for i in range(200)], window_bytes=5 * MSS)
    for rows in (trains, read):
        (finding,) = run(CODE, trace(made, intervals=rows))[0]
        assert finding.cost_s == pytest.approx(2.0, abs=0.06)


def test_the_handshake_of_a_repeated_syn_is_no_round_trip() -> None:
    row = interval("window_limited", 1000, 9000, window_bytes=10 * MSS, rtt_ns=1030 * MS)
    made = flows(segment_max_bytes=MSS, handshake_rtt_ns=28 * MS, tap_rtt_min_ns=1028 * MS)
    found, undecided = run(CODE, trace(made, intervals=[row]))
    assert (len(found), undecided) == (1, [])


def test_another_connection_to_the_same_network_saw_the_path_empty() -> None:
    row = interval("window_limited", 1000, 9000, window_bytes=2 * MSS, rtt_ns=90 * MS)
    made = flows(segment_max_bytes=MSS, tap_rtt_min_ns=75 * MS)
    assert len(run(CODE, trace(made, intervals=[row]))[0]) == 1
    other = {**made[0], "flow": 1, "ip_dst": "10.0.0.9", "tap_rtt_min_ns": 5 * MS}
    found, undecided = run(CODE, trace([*made, other], intervals=[row]))
    assert (found, len(undecided)) == ([], 1)


def test_segments_of_other_connections_may_fill_the_same_queue() -> None:
    """A window of one segment, and 42 ms: too long for one frame, not for those of ten connections at once."""
    row = interval("window_limited", 1000, 9000, window_bytes=MSS, rtt_ns=42 * MS)
    made = flows(segment_max_bytes=MSS, tap_rtt_min_ns=3 * MS)
    assert len(run(CODE, trace(made, intervals=[row]))[0]) == 1
    others = [{**made[0], "flow": i, "ip_dst": f"10.0.0.{i + 9}", "flight_max_bytes": MSS} for i in range(1, 10)]
    found, undecided = run(CODE, trace([*made, *others], intervals=[row]))
    assert (found, len(undecided)) == ([], 1)
    over = [{**other, "t_end_ns": 500 * MS} for other in others]
    assert len(run(CODE, trace([*made, *over], intervals=[row]))[0]) == 1


def test_a_segment_of_many_packets_may_keep_a_link_busy() -> None:
    """65000 bytes at once, on a path of 69 ms: they take 250 ms on a line of 2 Mbit/s."""
    row = interval("window_limited", 1000, 9000, window_bytes=65_000, rtt_ns=321 * MS)
    found, undecided = run(CODE, trace(flows(segment_max_bytes=65_000, tap_rtt_min_ns=69 * MS), intervals=[row]))
    assert (found, len(undecided)) == ([], 1)


def test_unanswered_data_shows_no_limit() -> None:
    row = interval("window_limited", 1000, 9000, rtt_ns=None)
    found, undecided = run(CODE, trace(flows(tap_rtt_mean_ns=None), intervals=[row]))
    assert (found, len(undecided)) == ([], 1)


def test_a_window_without_room_for_the_second_segment() -> None:
    waits = [
        interval("delayed_ack", 100 * i, 100 * i + 100, window_bytes=1448, flight_bytes=1448, acked_bytes=1448)
        for i in range(50)
    ]
    found, _ = run(CODE, trace(flows(segment_max_bytes=1448), intervals=waits))
    assert [f.cost_s for f in found] == [pytest.approx(5.0)]
    # The second segment was sent in the interval: its ACK acknowledges both (world 340054).
    both = [{**row, "window_bytes": 3000, "acked_bytes": 2 * 1448} for row in waits]
    assert len(run(CODE, trace(flows(segment_max_bytes=1448), intervals=both))[0]) == 1
    for row in waits:
        row["window_bytes"] = 2 * 1448
    assert run(CODE, trace(flows(segment_max_bytes=1448), intervals=waits)) == ([], [])


def test_no_finding_below_the_limits() -> None:
    assert run(CODE, trace(intervals=[interval("zero_window", 0, 40)])) == ([], [])
    assert run(CODE, trace(intervals=[interval("zero_window", 0, 400)])) == ([], [])


def test_without_handshake_or_acks_undecided() -> None:
    _, unscaled = run(CODE, trace(flows(peer_window_max_bytes=0)))
    assert "handshake" in unscaled[0].sentence
    rows = flows()
    rows[1]["packets"] = 0
    _, one_sided = run(CODE, trace(rows))
    assert "no packets from the receiver" in one_sided[0].sentence


@kernel.needed
def test_closed_window() -> None:
    (finding,) = kernel.of(kernel.found("zerowin"), CODE)
    ((_, _, silent_s),) = kernel.truth("zerowin")["flows"][0]["silence"]
    assert finding.values["zero_window_s"] == pytest.approx(silent_s, rel=0.05)


@kernel.needed
def test_small_window() -> None:
    (finding,) = kernel.of(kernel.found("win4k"), CODE)
    assert finding.values["share_percent"] > 90
    assert finding.values["window_per_rtt_bps"] == pytest.approx(
        kernel.truth("win4k")["flows"][0]["goodput_bps"], rel=0.1
    )


@kernel.needed
def test_slow_reader() -> None:
    assert kernel.of(kernel.found("slowread"), CODE)


@kernel.needed
@pytest.mark.parametrize(
    "name", ["clean_cubic", "bloat100", "delack_initcwnd1", "applimited", "blackout3", "rnd2_cubic"]
)
def test_no_finding_in_other_kernel_captures(name: str) -> None:
    assert not kernel.of(kernel.found(name), CODE)


@pytest.mark.parametrize(("train", "undecided"), [(1, 0), (10, 1)])
def test_a_full_path_whose_acks_pause_is_undecided(train: int, undecided: int) -> None:
    """Ten segments in each round trip of 20 ms, acknowledged evenly, or by a train of ACKs (world 360032)."""
    window = {"window_bytes": 10 * MSS, "flight_bytes": 10 * MSS, "rtt_ns": 20 * MS}
    at_ms = [1000 + 2 * train * (i // train) + 0.1 * (i % train) for i in range(1000)]
    acks = [ack(1 + i, t, 1 + (1 + i) * MSS) for i, t in enumerate(at_ms)]
    made = trace(flows(segment_max_bytes=MSS), intervals=[interval("full_path", 1000, 3000, **window)], segments=acks)
    found, open_ = run(CODE, made)
    assert (found, len(open_)) == ([], undecided)


@pytest.mark.parametrize(("gap_ms", "found"), [(2.5, 0), (0.1, 1)])
def test_evenly_paced_acks_within_one_interval_show_a_busy_link(gap_ms: float, found: int) -> None:
    """The window opens once in 25 ms, and the sender fills it at once (world 382032)."""
    window = {"window_bytes": 20 * MSS, "acked_bytes": 10 * MSS, "rtt_ns": 50 * MS}
    rows = [interval("window_limited", 1000 + 25 * i, 1025 + 25 * i, **window) for i in range(200)]
    acks = [
        ack(1 + 10 * i + j, 1025 + 25 * i - gap_ms * (9 - j), 1 + (10 * i + j + 1) * MSS)
        for i in range(200)
        for j in range(10)
    ]
    made = flows(segment_max_bytes=MSS, handshake_rtt_ns=20 * MS)
    assert len(run(CODE, trace(made, intervals=rows, segments=acks))[0]) == found


def test_a_spurious_recovery_that_timestamps_show_reduces_nothing() -> None:
    """World 360026: the sender restores its window."""
    window = {"window_bytes": 4 * MSS, "flight_bytes": 4 * MSS}
    rows = [interval("fast_recovery", 0, 1000), interval("window_limited", 1000, 9000, **window)]
    episode = {"packet": 1, "t_start_ns": 0, "t_end_ns": 1000 * MS, "recover_rel_seq": 1, "spurious": True}
    for stamps, counts in ((True, (1, 0)), (False, (0, 1))):
        made = flows(segment_max_bytes=MSS, timestamps_agreed=stamps)
        found, open_ = run(CODE, trace(made, intervals=rows, segments=[ack(2, 999, 1)], recoveries=[episode]))
        assert (len(found), len(open_)) == counts


@pytest.mark.parametrize(("path_ms", "counts"), [(500, (1, 0)), (5000, (0, 1))])
def test_while_a_queue_fills_again_a_larger_window_is_no_faster(path_ms: int, counts: tuple[int, int]) -> None:
    """World 361558: jitter holds packets, and the window fills the path for most of the time."""
    window = {"window_bytes": 10 * MSS, "flight_bytes": 10 * MSS}
    rows = [interval("window_limited", 0, 1000, **window), interval("full_path", 1000, 1000 + path_ms, **window)]
    acks = [ack(2 + i, 1000 + 2 * i, 1 + (2 + i) * MSS) for i in range(path_ms // 2)]
    made = trace(flows(segment_max_bytes=MSS), intervals=rows, segments=[ack(1, 0, 1 + MSS), *acks])
    found, open_ = run(CODE, made)
    assert (len(found), len(open_)) == counts


def test_the_initial_window_may_be_as_large_as_the_receivers() -> None:
    """World 362030: the first two segments fill a window of two, and a round trip is a tenth of the connection's life."""
    window = {"window_bytes": 2 * MSS, "flight_bytes": 2 * MSS, "rtt_ns": 400 * MS}
    rows = [interval("window_limited", 300, 1100, **window), interval("transfer", 1100, 4000)]
    for acks, counts in (
        ([ack(1, 1100, 1 + MSS)], (0, 1)),
        ([ack(1, 200, 1 + MSS), ack(2, 1100, 1 + 2 * MSS)], (1, 0)),
    ):
        found, open_ = run(
            CODE,
            trace(
                flows(segment_max_bytes=MSS, handshake_rtt_ns=400 * MS, tap_rtt_min_ns=400 * MS),
                intervals=rows,
                segments=acks,
            ),
        )
        assert (len(found), len(open_)) == counts


@pytest.mark.parametrize(("category", "found"), [("receiver_window", 1), ("air_useful", 0)])
def test_captures_of_the_links_decide_whether_one_was_busy(category: str, found: int) -> None:
    """A round trip of others' data or of a full link: undecided from one capture."""
    row = interval("window_limited", 1000, 9000, window_bytes=2 * MSS, rtt_ns=42 * MS)
    parts = ((1000, 2000, "air_useful"), (2000, 9000, category))
    rows = [{"category": what, "t_start_ns": a * MS, "t_end_ns": b * MS} for a, b, what in parts]
    one = trace(flows(segment_max_bytes=MSS, handshake_rtt_ns=2 * MS), intervals=[row])
    assert len(run(CODE, one)[1]) == 1
    names = ("segments", "recoveries", "intervals", "flows")
    tables = {**{name: one.table(name) for name in names}, "ledger": table("ledger", rows)}
    findings, undecided = run(CODE, Trace.of_tables(tables, duration_ns=10 * S))
    assert (len(findings), undecided) == (found, [])
