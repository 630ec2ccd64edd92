"""The ledger covers each flow's life without gap or overlap and sums to the nanosecond."""

from __future__ import annotations

import itertools
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wlanlens as wl
from tests.rows import intervals, table
from wlanlens import registry, tables
from wlanlens.ledger import classify, ledger
from wlanlens.ledger.ledger import LedgerError


def test_states_become_categories() -> None:
    rows = intervals([("handshake", 5), ("slow_start", 10), ("rto_wait", 7), ("idle", 3), ("closing", 2)])
    entered = ledger.from_intervals(table("intervals", rows))
    tables.validate(entered, "ledger")
    assert [(r["category"], r["t_start_ns"], r["t_end_ns"]) for r in entered.to_pylist()] == [
        ("handshake", 0, 5),
        ("slow_start", 5, 15),
        ("rto_wait", 15, 22),
        ("application", 22, 25),
        ("unknown", 25, 27),
    ]


def _acked_every(gaps_ms: list[float], window: int) -> pa.Table:
    """A first window of 10 segments, then intervals of a full window; each ends with the ACK of one segment."""
    rows = intervals([("slow_start", 10**8), *(("window_limited", round(gap * 10**6)) for gap in gaps_ms)])
    rows[0]["window_bytes"] = 10_000
    for row in rows[1:]:
        row |= {"window_bytes": window, "acked_bytes": 1000, "rtt_ns": 10**8}
    return table("intervals", rows)


@pytest.mark.parametrize(
    ("gaps_ms", "window", "category"),
    [
        ([10.0] * 100, 10_000, "path"),
        # A train of ten and a pause in each round trip; a reader that opens half a window at its pace.
        ([5.0] * 9 + ([55.0] + [5.0] * 9) * 9, 10_000, "receiver_window"),
        ([10.0] * 100, 5_000, "receiver_window"),
    ],
)
def test_a_window_that_keeps_a_link_busy_is_the_paths_time(gaps_ms: list[float], window: int, category: str) -> None:
    made = ledger.from_intervals(_acked_every(gaps_ms, window)).to_pylist()
    assert [row["category"] for row in made] == ["slow_start", category]


def test_every_state_has_a_category() -> None:
    assert set(tables.enum_values("intervals", "state")) == set(classify.CATEGORY_OF_STATE)
    assert set(classify.CATEGORY_OF_STATE.values()) <= set(ledger.CATEGORIES)
    assert set(ledger.PLAIN) == set(ledger.CATEGORIES)


def test_recovery_after_a_spurious_timeout_is_spurious() -> None:
    rows = intervals([("loss_recovery", ns) for ns in (5, 6, 70, 800)])
    # Of the third the data had arrived: it or its ACK was late.
    kinds = (
        {"kind": "spurious"},
        {"kind": "genuine"},
        {"kind": "undecided", "kind_evidence": "dsack"},
        {"kind": "undecided"},
    )
    for number, row in enumerate(rows):
        row["timeout_packet"] = number
    timeouts = table("timeouts", [{"packet": number, **kind} for number, kind in enumerate(kinds)])
    entered = ledger.from_intervals(table("intervals", rows), timeouts)
    assert ledger.totals(entered) == {"spurious_recovery": 75, "loss_recovery": 806}


def test_recovery_after_a_spurious_timeout_repairs_what_was_lost_meanwhile() -> None:
    # One recovery in three intervals; packet 5 repairs a lost segment, packet 8 is a copy of one that had arrived.
    rows = intervals([("loss_recovery", ns) for ns in (5, 60, 700)])
    for row, (first, last) in zip(rows, ((2, 3), (4, 6), (7, 9)), strict=True):
        row.update(timeout_packet=1, first_packet=first, last_packet=last)
    timeouts = table("timeouts", [{"packet": 1, "kind": "spurious"}])
    copies = [{"packet": number, "transmission": "retransmission", "spurious": number != 5} for number in (1, 5, 8)]
    entered = ledger.from_intervals(table("intervals", rows), timeouts, segments=table("segments", copies))
    assert ledger.totals(entered) == {"spurious_recovery": 700, "loss_recovery": 65}


def _queued(*parts: tuple[str, float, int, int], least_ms: int = 20) -> dict[str, int]:
    """The ledger of intervals of a state, seconds, round trip in ms and bytes acknowledged, as seconds by category."""
    rows = intervals([(state, round(s * 10**9)) for state, s, _, _ in parts])
    for row, (_, _, rtt, acked) in zip(rows, parts, strict=True):
        row |= {"rtt_ns": rtt * 10**6, "rtt_min_ns": least_ms * 10**6, "acked_bytes": acked}
    return {
        name: round(ns / 10**9) for name, ns in ledger.totals(ledger.from_intervals(table("intervals", rows))).items()
    }


#: At its full rate, then slowed by the queue of others, then with an empty queue again.
FAST, SLOW, EMPTY = ("transfer", 2, 30, 200_000), ("transfer", 3, 300, 10_000), ("fast_recovery", 1, 25, 100)


