"""Captures at both hosts of a real kernel; the emulated link recorded the packets that it dropped."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import wlanlens as wl
from tests.kernel import FOLDER, NAMES, needed, truth

pytestmark = needed

DERIVED = {
    "ackhold1000_newreno-clock": "ackhold1000_newreno",
    "clean_cubic-capdrop": "clean_cubic",
    "rnd2_cubic-late": "rnd2_cubic",
}


#: Where the bound is smallest, the two directions have different delays: a full segment is 0.6 to 1.5 ms slower than an ACK, or
#: the path varies the delay of each packet. Half of the difference looks like an offset, so that only the stated bound can hold.
UNEQUAL = {
    "m_app_blackout",
    "m_app_hold",
    "m_app_idle_zero",
    "m_rcv24k",
    "m_readslow",
    "n_chunks_er4",
    "n_gso_newreno_hold",
    "n_mtu_drop",
    "n_rjit60_cubic",
    "n_rtomin20",
    "n_syn3",
}


@cache
def both(name: str) -> wl.Trace:
    """Both captures, aligned."""
    return wl.align([FOLDER / f"{name}.{tap}.pcap" for tap in ("sender", "receiver")])


def parent(name: str) -> dict[str, Any]:
    """The truth of the flow."""
    return truth(DERIVED.get(name, name))


@pytest.mark.parametrize("name", NAMES)
def test_the_clock(name: str) -> None:
    """Both captures share one clock, except for the capture with a shifted clock."""
    made = truth(name)
    offset_s, drift_ppm = made.get("receiver_clock_offset_s", 0), made.get("receiver_clock_drift_ppm", 0)
    # The reference is a capture at a data sender: here the receiver's clock may be the axis.
    (clock_map,) = [clock_map for clock_map in both(name).clocks if clock_map.pieces]
    piece = clock_map.pieces[0]
    start_s = piece.at_ns / 1e9 - parent(name)["t0_epoch"] - offset_s
    wanted_ns = -(offset_s + start_s * drift_ppm * 1e-6) * 1e9
    assert clock_map.steps == 0
    assert clock_map.contradictions == 0
    assert clock_map.bound_ns is not None
    assert clock_map.two_way_ns is not None
    # The timestamps of the shifted capture were rounded to microseconds.
    tolerance_ns = clock_map.bound_ns if name in UNEQUAL else min(clock_map.bound_ns, 100_000)
    assert abs(clock_map.offset_ns - wanted_ns) <= tolerance_ns
    assert clock_map.bound_ns <= clock_map.two_way_ns


@pytest.mark.parametrize("name", [n for n in NAMES if n not in DERIVED or n.endswith("-clock")])
def test_every_packet_is_linked(name: str) -> None:
    """Packets that the link dropped are in one capture, all others in both."""
    emulator = parent(name)["emulator"]
    links = both(name).table("links").to_pandas()
    lost = sum(
        len(direction["lost_list"])
        for direction in emulator.values()
        if isinstance(direction, dict) and "lost_list" in direction
    )
    assert (links.captures_seen == 1).sum() == lost
    assert (links.arrival != "arrived").sum() == lost
    packets = both(name).table("packets").num_rows
    assert links.row_count.sum() == packets
    # No packet arrives before it was sent.
    assert (links[links.captures_seen == 2].one_way_ns > 0).all()


@pytest.mark.parametrize("name", [n for n in NAMES if n not in DERIVED or n.endswith("-clock")])
def test_the_dropped_copies_are_in_one_capture(name: str) -> None:
    """Packet by packet: the copy that the link dropped is the one without a row in the other capture."""
    made = parent(name)
    lost = [
        row
        for direction in made["emulator"].values()
        if isinstance(direction, dict)
        for row in direction.get("lost_list", [])
    ]
    links = both(name).table("links").to_pandas()
    alone = links[links.captures_seen == 1].copy()
    alone["t"] = alone[["sender_t_ns", "receiver_t_ns"]].bfill(axis=1).iloc[:, 0].astype(float) / 1e9
    times = sorted(alone.t)
    wanted = sorted(row[0] if isinstance(row, list) else row["t"] for row in lost)
    assert times == pytest.approx(wanted, abs=0.02)


@pytest.mark.parametrize("name", [n for n in NAMES if not n.endswith(("-late", "-capdrop"))])
def test_every_retransmission_is_decided(name: str) -> None:
    """With the receiver's capture every verdict is decided, and correct."""
    wanted = [
        (row["off"], row["len"], row["needed"])
        for flow in parent(name)["flows"]
        for row in sorted(flow["retransmission_list"], key=lambda r: r["t"])
    ]
    trace = both(name).leading()
    segments = trace.table("segments").to_pandas()
    big = trace.table("flows").to_pandas().sort_values("payload_bytes").groupby("flow").last().direction
    retransmitted = segments[
        (segments.transmission == "retransmission") & (segments.direction == segments.flow.map(big))
    ]
    got = []
    for row in retransmitted.sort_values(["flow", "t_ns"]).itertuples():
        offset = -1 if row.kind in ("syn", "synack") else int(row.rel_seq) - 1
        got.append((offset, int(row.len), not row.spurious))
        assert row.spurious_evidence == "other_capture"
    assert got == wanted


