"""overbuffering: the flow's own data in an oversized queue."""

from __future__ import annotations

import pytest

from tests import kernel
from tests.detectors.made import MS, ack, data, flows, run, trace

CODE = "overbuffering"


def stood(rtt_ms: int = 420, *, least_ms: int = 20) -> list[dict[str, object]]:
    """An ACK of 2000 bytes every 100 ms for a second, then of 12500 bytes for 4 s with this round trip."""
    start = [ack(2 * i, 100 * i, 1 + 2000 * i, rtt_ns=least_ms * MS) for i in range(1, 11)]
    most = [ack(2 * i, 100 * i, 20_001 + 12_500 * (i - 10), rtt_ns=rtt_ms * MS) for i in range(11, 51)]
    return [data(1, 0, 1, 600_000), *start, *most]


def in_turn() -> list[dict[str, object]]:
    """Flights of 10000 bytes, each with a longer round trip than the one before."""
    rows, t_ms = [data(1, 0, 1, 600_000)], 0
    for i in range(1, 21):
        t_ms += 20 * i
        rows.append(ack(2 * i, t_ms, 1 + 10_000 * i + i % 2, rtt_ns=20 * i * MS))
    return rows


def test_fires_with_delay_and_bytes() -> None:
    found, _ = run(CODE, trace(segments=stood()))
    (finding,) = found
    assert finding.values["queueing_mean_ms"] == pytest.approx(400)
    assert finding.values["queued_bytes"] == pytest.approx(50_000)
    assert finding.cost_s == pytest.approx(4 * 400 / 420)
    assert (finding.t_start_ns, finding.t_end_ns) == (1100 * MS, 5000 * MS)


def test_a_flow_that_begins_in_a_full_queue_is_compared_with_others_of_its_path() -> None:
    """Its own shortest round trip is 300 ms; one segment of another connection had 20 ms before."""
    before = [{**data(100, 0, 1), "flow": 1}, {**ack(101, 20, 1449, rtt_ns=20 * MS), "flow": 1}]
    other = [{**row, "flow": 1} for row in flows(payload_bytes=1448)]
    late = stood(700, least_ms=300)
    assert run(CODE, trace(segments=stood(450, least_ms=300)))[0] == []
    (found,) = run(CODE, trace([*flows(), *other], segments=[*before, *late]))[0]
    assert found.values["rtt_min_ms"] == 20
    elsewhere = [{**row, "ip_dst" if row["ip_src"] == "10.0.0.1" else "ip_src": "10.0.0.9"} for row in other]
    (alone,) = run(CODE, trace([*flows(), *elsewhere], segments=[*before, *late]))[0]
    assert alone.values["rtt_min_ms"] == 300


def test_a_flow_whose_first_data_queued_is_compared_with_its_handshake() -> None:
    """Data of 300 ms at least; the handshake took 20 ms, and the path carries 1448 bytes in 12 ms."""
    rows = stood(450, least_ms=300)
    (found,) = run(CODE, trace(flows(tap_rtt_min_ns=20 * MS, segment_max_bytes=1448), segments=rows))[0]
    assert found.values["rtt_min_ms"] == pytest.approx(20 + 1448 / 12_500 * 100)
    # A repeated SYN: the shortest round trip that was measured is that of data.
    again = flows(handshake_rtt_ns=20 * MS, tap_rtt_min_ns=300 * MS, segment_max_bytes=1448)
    assert run(CODE, trace(again, segments=rows)) == ([], [])


def test_a_retransmission_spoils_the_sample_of_its_own_hole_alone() -> None:
    """One retransmission in each round trip, of bytes that no later ACK waits for: the queue still shows."""
    rows = stood()
    late = [{**data(200 + i, 1150 + 100 * i, 1001, 100), "transmission": "retransmission"} for i in range(40)]
    assert len(run(CODE, trace(segments=sorted([*rows, *late], key=lambda row: row["t_ns"])))[0]) == 1
    filled = [{**row, "rel_seq": 20_001 + 12_500 * i} for i, row in enumerate(late)]
    assert run(CODE, trace(segments=sorted([*rows, *filled], key=lambda row: row["t_ns"]))) == ([], [])