def test_a_queue_of_others_is_queueing_delay() -> None:
    assert _queued(FAST, SLOW, EMPTY) == {"path": 2, "queue": 3, "fast_recovery": 1}


def test_what_is_no_queueing_delay() -> None:
    # The flow itself keeps the path full: a shorter queue would save nothing.
    assert _queued(FAST, ("full_path", 3, 300, 10_000), EMPTY) == {"path": 5, "fast_recovery": 1}
    # The path has become longer: no queue drains.
    assert _queued(FAST, SLOW, ("fast_recovery", 1, 300, 100)) == {"path": 5, "fast_recovery": 1}
    # A queue no longer than the path itself keeps it full while the window is halved.
    long = (("transfer", 20, 2000, 200_000), ("transfer", 30, 3900, 10_000), ("fast_recovery", 10, 2000, 100))
    assert _queued(*long, least_ms=2000) == {"path": 50, "fast_recovery": 10}
    # ACKs were held once.
    assert _queued(FAST, ("transfer", 1, 300, 10_000), EMPTY) == {"path": 3, "fast_recovery": 1}
    assert _queued(FAST, ("slow_start", 3, 300, 10_000), EMPTY) == {"path": 2, "slow_start": 3, "fast_recovery": 1}


def test_delay_that_the_links_show_is_no_queueing_delay() -> None:
    names = ("path", "air_others", "path", "path")
    category = np.array([tables.CATEGORIES.index(name) for name in names])
    start = np.array([0, 30, 40, 60])
    end = np.array([30, 40, 60, 100])
    # Of the first interval 35 ns are delay, of which 10 were other stations'; the second has none.
    origin, queued = np.array([0, 0, 0, 1]), np.array([35, 0])
    row, begins, ends, codes = ledger._with_queue(origin, start, end, category, queued)
    made = [(int(r), int(a), int(b), tables.CATEGORIES[c]) for r, a, b, c in zip(row, begins, ends, codes, strict=True)]
    assert made == [
        (0, 0, 25, "path"),
        (0, 25, 30, "queue"),
        (1, 30, 40, "air_others"),
        (2, 40, 60, "queue"),
        (3, 60, 100, "path"),
    ]


def test_fast_recovery_without_a_loss_is_spurious() -> None:
    rows = intervals(
        [("transfer", 5), ("fast_recovery", 5), ("transfer", 5), ("fast_recovery", 5), ("fast_recovery", 5)]
    )
    made = [
        {"t_start_ns": 5, "t_end_ns": 10, "spurious": True},
        {"t_start_ns": 15, "t_end_ns": 20, "spurious": False},
        {"t_start_ns": 20, "t_end_ns": 25, "spurious": None},
    ]
    recoveries = table("recoveries", [{"packet": i, **row} for i, row in enumerate(made)])
    entered = ledger.from_intervals(table("intervals", rows), recoveries=recoveries)
    assert ledger.totals(entered) == {"spurious_recovery": 5, "fast_recovery": 5, "path": 10, "unknown": 5}


def test_a_hole_that_stays_open_for_a_round_trip_is_a_loss() -> None:
    rows = intervals([("transfer", 5), ("fast_recovery", 5)])
    # Its queue keeps the order, however long it is.
    rows[0] |= {"rtt_ns": 50, "rtt_min_ns": 5}
    last = {"packet": 1, "t_start_ns": 5, "t_end_ns": 10, "spurious": None}

    def entered(**of_recovery: object) -> dict[str, int]:
        recoveries = table("recoveries", [{**last, "ended_by": "capture_end", **of_recovery}])
        return ledger.totals(ledger.from_intervals(table("intervals", rows), recoveries=recoveries))

    assert entered() == {"fast_recovery": 5, "path": 5}
    assert entered(ended_by="timeout") == {"unknown": 5, "path": 5}
    rows[0]["rtt_min_ns"] = 6
    assert entered() == {"unknown": 5, "path": 5}
    rows[0]["rtt_min_ns"], rows[1]["acked_bytes"] = 5, 1000
    assert entered() == {"unknown": 5, "path": 5}


def test_slow_start_as_fast_as_the_full_path_is_the_path() -> None:
    rows = intervals([("slow_start", 10), ("full_path", 20), ("slow_start", 10)])
    for row, acked in zip(rows, (951, 2000, 949), strict=True):
        row["acked_bytes"] = acked
    entered = ledger.from_intervals(table("intervals", rows))
    assert ledger.totals(entered) == {"path": 30, "slow_start": 10}
    # Nothing shows what the path can carry.
    rows[1]["state"] = "transfer"
    assert ledger.totals(ledger.from_intervals(table("intervals", rows))) == {"slow_start": 20, "path": 20}


def test_overbuffering_has_the_ledgers_figure() -> None:
    queued = registry.units("detectors")["overbuffering"].thresholds
    assert queued["min_delay_ms"] * 1e6 == classify.QUEUE_NS