def test_captures_that_began_late_and_missed_packets() -> None:
    late = both("rnd2_cubic-late").leading().table("segments").to_pandas()
    retransmitted = late[late.transmission == "retransmission"]
    assert len(retransmitted) == 24
    assert not retransmitted.spurious.any()
    assert (retransmitted.spurious_evidence == "other_capture").all()
    dropped = both("clean_cubic-capdrop").table("links").to_pandas()
    assert (dropped.captures_seen == 1).sum() == len(truth("clean_cubic-capdrop")["sender_frames_removed"])
    # Packets that the sender's capture missed arrived.
    data = dropped[(dropped.captures_seen == 1) & (dropped.payload_bytes > 0)]
    assert len(data)
    assert (data.arrival == "arrived").all()


def test_outcomes_in_captures_that_began_late_or_missed_packets() -> None:
    """Packets before the start of a capture are `not_capturing`, dropped ones `lost_before`, unrecorded ones `missed`."""
    late = both("rnd2_cubic-late").table("links").to_pandas()
    assert (
        late[["sender_outcome", "receiver_outcome"]]
        .isin(["seen", "not_capturing", "lost_before", "lost_after"])
        .all(axis=None)
    )
    assert ((late.sender_outcome == "lost_after") & (late.receiver_outcome == "lost_before")).sum() == 24
    absent = late[(late.sender_outcome == "not_capturing") | (late.receiver_outcome == "not_capturing")]
    assert len(absent) > 20
    assert (absent.t_start_ns < 100_000_000).all()
    dropped = both("clean_cubic-capdrop").table("links").to_pandas()
    missed = dropped[dropped.sender_outcome != "seen"]
    assert len(missed) == len(truth("clean_cubic-capdrop")["sender_frames_removed"])
    assert (missed[missed.payload_bytes > 0].sender_outcome == "missed").all()
    # ACKs may also have been lost on their path to it.
    assert (missed[missed.payload_bytes == 0].sender_outcome == "unknown").all()


@pytest.mark.parametrize("name", ["blackout3", "ackloss30_cubic", "rtxloss_rack", "tail3_newreno"])
def test_losses_are_those_of_the_kernel(name: str) -> None:
    emulator = parent(name)["emulator"]
    lost = sum(
        len(direction["lost_list"])
        for direction in emulator.values()
        if isinstance(direction, dict) and "lost_list" in direction
    )
    rows = both(name).table("links").to_pandas()
    gone = rows[(rows.sender_outcome == "lost_before") | (rows.receiver_outcome == "lost_before")]
    assert len(gone) == lost > 0
    whole = rows.drop(gone.index)
    assert (whole[["sender_outcome", "receiver_outcome"]] == "seen").all(axis=None)
