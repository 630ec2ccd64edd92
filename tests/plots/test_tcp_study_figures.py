"""The studies' figures of TCP: what is plotted equals what a few lines compute from the tables."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import wlanlens as wl
from tests import firing
from tests.captures import SAMPLES
from tests.firing import Small
from tests.rows import table
from wlanlens.errors import NothingToDraw
from wlanlens.plots import inter_loss, retransmission_pairs, rto_backoff, tcp_view, time_sequence_points
from wlanlens.plots._chart import Chart, Panel
from wlanlens.plots.rto_backoff import backoff_steps
from wlanlens.trace import Trace

BLACKOUT = Small("blackout", 8.0, ("sender",))
QUEUE = Small("spurious_retransmissions", 1.0, ("sender",))
COLLISIONS = Small("data_ack_collision", 4.0, ("air",))
PERIODIC = Small("periodic_access_point_drops", 16.0, ("sender",))
CLEAN = Small("clean_link", 1.0, ("sender",))


def of(figure: Any, name: str, axis: str = "x") -> Any:
    """The one trace of a figure whose name begins so, on this x axis."""
    (found,) = (t for t in figure.data if t.name.startswith(name) and t.xaxis == axis)
    return found


def rto_line(figure: Any) -> Any:
    (found,) = (t for t in figure.data if t.name == "RTO")
    return found


def frame(trace: Trace, name: str) -> pd.DataFrame:
    return trace.table(name).to_pandas()


@pytest.fixture(scope="module")
def together() -> Trace:
    """Sender, bus, air and receiver of one transfer."""
    return wl.align(sorted(SAMPLES.glob("usb_ack_holding.*.pcap")))


def test_each_expiry_is_at_the_time_that_it_waited() -> None:
    trace = firing.trace(BLACKOUT)
    figure = rto_backoff(trace, wl.detect(trace))
    rows = frame(trace, "timeouts").sort_values("t_ns")
    drawn = [t for t in figure.data if t.name.startswith("RTO expired")]
    x = np.concatenate([t.x for t in drawn])
    y = np.concatenate([t.y for t in drawn])
    order = np.argsort(x)
    assert np.allclose(x[order], rows["t_ns"] / 1e9)
    assert np.allclose(y[order], rows["waited_ns"] / 1e9)
    assert len(x) >= 3
    # The wait doubles at each expiry (RFC 6298 section 5.5).
    assert np.allclose(y[order][1:] / y[order][:-1], 2, rtol=0.1)


def test_backoff_counts_expiries_and_ends_with_an_ack_of_new_data() -> None:
    trace = firing.trace(BLACKOUT)
    steps = of(rto_backoff(trace), "expiries in a row", "x2")
    rows = frame(trace, "timeouts").sort_values("t_ns")
    for at, before in zip(rows["t_ns"], rows["backoff"], strict=True):
        assert steps.y[np.searchsorted(steps.x, at / 1e9, side="right") - 1] == before + 1
    assert steps.y.max() == len(rows)
    after = rows["progress_ns"].max() / 1e9
    assert steps.y[np.searchsorted(steps.x, after, side="right") - 1] == 0
    assert steps.x[-1] == pytest.approx(trace.duration_ns / 1e9)


def test_rto_line_is_that_of_the_segments() -> None:
    trace = firing.trace(BLACKOUT)
    line = rto_line(rto_backoff(trace, most_points=10**6))
    rows = frame(trace, "segments")
    pure = rows["kind"].isin(["ack", "dupack", "window_update"])
    mine = rows[((rows["direction"] == "a2b") != pure) & rows["rto_ns"].notna()]
    assert np.allclose(line.x, mine["t_ns"] / 1e9)
    assert np.allclose(line.y, mine["rto_ns"] / 1e9)
    thin = rto_line(rto_backoff(trace, most_points=100))
    assert len(thin.x) <= 100 < len(line.x)
    assert (thin.y.min(), thin.y.max()) == (line.y.min(), line.y.max())


def test_points_are_in_the_order_of_the_path_and_show_the_same_segments(together: Trace) -> None:
    figure = time_sequence_points(together, window_s=(0, 10))
    assert [a.text for a in figure.layout.annotations] == [
        "at the sender", "on the USB bus", "on the air", "at the receiver",
    ]  # fmt: skip
    rows = frame(together, "segments")
    for capture, axis in (("sender", "x"), ("usb", "x2"), ("air", "x3"), ("receiver", "x4")):
        mine = rows[(rows["capture"] == f"usb_ack_holding.{capture}.pcap") & (rows["direction"] == "a2b")]
        first = mine[(mine["transmission"] == "first") & ((mine["len"] > 0) | mine["kind"].isin(["syn", "fin"]))]
        ticks = of(figure, "data segment", axis)
        assert np.allclose(np.sort(ticks.x[::3]), np.sort(first["t_ns"] / 1e9))
        assert set(ticks.y[::3]) == set(first["rel_seq"])


def test_points_zoom_on_the_costliest_finding(together: Trace) -> None:
    found = wl.detect(together)
    costliest = max((f for f in found if f.flow == 0), key=lambda f: f.cost_s)
    figure = time_sequence_points(together, found)
    low, high = figure.layout.xaxis.range
    assert low <= costliest.t_start_ns / 1e9 < costliest.t_end_ns / 1e9 <= high
    assert high - low == pytest.approx(1.5 * (costliest.t_end_ns - costliest.t_start_ns) / 1e9, rel=0.35)
    # The case of the study: ACKs were on the air in time, and reached the sender late.
    half = (costliest.t_start_ns + costliest.t_end_ns) / 2e9
    at = {axis: of(figure, "ACK", axis) for axis in ("x", "x3")}
    acked = {axis: line.y[np.searchsorted(line.x, half) - 1] for axis, line in at.items()}
    assert acked["x"] < acked["x3"]


def test_tcp_sent_before_the_ack_what_the_tap_saw_after_it() -> None:
    trace = firing.trace(QUEUE)
    figure = tcp_view(trace, window_s=(0, 10))
    rows = frame(trace, "segments")
    data = rows[(rows["direction"] == "a2b") & (rows["len"] > 0)]
    acks = rows[rows["direction"] == "b2a"]
    late = [
        r.t_ns / 1e9
        for r in data.itertuples()
        if (acks[acks["t_ns"] < r.t_ns]["rel_ack"].max() or 0) >= r.rel_seq + r.len
    ]
    name = "data segment, acknowledged"
    tap, tcp = of(figure, name, "x2"), of(figure, name)
    assert len(late) > 5
    assert np.allclose(np.sort(tap.x[::3]), late)
    ack_s, ack = acks["t_ns"].to_numpy() / 1e9, np.maximum.accumulate(acks["rel_ack"].to_numpy())
    for t, end in zip(tcp.x[::3], tcp.y[1::3], strict=True):
        assert ack[np.searchsorted(ack_s, t - 1e-9) - 1] < end, "TCP sent what it knew to be acknowledged"
    queue = of(figure, "time in the queue", "x3")
    every = np.concatenate(
        [of(figure, n, axis).x[::3] for n in (name, "data segment") for axis in ("x2",) if n == name]
    )
    assert queue.y[1::3].max() / 1e3 >= (every.max() - tcp.x[::3].max())


def test_tcp_view_needs_the_sender_and_timestamps(together: Trace) -> None:
    with pytest.raises(NothingToDraw, match=r"not captured at the sender of.*capture on the host"):
        tcp_view(together, capture="usb_ack_holding.receiver.pcap")
    bare = [{**r, "tsval": None} for r in firing.trace(QUEUE).table("segments").to_pylist()]
    with pytest.raises(NothingToDraw, match=r"no TCP timestamps.*tcp_timestamps=1"):
        tcp_view(Trace.of_tables({"segments": table("segments", bare)}))


@pytest.mark.parametrize("step_s", [-400, -100_000_000])
def test_tcp_view_of_a_clock_that_steps(step_s: int) -> None:
    rows = firing.trace(QUEUE).table("segments").to_pylist()
    later = [{**r, "t_ns": r["t_ns"] + (step_s * 10**9 if i > len(rows) // 2 else 0)} for i, r in enumerate(rows)]
    assert tcp_view(Trace.of_tables({"segments": table("segments", later)})).data


def test_pairs_of_tcp_have_the_time_and_the_packets_between_two_copies() -> None:
    trace = firing.trace(QUEUE)
    figure = retransmission_pairs(trace)
    rows = frame(trace, "segments")
    again = rows[(rows["transmission"] == "retransmission") & (rows["direction"] == "a2b")]
    want = sorted(
        (r.since_first_ns / 1e6, ((rows["t_ns"] > r.t_ns - r.since_first_ns) & (rows["t_ns"] < r.t_ns)).sum())
        for r in again.itertuples()
    )
    below = [t for t in figure.data if t.xaxis == "x2"]
    got = sorted((x, y) for t in below for x, y in zip(t.x, t.y, strict=True))
    assert len(want) > 5
    assert np.allclose(got, want)
    above = np.concatenate([t.x for t in figure.data if t.xaxis == "x"])
    assert np.allclose(np.sort(above), np.sort(again["t_ns"] / 1e9))


def test_retries_of_data_and_acks_come_in_pairs() -> None:
    trace = firing.trace(COLLISIONS)
    figure = retransmission_pairs(trace)
    tries = frame(trace, "exchanges")
    tries = tries[tries["attempts"] > 1]
    names = {"data": "802.11 retries of TCP data", "ack": "802.11 retries of TCP ACKs"}
    times = {}
    for kind, name in names.items():
        drawn, mine = of(figure, name), tries[tries["tcp_kind"] == kind]
        assert len(drawn.x) == len(mine) == int(drawn.name.split("(")[1].rstrip(")"))
        assert np.allclose(np.sort(drawn.x), np.sort(mine["t_last_ns"] / 1e9))
        times[kind] = np.sort(drawn.x)
        heard = mine[mine["t_last_ns"] > mine["t_first_ns"]]
        assert np.allclose(np.sort(of(figure, name, "x2").x), np.sort((heard["t_last_ns"] - heard["t_first_ns"]) / 1e6))
    near = np.abs(times["data"][:, None] - times["ack"][None, :]).min(axis=1)
    assert np.mean(near < 0.01) > 0.9


def test_losses_are_two_seconds_and_as_many_packets_apart() -> None:
    trace = firing.trace(PERIODIC)
    figure = inter_loss(trace)
    rows = frame(trace, "segments")
    data = rows[(rows["direction"] == "a2b") & (rows["len"] > 0)]
    again = data[(data["transmission"] == "retransmission") & ~data["spurious"].fillna(False).astype(bool)]
    lost_ns = np.sort((again["t_ns"] - again["since_previous_ns"]).dropna().to_numpy())
    # One loss a tick: no two of them are one event.
    sent = np.sort(data["t_ns"].to_numpy())
    points = [t for t in figure.data if t.mode == "markers"]
    x, y = np.concatenate([t.x for t in points]), np.concatenate([t.y for t in points])
    assert np.allclose(np.sort(y), np.sort(np.diff(lost_ns) / 1e9))
    assert sorted(x) == sorted(np.diff(np.searchsorted(sent, lost_ns)))
    assert np.median(y) == pytest.approx(2.0, abs=0.02)
    assert of(figure, "mean rate").y[0] == pytest.approx(
        of(figure, "mean rate").x[0] / (len(sent) * 1e9 / (sent[-1] - sent[0]))
    )


@pytest.mark.parametrize(
    ("plot", "what"),
    [
        (rto_backoff, "no retransmission timer of"),
        (inter_loss, "0 loss events"),
        (retransmission_pairs, "was retransmitted"),
        (time_sequence_points, "needs rows of links"),
    ],
)
def test_a_connection_without_trouble_has_nothing_to_draw(plot: Callable[..., Any], what: str) -> None:
    with pytest.raises(NothingToDraw) as error:
        plot(firing.trace(CLEAN))
    assert what in error.value.what
    assert error.value.next
    assert error.value.path == "sender.pcap"
    assert isinstance(error.value, wl.WlanlensError)


def test_loss_events_without_data_between_them_have_no_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged capture of the fuzz (mutation 1477 of seed s3711): its packets have no times that rise."""
    at_once = np.full(3, 10**9), np.zeros(3, bool)
    monkeypatch.setattr(sys.modules["wlanlens.plots.inter_loss"], "loss_events", lambda *_: at_once)
    with pytest.raises(NothingToDraw, match="sent nothing between its loss events"):
        inter_loss(firing.trace(PERIODIC))


