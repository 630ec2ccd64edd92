"""Captures at both hosts of a real kernel; the emulated link recorded the packets that it dropped."""

from __future__ import annotations

from functools import cache
from typing import Any

import pandas as pd
import pytest

import wlanlens as wl
from tests.kernel import FOLDER, NAMES, SYNACK_TIMERS, needed, truth

pytestmark = needed

DERIVED = {
    "ackhold1000_newreno-clock": "ackhold1000_newreno",
    "clean_cubic-capdrop": "clean_cubic",
    "rnd2_cubic-late": "rnd2_cubic",
}


#: The path varies the delay of each packet, so that the fastest packets of the two directions differ by more than 0.2 ms.
UNEQUAL = {"n_rjit60_cubic", "n_rtomin20"}

#: From t = 2 s on nothing arrives in either direction until both captures end: what was lost and what is only held look alike.
DEAD_TO_THE_END = "m_blackhole"

#: SYNs that were lost before the receiver's capture has its first packet: their need is decided by the sender's capture alone.
BEFORE_THE_CAPTURE = {"n_syn3": 2}


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


def dropped_s(name: str) -> list[float]:
    """When the packets were sent that the link dropped."""
    directions = [made for made in parent(name)["emulator"].values() if isinstance(made, dict)]
    rows = [row for made in directions for row in made.get("lost_list", [])]
    return sorted(row[0] if isinstance(row, list) else row["t"] for row in rows)


def alone(name: str) -> pd.DataFrame:
    """Packets in one capture, except those that reached the other point after its capture had ended."""
    links = both(name).table("links").to_pandas()
    links = links[links.captures_seen == 1].copy()
    links["t"] = links[["sender_t_ns", "receiver_t_ns"]].bfill(axis=1).iloc[:, 0].astype(float) / 1e9
    dropped = links.t.map(lambda t: any(abs(t - at) <= 0.02 for at in dropped_s(name))).astype(bool)
    ended = (links.sender_outcome == "not_capturing") | (links.receiver_outcome == "not_capturing")
    return links[dropped | ~ended]


@pytest.mark.parametrize("name", [n for n in NAMES if n not in DERIVED or n.endswith("-clock")])
def test_every_packet_is_linked(name: str) -> None:
    """Packets that the link dropped are in one capture, all others in both. Packet by packet: the copy that the link dropped is
    the one without a row in the other capture."""
    links = both(name).table("links").to_pandas()
    assert links.row_count.sum() == both(name).table("packets").num_rows
    lost = alone(name)
    assert (lost.arrival != "arrived").all()
    assert sorted(lost.t) == pytest.approx(dropped_s(name), abs=0.02)
    arrived = links[links.captures_seen == 2]
    assert (arrived.arrival == "arrived").all()
    # No packet arrives before it was sent.
    assert (arrived.one_way_ns > 0).all()


@cache
def at_the_sender(name: str, table: str) -> pd.DataFrame:
    """A table of the sender's capture, with ports."""
    rows = both(name).table(table).to_pandas()
    packets = both(name).table("packets").select(["capture", "packet", "src_port", "dst_port"]).to_pandas()
    rows = rows.merge(packets, on=["capture", "packet"])
    return rows[rows.capture.str.endswith("sender.pcap")]


def of_flow(rows: pd.DataFrame, flow: dict[str, Any]) -> pd.DataFrame:
    return rows[(rows.src_port == flow["sport"]) & (rows.dst_port == flow["dport"])]


@pytest.mark.parametrize("name", [n for n in NAMES if not n.endswith(("-late", "-capdrop"))])
def test_every_retransmission_is_decided(name: str) -> None:
    """With the receiver's capture the need of every retransmission is decided, and correct."""
    alone_decides = undecided = 0
    for flow in parent(name)["flows"]:
        rows = of_flow(at_the_sender(name, "segments"), flow)
        occupying = (rows["len"] > 0) | rows.kind.isin(["syn", "synack", "fin"])
        sent = rows[occupying & ~rows.kind.isin(["window_probe", "keepalive"])]
        assert (sent.transmission == "retransmission").sum() == len(flow["retransmission_list"])
        for wanted in flow["retransmission_list"]:
            row = sent.iloc[wanted["n"]]
            assert row.transmission == "retransmission"
            if pd.isna(row.spurious):
                undecided += 1
                continue
            assert row.spurious != wanted["needed"]
            alone_decides += row.spurious_evidence != "other_capture"
    assert undecided == (name == DEAD_TO_THE_END)
    assert alone_decides == BEFORE_THE_CAPTURE.get(name, 0)


@pytest.mark.parametrize("name", [n for n in NAMES if not n.endswith(("-late", "-capdrop"))])
def test_every_kind_of_timeout_is_decided(name: str) -> None:
    """With the receiver's capture the kind of every timeout is decided, and correct."""
    for flow in parent(name)["flows"]:
        rows = of_flow(at_the_sender(name, "timeouts"), flow).sort_values("t_ns")
        if name in SYNACK_TIMERS:
            rows = rows[rows.rel_seq > 0]
        wanted = [event["kind"] for event in flow["rto_events"]]
        assert rows.kind.tolist() == (["undecided"] * len(wanted) if name == DEAD_TO_THE_END else wanted)


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
