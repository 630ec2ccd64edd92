"""A sniffer between two hosts: clocks, transmissions and rates of each packet, tables on one axis."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import wlanlens as wl
from tests.alignment.simulated import clocked
from wlanlens.simulation.config import TapClock
from wlanlens.simulation.simulate import Run, simulate

CLOCKS = {
    "sender": TapClock(offset_ns=1_000),
    "air": TapClock(offset_ns=-777_000_000, drift_ppm=33.0),
    "receiver": TapClock(offset_ns=5_000_000_000, drift_ppm=-60.0),
}


def three(folder: Path, name: str, *, missed: float = 0.0, **parameters: float) -> tuple[Run, wl.Trace]:
    clocks = {tap: TapClock(c.offset_ns, c.drift_ppm, missed_share=missed) for tap, c in CLOCKS.items()}
    run = simulate(clocked(name, clocks, **parameters), folder, seed=3)
    return run, wl.align(list(run.captures.values()))


@pytest.mark.parametrize("name", ["clean_link", "bursty_errors", "rate_thrashing"])
def test_transmissions_are_the_true_ones(tmp_path: Path, name: str) -> None:
    run, trace = three(tmp_path, name, duration_s=10.0)
    assert [c.point for c in trace.captures] == ["sender", "air", "receiver"]
    links = trace.table("links").to_pandas()
    truth = run.facts.packets.to_pandas()
    sent = truth[(truth.direction == "a2b") & truth.t_tap_ns.notna()].sort_values("id")
    rows = links[links.sender_packet.notna() & (links.direction == "a2b")].sort_values("sender_packet")
    assert len(rows) == len(sent)
    delivered = (sent.fate == "delivered").to_numpy()
    assert delivered.sum() > 100
    assert (rows[delivered].arrival == "arrived").all()
    gone = (sent.fate == "air").to_numpy()
    assert (rows[gone].arrival != "arrived").all()
    # A last transmission that the sniffer heard damaged, after an ACK that the sender missed, is in no exchange.
    over = delivered | gone
    got, made = rows[over].transmissions.to_numpy(), sent[over].attempts.to_numpy()
    assert (got <= made).all()
    assert (got == made).mean() > 0.99
    assert rows.copy_safe.all()


def test_all_tables_share_one_axis(tmp_path: Path) -> None:
    """A packet is on the air after it left the host, and received after that."""
    _, trace = three(tmp_path, "clean_link", missed=0.05, duration_s=20.0)
    for clock_map, clock in zip(trace.clocks, CLOCKS.values(), strict=True):
        if clock_map.pieces:
            piece = clock_map.pieces[0]
            true_ns = (piece.at_ns - 10**18 - clock.offset_ns) / (1 + clock.drift_ppm * 1e-6)
            assert piece.bound_ns is not None
            wanted_ns = CLOCKS["sender"].offset_ns - clock.offset_ns - true_ns * clock.drift_ppm * 1e-6
            assert abs(piece.offset_ns - wanted_ns) <= piece.bound_ns
    links = trace.table("links").to_pandas()
    slack = sum(m.pieces[0].bound_ns or 0 for m in trace.clocks if m.pieces)
    down = links[(links.direction == "a2b") & (links.captures_seen == 3)]
    assert len(down) > 1000
    assert (down.air_t_ns - down.sender_t_ns > -slack).all()
    # Where the first transmission was heard.
    once = down[down.transmissions == 1]
    assert (once.receiver_t_ns - once.air_t_ns > -slack).all()
    ends = [int(trace.table(n).column("t_ns").to_numpy().max()) for n in ("packets", "frames", "segments")]
    assert max(ends) == trace.duration_ns
    assert abs(trace.duration_ns - 20e9) < 1e9


def test_detectors_judge_each_connection_once(tmp_path: Path) -> None:
    _, trace = three(tmp_path, "ack_holding", duration_s=10.0)
    alone = wl.detect(wl.align([trace.captures[0].path]))
    together = wl.detect(trace)
    count = [sum(f.code == "spurious_timeout" for f in findings) for findings in (alone, together)]
    assert count[0] == count[1] > 0
    assert {f.capture for f in together if f.code == "spurious_timeout"} == {"sender.pcap"}
    states = {s.code: s.state for s in together.states}
    assert states["burst_loss"] != "not_run"
    flows = trace.leading().table("flows").column("flow").to_pylist()
    assert sorted(flows) == [0, 0]
    assert len(np.unique(trace.table("flows").column("flow"))) == 1


def test_analyze_writes_all_tables(tmp_path: Path) -> None:
    run, _ = three(tmp_path / "in", "ack_holding", duration_s=10.0)
    done = wl.analyze(list(run.captures.values()), out=tmp_path / "out")
    back = wl.load(tmp_path / "out")
    assert [c.point for c in back.trace.captures] == ["sender", "air", "receiver"]
    assert [m.bound_ns for m in back.trace.clocks] == [m.bound_ns for m in done.trace.clocks]
    assert back.trace.clocks[1].pieces == done.trace.clocks[1].pieces != ()
    assert back.trace.table("links").num_rows > 1000
    assert set(back.trace.table("packets").column("capture").to_pylist()) == {
        "sender.pcap",
        "air.pcap",
        "receiver.pcap",
    }
    assert done.report is not None
    page = done.report.read_text(encoding="utf-8")
    assert "from the reference clock" in page
    assert "5.00" in page[: page.index("from the reference clock")][-400:]
    total = sum(done.totals.values())
    assert total == sum(
        e - s for s, e in zip(*(done.ledger.column(c).to_pylist() for c in ("t_start_ns", "t_end_ns")), strict=True)
    )
    assert set(done.ledger.column("capture").to_pylist()) == {"sender.pcap"}


@pytest.mark.parametrize("name", ["bursty_errors", "rate_thrashing"])
def test_links_do_not_depend_on_the_order_of_captures(tmp_path: Path, name: str) -> None:
    """A first transmission heard damaged is identified by the hosts' captures, even if these are given later."""
    run, trace = three(tmp_path, name, duration_s=10.0)
    back = wl.align(list(run.captures.values())[::-1]).table("links").to_pandas()
    links = trace.table("links").to_pandas()
    by = ["sender_packet", "air_packet", "receiver_packet"]
    columns = [*by, "captures_seen", "row_count", "transmissions", "arrival"]
    assert links.row_count.max() > 3
    one, other = (t[columns].sort_values(by).reset_index(drop=True) for t in (links, back))
    assert one.equals(other)


def test_the_capture_of_another_host_is_not_on_a_path(tmp_path: Path) -> None:
    # The third capture is that of one station; the other stations' packets never pass it, so none of them was lost before it.
    run = simulate("many_downloads", tmp_path, seed=3, duration_s=1.0)
    trace = wl.align(list(run.captures.values()))
    assert [c.point for c in trace.captures][1:] == ["air", "receiver"]
    links = trace.table("links").to_pandas()
    flows = trace.table("flows").to_pandas()
    there = flows[flows.capture == trace.captures[2].name].flow.unique()
    mine = links[links.flow.isin(there)]
    assert (mine.arrival == "arrived").sum() > 10
    others = links[links.flow.notna() & ~links.flow.isin(there)]
    assert len(others) > 100
    assert set(others.arrival) == {"unknown"}
