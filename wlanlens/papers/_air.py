"""Measurements of a run on the air, and figures like those of the studies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa
    from plotly.graph_objects import Figure

    from wlanlens.simulation.simulate import Run


def payload(run: Run) -> pa.Table:
    """Packets of the client that carry data."""
    import pyarrow.compute as pc

    p = run.facts.packets
    return p.filter(pc.and_(pc.equal(p["direction"], "a2b"), pc.greater(p["len_bytes"], 0)))


def answers(run: Run) -> pa.Table:
    """Packets of the server that reached the client."""
    import pyarrow.compute as pc

    p = run.facts.packets
    return p.filter(pc.and_(pc.equal(p["direction"], "b2a"), pc.equal(p["fate"], "delivered")))


def fates(packets: pa.Table) -> Any:
    """The fate of each packet."""
    return np.asarray(packets["fate"].cast("string").to_numpy(zero_copy_only=False))


def lost(packets: pa.Table) -> Any:
    """Whether each packet was lost; packets in flight at the end were not."""
    fate = fates(packets)
    return (fate != "delivered") & (fate != "under_way")


def throughput_mbps(run: Run) -> float:
    """Payload that arrived, each byte once, over the simulated time."""
    import pyarrow.compute as pc

    p = payload(run)
    p = p.filter(pc.equal(p["fate"], "delivered"))
    _, first = np.unique(np.asarray(p["rel_seq"]), return_index=True)
    return float(np.asarray(p["len_bytes"], np.int64)[first].sum()) * 8 / run.scenario.duration_s / 1e6


def data_frames(run: Run) -> pa.Table:
    """Frames that carry a packet."""
    import pyarrow.compute as pc

    f = run.facts.frames
    return f.filter(pc.and_(pc.equal(f["kind"], "data"), pc.is_valid(f["packet"])))


def retries(run: Run) -> tuple[int, int, int]:
    """Retries by the sender, retries by the receiver, and all frames of both."""
    f = data_frames(run)
    again = np.asarray(f["attempt"]) > 0
    sender = np.asarray(f["station"]) == 0
    return int((again & sender).sum()), int((again & ~sender).sum()), len(again)


def retry_percent(run: Run) -> float:
    """Share of the frames of both stations that are retries."""
    there, back, total = retries(run)
    return 100 * (there + back) / max(1, total)


def round_trips_s(run: Run) -> Any:
    """Time from each segment's first copy to the first ACK that covers it; holes before it count."""
    data, acks = payload(run), answers(run)
    order = np.argsort(np.asarray(acks["t_end_ns"]), kind="stable")
    came, acked = np.asarray(acks["t_end_ns"])[order], np.maximum.accumulate(np.asarray(acks["rel_ack"])[order])
    once = np.asarray(data["copy"]) == 0
    end = (np.asarray(data["rel_seq"]) + np.asarray(data["len_bytes"]))[once]
    at = np.searchsorted(acked, end)
    known = at < len(acked)
    took = came[np.minimum(at, len(acked) - 1)] - np.asarray(data["t_made_ns"])[once]
    return took[known] / 1e9


def timeouts(run: Run) -> int:
    """Expiries of the retransmission timer."""
    import pyarrow.compute as pc

    return int(pc.sum(pc.equal(run.facts.events["what"], "timeout")).as_py() or 0)


@dataclass(frozen=True)
class Packets:
    """Sent segments of a run as vectors, for a sequence plot: times in s, bytes, copies."""

    data_s: Any
    data_bytes: Any
    copy: Any
    ack_s: Any
    ack_bytes: Any


def packets(run: Run, start_s: float, end_s: float) -> Packets:
    """The packets at the sender's tap between two times."""
    import pyarrow.compute as pc

    def between(table: pa.Table, column: str) -> pa.Table:
        t = table[column]
        inside = pc.and_(pc.greater_equal(t, int(start_s * 1e9)), pc.less(t, int(end_s * 1e9)))
        return table.filter(inside.combine_chunks().fill_null(False))

    sent = between(payload(run), "t_tap_ns")
    acks = between(answers(run), "t_end_ns")
    return Packets(
        data_s=np.asarray(sent["t_tap_ns"]) / 1e9,
        data_bytes=np.asarray(sent["rel_seq"]),
        copy=np.asarray(sent["copy"]),
        ack_s=np.asarray(acks["t_end_ns"]) / 1e9,
        ack_bytes=np.asarray(acks["rel_ack"]),
    )


def sequence_figure(p: Packets, title: str = "") -> Figure:
    """Sequence numbers over time: data, retransmissions, ACKs."""
    import plotly.graph_objects as go

    again = p.copy > 0
    figure = go.Figure()
    for name, t, y, symbol in (
        ("data", p.data_s[~again], p.data_bytes[~again], "line-ns-open"),
        ("retransmitted", p.data_s[again], p.data_bytes[again], "x"),
    ):
        figure.add_trace(go.Scatter(x=t, y=y / 1e3, mode="markers", name=name, marker={"symbol": symbol}))
    acks = go.Scatter(x=p.ack_s, y=p.ack_bytes / 1e3, mode="lines", line={"shape": "hv", "width": 1}, name="ACK")
    figure.add_trace(acks)
    figure.update_layout(title=title, xaxis_title="time, s", yaxis_title="sequence number, kB", template="simple_white")
    return figure


def rate_figure(frames: tuple[Any, Any, Any]) -> Figure:
    """The rate of each frame over time, by station: times in s, rates in Mb/s, stations."""
    import plotly.graph_objects as go

    t_s, rate_mbps, station = frames
    figure = go.Figure()
    for number, name in ((0, "sender"), (1, "receiver")):
        mine = station == number
        figure.add_trace(go.Scatter(x=t_s[mine], y=rate_mbps[mine], mode="markers", name=name))
    figure.update_layout(xaxis_title="time, s", yaxis_title="rate, Mb/s", template="simple_white")
    return figure