@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from(sorted(classify.CATEGORY_OF_STATE)), st.integers(0, 2**60)),
            min_size=1,
            max_size=6,
        ),
        min_size=1,
        max_size=4,
    )
)
def test_sums_to_the_nanosecond(flows: list[list[tuple[str, int]]]) -> None:
    rows = [row for flow, states in enumerate(flows) for row in intervals(states, flow=flow)]
    entered = ledger.from_intervals(table("intervals", rows[::-1]))
    assert sum(ledger.totals(entered).values()) == sum(length for states in flows for _, length in states)
    assert sum(ledger.summary(entered).column("ns").to_pylist()) == sum(ledger.totals(entered).values())


@pytest.mark.parametrize("shift", [1, -1])
def test_a_gap_or_overlap_is_refused(shift: int) -> None:
    rows = intervals([("transfer", 5), ("idle", 5)])
    rows[1]["t_start_ns"] += shift
    with pytest.raises(LedgerError, match="flow 0"):
        ledger.from_intervals(table("intervals", rows))


@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.sampled_from(["a2b", "b2a"]), st.integers(0, 50), st.integers(-3, 20)),
        min_size=1,
    )
)
def test_repaired_intervals_have_no_gap_or_overlap(spans: list[tuple[int, str, int, int]]) -> None:
    rows = [
        {"flow": flow, "direction": direction, "t_start_ns": start, "t_end_ns": start + length, "state": "transfer"}
        for flow, direction, start, length in spans
    ]
    fixed, faults = ledger.repaired(table("intervals", rows))
    entered = ledger.from_intervals(fixed)
    lives: dict[tuple[int, str], list[int]] = {}
    for flow, direction, start, length in spans:
        lives.setdefault((flow, direction), []).extend((start, max(start, start + length)))
    assert sum(ledger.totals(entered).values()) == sum(max(life) - min(life) for life in lives.values())
    if not faults:
        assert fixed.num_rows == len(rows)


def test_no_intervals_no_rows() -> None:
    empty = ledger.from_intervals(tables.empty("intervals"))
    assert empty.num_rows == 0
    assert isinstance(ledger.summary(empty), pa.Table)
    assert ledger.totals(empty) == {}


@given(
    st.lists(st.tuples(st.sampled_from(ledger.CATEGORIES), st.integers(1, 10**12)), min_size=1, max_size=60),
    st.integers(1, 9),
)
def test_a_coarse_ledger_has_the_same_sums_and_covers_the_same_life(parts: list[tuple[str, int]], step: int) -> None:
    rows = []
    for flow in (0, 1):
        at = flow
        for category, length in parts:
            rows.append({"flow": flow, "category": category, "t_start_ns": at, "t_end_ns": at + length})
            at += length
    whole = table("ledger", rows)
    coarse = pa.Table.from_batches([ledger.coarse(whole.combine_chunks().to_batches()[0], step)])
    tables.validate(coarse, "ledger")
    assert ledger.summary(coarse).to_pylist() == ledger.summary(whole).to_pylist()
    for flow in (0, 1):
        ends = [(r["t_start_ns"], r["t_end_ns"]) for r in coarse.to_pylist() if r["flow"] == flow]
        assert (ends[0][0], ends[-1][1]) == (flow, flow + sum(length for _, length in parts))
        assert all(a[1] == b[0] for a, b in itertools.pairwise(ends))


@pytest.mark.parametrize("tap", ["sender", "receiver"])
def test_of_one_direction_alone_all_but_the_handshake_is_unknown(tap: str, tmp_path: Path) -> None:
    whole = Path(__file__).parents[2] / "sample_traces" / f"usb_ack_holding.{tap}.pcap"
    data = tmp_path / "data.pcap"
    data.write_bytes(from_host(whole.read_bytes(), bytes((10, 0, 0, 1))))
    found = wl.analyze(data, out=tmp_path / "out", report=False)
    assert set(ledger.totals(found.trace.table("ledger"))) == {"handshake", "unknown"}
    assert found.verdict.sentence.startswith("Only one direction of 10.0.0.1:40000 > 10.0.0.2:5001 is in the capture")
    assert "capture both directions" in found.verdict.sentence
    both = wl.analyze(whole, out=tmp_path / "both", report=False)
    assert "path" in ledger.totals(both.trace.table("ledger"))


def from_host(pcap: bytes, address: bytes) -> bytes:
    """The packets of a pcap file that an IPv4 host sent, as `tcpdump src host`."""
    out, at = [pcap[:24]], 24
    while at < len(pcap):
        length = struct.unpack_from("<I", pcap, at + 8)[0]
        record = pcap[at : at + 16 + length]
        # Ethernet, or no link header.
        if address in (record[16 + 26 : 16 + 30], record[16 + 12 : 16 + 16]):
            out.append(record)
        at += 16 + length
    return b"".join(out)
