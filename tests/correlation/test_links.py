"""Delays and outcomes in `links`, against the simulator's truth."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import wlanlens as wl
from tests.alignment.simulated import clocked
from wlanlens import tables
from wlanlens.pipeline import time_chunks
from wlanlens.simulation.config import TapClock
from wlanlens.simulation.simulate import Run, simulate

CLOCKS = {
    "sender": TapClock(),
    "usb": TapClock(offset_ns=123_000_000, drift_ppm=5.0),
    "air": TapClock(offset_ns=-5_000_000_000, drift_ppm=-20.0),
    "receiver": TapClock(offset_ns=77, drift_ppm=11.0),
}


def links_with_truth(
    folder: Path, name: str, *, missed: dict[str, float] | None = None, **more: Any
) -> tuple[Run, Any]:
    """A run, and its `links` with the truth's columns; the index is the truth's number of the packet."""
    clocks = {tap: replace(clock, missed_share=(missed or {}).get(tap, 0.0)) for tap, clock in CLOCKS.items()}
    run = simulate(clocked(name, clocks, **more), folder, seed=4)
    trace = wl.align(list(run.captures.values()))
    table = trace.table("links")
    tables.validate(table, "links")
    rows = table.to_pandas()
    packets = trace.table("packets").to_pandas().set_index(["capture", "packet"])
    seen = [next(p for p in points if p["packet"] is not None) for points in rows.points]
    ip_id = packets.ip_id.loc[[(p["capture"], p["packet"]) for p in seen]].to_numpy().astype(np.int64)
    rows["id"] = -1
    truth = run.facts.packets.to_pandas()
    for direction in ("a2b", "b2a"):
        here = (rows.direction == direction).to_numpy()
        # A stack counts its IP ids.
        order = (ip_id[here] - ip_id[here][0]) % 65536
        rows.loc[here, "id"] = truth[truth.direction == direction].id.to_numpy()[order]
    assert rows.id.is_unique
    true = truth.set_index("id").rename(columns={"t_end_ns": "t_end_ns_true", "attempts": "attempts_true"})
    return run, rows.set_index("id").join(true[["t_tap_ns", "fate", "t_end_ns_true", "attempts_true"]])


def true_stages(run: Run, rows: Any) -> Any:
    """The stages by the truth's times; the air ends with the last transmission before the packet arrived."""
    frames = run.facts.frames.to_pandas().dropna(subset="packet")
    frames["packet"] = frames.packet.astype(int)
    arrived = rows.t_end_ns_true.where(rows.fate == "delivered")
    frames["arrived"] = frames.packet.map(arrived)
    began = frames.groupby("packet").t_start_ns.min().reindex(rows.index)
    brought = frames[frames.arrived.isna() | (frames.t_end_ns <= frames.arrived)]
    ended = brought.groupby("packet").t_end_ns.max().reindex(rows.index)
    out = pd.DataFrame({"air": ended - began}, index=rows.index)
    forward = rows.direction == "a2b"
    urbs = run.facts.urbs.to_pandas().set_index("packet").reindex(rows.index)
    on_bus = urbs.t_complete_ns.notna()
    out["queue"] = (urbs.t_submit_ns - rows.t_tap_ns).where(forward, rows.t_end_ns_true - urbs.t_complete_ns)
    out["bus"] = (urbs.t_complete_ns - urbs.t_submit_ns).where(forward, urbs.t_complete_ns - ended)
    out["air_wait"] = began - urbs.t_complete_ns.where(forward & on_bus, rows.t_tap_ns)
    out["wire"] = (rows.t_end_ns_true - ended).where(forward | ~on_bus)
    return out


@pytest.mark.parametrize("name", ["clean_usb_link", "ack_holding_over_usb", "slow_bus", "weak_link", "rate_thrashing"])
def test_stages_are_true_within_their_bounds(tmp_path: Path, name: str) -> None:
    run, rows = links_with_truth(tmp_path, name, duration_s=10.0)
    # Packets that passed all points, with every transmission heard.
    whole = rows[(rows.transmissions_heard.str.len() == rows.attempts_true) & (rows.fate == "delivered")]
    assert len(whole) > 200
    truth = true_stages(run, whole)
    kinds = ["air_wait", "air", "wire"] + (["queue", "bus"] if "usb" in run.captures else [])
    for kind in kinds:
        both = whole[whole[f"{kind}_ns"].notna() & truth[kind].notna()]
        assert len(both) > 0.3 * len(whole), kind
        off = (both[f"{kind}_ns"] - truth[kind].loc[both.index]).abs()
        assert (off <= both[f"{kind}_bound_ns"]).all(), (kind, off.max())
    # Stages are consecutive, and cover the time from the first event to the last.
    for stages, first, last in zip(rows.stages, rows.t_start_ns, rows.t_end_ns, strict=True):
        if len(stages):
            times = [s[name] for s in stages for name in ("t_start_ns", "t_end_ns")]
            assert (min(times), max(times)) == (first, last)
            assert all(a["t_end_ns"] == b["t_start_ns"] for a, b in pairwise(stages))