def test_axes_name_their_units(together: Trace) -> None:
    queue = firing.trace(QUEUE)
    for figure in (
        time_sequence_points(together), tcp_view(queue), retransmission_pairs(queue), rto_backoff(firing.trace(BLACKOUT)),
        inter_loss(firing.trace(PERIODIC)),
    ):  # fmt: skip
        layout = figure.to_dict()["layout"]
        titles = [axis["title"]["text"] for name, axis in layout.items() if name.startswith(("xaxis", "yaxis"))]
        assert any(titles)
        for title in titles:
            assert not title or any(
                unit in title for unit in ("(s)", "(ms)", "(bytes)", "seconds", "packets", "expiries")
            ), title


@pytest.mark.parametrize(
    ("value", "begins"), [(0.5001, 0.485), (0.05, 0.0485), (221.0, 194.0), (9.99, 8.73), (1.0, 0.97)]
)
def test_a_logarithmic_axis_begins_below_a_digit(value: float, begins: float) -> None:
    """plotly.js draws no labels where the axis begins at a digit, or a trifle above."""
    axis = Chart("", "", (Panel("", "", log_y=True, y_range=(value, 8.0 * value)),), ()).layout()["yaxis"]
    assert 10 ** axis["range"][0] == pytest.approx(begins)
    assert 10 ** axis["range"][1] == pytest.approx(8 * value)


def test_an_expiry_whose_packet_met_its_ack_in_a_queue_leaves_no_backoff() -> None:
    """The ACK passes the tap at 2 ns, the timer's packet at 5 ns; the next one waits for its ACK until 9 ns."""
    expiries = pa.table({"t_ns": [5, 8], "progress_ns": [2, 9], "backoff": [0, 0]})
    x, y = backoff_steps(expiries, 10)
    assert list(zip(x.tolist(), y.tolist(), strict=True)) == [(0, 0), (5, 1), (5, 0), (8, 1), (9, 0), (10, 0)]