def test_a_delay_on_the_ack_path_is_undecided() -> None:
    rows = stood()
    for row in rows[11:]:
        # The receiver had made these ACKs 400 ms before they passed the tap.
        row["tsval"] = int(row["tsval"]) - 400  # type: ignore[call-overload]
    found, undecided = run(CODE, trace(segments=rows))
    assert not found
    assert "on the ACKs' path" in undecided[0].sentence


def test_a_queue_of_acks_that_grows_until_the_capture_ends_is_undecided() -> None:
    """The receiver's clock passes 3 s in the 5 s of the capture: the ACKs were made earlier and earlier before they came."""
    rows = [data(1, 0, 1, 600_000)]
    for i in range(1, 51):
        late_ms = 40 * i
        rows.append({**ack(2 * i, 100 * i, 1 + 200 * i * i, rtt_ns=(20 + late_ms) * MS), "tsval": 100 * i - late_ms})
    found, undecided = run(CODE, trace(segments=rows))
    assert not found
    assert "on the ACKs' path" in undecided[0].sentence
    assert undecided[0].spans
    ahead = [rows[0], *({**row, "tsval": i * 100} for i, row in enumerate(rows[1:]))]
    assert len(run(CODE, trace(segments=ahead))[0]) == 1


def test_a_lone_late_ack_is_no_queue() -> None:
    """The last segment has no second one behind it: the receiver's timer delays its ACK."""
    rows = stood(80)
    rows.append(ack(200, 5700, 600_001, rtt_ns=720 * MS))
    assert run(CODE, trace(flows(t_end_ns=5700 * MS), segments=rows)) == ([], [])
    rows.insert(-1, ack(199, 5600, 590_001, rtt_ns=720 * MS))
    assert len(run(CODE, trace(flows(t_end_ns=5700 * MS), segments=rows))[0]) == 1


def test_no_finding_on_a_long_path() -> None:
    assert run(CODE, trace(segments=stood(600, least_ms=590))) == ([], [])


def test_no_finding_when_the_delay_does_not_follow_the_flight() -> None:
    assert run(CODE, trace(segments=in_turn())) == ([], [])


def test_acks_that_a_receiver_delays_are_no_queue() -> None:
    # Each answers a window 245 ms after the one before: nothing that was ahead of it drained meanwhile.
    for gap_ms, count in ((200, 0), (20, 1)):
        rows = [data(1, 0, 1, 600_000), *(ack(2 * i, 5 * i, 1 + 300 * i, rtt_ns=20 * MS) for i in range(1, 26))]
        for i in range(1, 4000 // gap_ms):
            rows.append(ack(60 + 2 * i, 125 + gap_ms * i, 7501 + 150 * gap_ms * i, rtt_ns=245 * MS))
        assert len(run(CODE, trace(segments=rows))[0]) == count


def test_no_finding_below_the_limits() -> None:
    assert run(CODE, trace(segments=stood(150))) == ([], [])


def test_at_the_receiver_undecided() -> None:
    found, undecided = run(CODE, trace(flows(tap="near_receiver"), segments=stood()))
    assert not found
    assert "at the receiver" in undecided[0].sentence


@kernel.needed
def test_a_hundred_packets_at_one_megabit() -> None:
    (finding,) = kernel.of(kernel.found("bloat100"), CODE)
    assert finding.values["queueing_max_ms"] == pytest.approx(1194, rel=0.05)
    assert finding.values["queued_max_bytes"] == pytest.approx(100 * 1500, rel=0.1)


@kernel.needed
@pytest.mark.parametrize("name", [n for n in kernel.NAMES if n not in ("bloat100", "m_huge_cubic", "m_ratestep")])
def test_no_finding_in_other_kernel_captures(name: str) -> None:
    assert not kernel.of(kernel.found(name), CODE)