@pytest.mark.parametrize("name", ["ack_holding_over_usb", "weak_link", "rate_thrashing", "bursty_errors"])
@pytest.mark.parametrize("share", [0.0, 0.05])
def test_outcomes_are_true(tmp_path: Path, name: str, share: float) -> None:
    run, rows = links_with_truth(tmp_path, name, missed=dict.fromkeys(CLOCKS, share), duration_s=20.0)
    ended = rows[rows.fate.isin(["delivered", "air", "air_queue", "queue", "wire"])]
    points = [point for point in CLOCKS if point in run.captures]
    counts: dict[str, int] = {}
    for row in ended.itertuples():
        sent, got = (points, points[-1]) if row.direction == "a2b" else (points[::-1], points[0])
        for point in sent:
            outcome = getattr(row, f"{point}_outcome")
            counts[outcome] = counts.get(outcome, 0) + 1
            if outcome == "missed":
                # It passed there: it was delivered, or seen at a later point.
                later = sent[sent.index(point) + 1 :]
                assert row.fate == "delivered" or any(
                    getattr(row, f"{p}_outcome") in ("seen", "lost_after") for p in later
                )
            if outcome == "lost_after":
                assert row.fate != "delivered" or share
        last = getattr(row, f"{got}_outcome")
        if row.fate == "delivered" and not share:
            assert last in ("seen", "not_capturing"), row
        if row.fate != "delivered":
            assert last in ("lost_before", "unknown", "not_capturing"), row
    if share:
        assert counts["missed"] > 0.5 * share * len(ended)
    # Packets called lost were lost.
    ends = rows[[f"{p}_outcome" for p in (points[-1], points[0])]].to_numpy()
    b2a = (rows.direction == "b2a").to_numpy().astype(int)
    lost = ends[np.arange(len(rows)), b2a] == "lost_before"
    if lost.any():
        assert (rows.fate[lost] != "delivered").all()
    gone = (rows.fate != "delivered").to_numpy() & (ends[np.arange(len(rows)), b2a] != "not_capturing")
    if not share:
        assert lost[gone].all()
    if share and name in ("rate_thrashing", "bursty_errors"):
        # Duplicate ACKs prove the loss of data followed by other data.
        assert lost[gone & (rows.payload_bytes > 0).to_numpy()].mean() > 0.5


def test_links_do_not_depend_on_time_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where clocks do not decide which of two points is first, the order is the same for all packets."""
    clocks = {"sender": TapClock(), "air": TapClock(drift_ppm=33.0), "receiver": TapClock(drift_ppm=-60.0)}
    clocks = {tap: replace(clock, missed_share=0.01) for tap, clock in clocks.items()}
    run = simulate(clocked("bursty_errors", clocks, duration_s=20.0), tmp_path, seed=3)
    whole = wl.analyze(list(run.captures.values()), out=tmp_path / "whole", report=False)
    monkeypatch.setattr(time_chunks, "ROWS", 4096)
    monkeypatch.setattr(time_chunks, "CONTEXT_ROWS", 1024)
    cut = wl.analyze(list(run.captures.values()), out=tmp_path / "cut", report=False)
    tables_ = [analysis.trace.table("links") for analysis in (whole, cut)]
    one, other = (sorted(t.to_pylist(), key=repr) for t in tables_)
    assert one == other


def test_packets_with_equal_times_stay_in_the_order_of_their_capture(tmp_path: Path) -> None:
    run = simulate("clean_link", tmp_path, seed=1, duration_s=2.0)
    links = wl.align([run.captures["sender"], run.captures["receiver"]]).table("links").to_pandas()
    sent = links[(links.direction == "a2b") & links.sender_packet.notna()]
    assert sent.sender_t_ns.duplicated().sum() > 10
    assert (sent.groupby("sender_t_ns").sender_packet.diff().dropna() > 0).all()
