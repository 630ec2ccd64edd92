"""The time-sequence graph of one connection at every capture point, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wlanlens.plots._chart import Chart, Panel, Series, drawn, need, nothing, spans, thinned
from wlanlens.plots._palette import LINES, TRIGGERS
from wlanlens.plots._rows import RETRANSMISSION, FlowKey, flow_rows, mark_name
from wlanlens.registry import plot
from wlanlens.tables.columns import Array, coded, find, integers, known

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from wlanlens.detection.finding import Finding
    from wlanlens.trace import Trace

_NAME = "time_sequence_points"
_PLACES = {
    "sender": "at the sender",
    "usb": "on the USB bus",
    "air": "on the air",
    "ap": "at the access point",
    "receiver": "at the receiver",
}
_MARGIN = 0.25
"""Time before and after an event, as a share of its length: enough to see what came before."""
_LEAST_S = 0.05
"""Shortest part drawn by default: about five round trips of a wireless LAN."""

_FAILED = 255
"""Mark of an 802.11 transmission that was followed by another of the same packet; `_rows` has no mark as high."""


@dataclass(frozen=True)
class Passages:
    """The packets of a connection that passed one capture point, in order of time.

    Attributes
    ----------
    t_ns : array
    seq, size : array
        First byte and bytes of sequence space of data; of an ACK the acknowledgment number and -1.
    mark : array
        How it was sent, as in `FlowRows.mark`, or `_FAILED`.
    """

    t_ns: Array
    seq: Array
    size: Array
    mark: Array

    def within(self, window_s: tuple[float, float]) -> Passages:
        """Those from a time to another."""
        at = (self.t_ns >= window_s[0] * 1e9) & (self.t_ns <= window_s[1] * 1e9)
        return Passages(self.t_ns[at], self.seq[at], self.size[at], self.mark[at])


@plot(_NAME, needs=("segments", "links"))
def time_sequence_points(
    trace: Trace,
    findings: Sequence[Finding] = (),
    *,
    flow: int = 0,
    direction: str = "a2b",
    window_s: tuple[float, float] | None = None,
    most_marks: int = 3000,
) -> Figure:
    """Sequence numbers over time at each capture point, in the order in which the data pass them.

    All panels have the same axes. They show `window_s` (from, to, in seconds); by default the costliest of `findings` of this
    direction, and without one the whole connection. `most_marks`: segments and ACKs drawn for each point (3000: more make
    a browser slow); of more, every k-th is drawn, and all retransmissions.
    """
    return drawn(chart(trace, findings, flow=flow, direction=direction, window_s=window_s, most_marks=most_marks))


def chart(
    trace: Trace,
    findings: Sequence[Finding] = (),
    *,
    flow: int = 0,
    direction: str = "a2b",
    window_s: tuple[float, float] | None = None,
    most_marks: int = 3000,
) -> Chart:
    """The figure as data.

    Raises
    ------
    NothingToDraw
        No two captures hold the connection.
    """
    need(trace, _NAME, "segments", "links")
    every = _passages(trace, flow, direction)
    if len(every) < 2:
        raise nothing(
            trace,
            f"{trace.subject(flow, direction)} was captured at {len(every)} point{'' if len(every) == 1 else 's'}, and this plot "
            "compares points",
            "analyze captures of several points together: wlanlens analyze sender.pcap air.pcap receiver.pcap",
        )
    shaded = spans(findings, flow=flow, direction=direction)
    window = window_s or _event(findings, flow, direction) or _whole(every)
    points = {capture.name: capture.point for capture in trace.captures}
    places: list[str] = []
    series: list[Series] = []
    for i, name in enumerate(_ordered(every)):
        places.append(_PLACES.get(points.get(name, ""), "at an unknown point"))
        series += _series(every[name].within(window), i, most_marks)
    low = min((float(made.y.min()) for made in series if len(made.y)), default=0.0)
    high = max(
        (float((made.y if made.y_end is None else made.y_end).max()) for made in series if len(made.y)), default=-1.0
    )
    if high < low:
        raise nothing(
            trace,
            f"no segment from {window[0]:g} s to {window[1]:g} s",
            "give window_s=(from, to) within the connection",
        )
    margin = 0.03 * max(high - low, 1.0)
    y_range = (low - margin, high + margin)
    return Chart(
        f"{trace.subject(flow, direction)}: the same packets at {len(places)} capture points",
        "Each panel is one capture point, in the order in which the data pass them, on one time axis: what is late or missing "
        "in a panel and not in the panel before it happened between the two points.",
        tuple(
            Panel("time (s)", "sequence number (bytes)", place, x_range=window, y_range=y_range, spans=shaded)
            for place in places
        ),
        tuple(one for one in series if len(one.x)),
        beside=True,
        same="xy",
    )


def _event(findings: Sequence[Finding], flow: int, direction: str) -> tuple[float, float] | None:
    """The time of the costliest finding of a direction, with a margin."""
    mine = [f for f in findings if (f.flow, f.direction) == (flow, direction)]
    if not mine:
        return None
    f = max(mine, key=lambda f: (f.cost_s, -f.t_start_ns))
    start, end = f.t_start_ns / 1e9, f.t_end_ns / 1e9
    margin = max(_MARGIN * (end - start), (_LEAST_S - (end - start)) / 2)
    return max(0.0, start - margin), end + margin


def _whole(every: Mapping[str, Passages]) -> tuple[float, float]:
    first, last = min(int(one.t_ns.min()) for one in every.values()), max(int(one.t_ns.max()) for one in every.values())
    return first / 1e9, max(last, first + 1) / 1e9


def _passages(trace: Trace, flow: int, direction: str) -> dict[str, Passages]:
    """What passed each capture point, by capture."""
    links = trace.table("links")
    links = links.filter(pc.and_(pc.equal(links["flow"], flow), pc.is_valid(links["tcp_seq"]))).combine_chunks()
    if not links.num_rows:
        return {}
    ours = coded(links["direction"], (direction,)) == 0
    flags, payload = integers(links["tcp_flags"]), integers(links["payload_bytes"])
    # SYN and FIN take one byte of sequence space (RFC 9293 section 3.4).
    size = np.where(ours, payload + ((flags & 0x03) > 0), -1)
    mark, base = _marks(trace, links, flow, direction)
    number = np.where(ours, integers(links["tcp_seq"]), integers(links["tcp_ack"]))
    seq = (number - base) % 2**32
    drawn = np.where(ours, size > 0, (flags & 0x10) > 0)
    points, row = _items(links["points"])
    capture = coded(points.field("capture"), [one.name for one in trace.captures])
    seen = known(points.field("t_ns")) & (integers(points.field("packet")) > 0) & drawn[row]
    t = integers(points.field("t_ns"))
    failed = _failed(trace, links, drawn)
    out = {}
    for i, one in enumerate(trace.captures):
        at = np.flatnonzero(seen & (capture == i))
        if len(at):
            of, times, marks = row[at], t[at], mark[row[at]]
            if one.point == "air" and failed is not None:
                earlier, sent_ns, last_ns = failed
                times = np.where(last_ns[of] >= 0, last_ns[of], times)
                of, times = np.append(of, earlier), np.append(times, sent_ns)
                marks, failed = np.append(marks, np.full(len(earlier), _FAILED)), None
            order = np.argsort(times, kind="stable")
            out[one.name] = Passages(times[order], seq[of][order], size[of][order], marks[order])
    return out


def _marks(trace: Trace, links: pa.Table, flow: int, direction: str) -> tuple[Array, int]:
    """How each packet was sent, by the capture that shows it best, and the sequence number at which the data begin."""
    segments = trace.leading().table("segments")
    lead = segments.filter(pc.equal(segments["flow"], flow))["capture"].unique().to_pylist()[0]
    rows = flow_rows(trace.leading(), FlowKey(lead, flow, direction))
    points, row = _items(links["points"])
    at = np.flatnonzero((coded(points.field("capture"), [lead]) == 0) & (integers(points.field("packet")) > 0))
    packet = np.full(links.num_rows, -1, np.int64)
    packet[row[at]] = integers(points.field("packet"))[at]
    found = find(rows.packet, packet)
    there = found >= 0
    mark = np.zeros(links.num_rows, np.int64)
    mark[there] = rows.mark[found[there]]
    data = there & (coded(links["direction"], (direction,)) == 0) & ~rows.is_ack[found]
    base = (integers(links["tcp_seq"])[data] - rows.seq[found[data]]) % 2**32
    return mark, int(base[0]) if len(base) else int(integers(links["tcp_seq"]).min())


def _failed(trace: Trace, links: pa.Table, drawn: Array) -> tuple[Array, Array, Array] | None:
    """(row, time) of the transmissions before the last of each packet, and of each row the time of the last, -1 without one;
    None without a capture of the air."""
    if not any(capture.point == "air" for capture in trace.captures):
        return None
    heard, of = _items(links["transmissions_heard"])
    earlier = np.append(of[1:] == of[:-1], False) & drawn[of] if len(of) else np.zeros(0, bool)
    # Sniffers stamp the end of a frame; the points of `links` have this time too.
    sent_ns = integers(heard.field("t_end_ns"))
    last_ns = np.full(links.num_rows, -1, np.int64)
    last_ns[of] = sent_ns  # of several the last one stays
    return of[earlier], sent_ns[earlier], last_ns


def _items(column: pa.ChunkedArray) -> tuple[pa.StructArray, Array]:
    """The items of a column of lists, and the row of each."""
    lists = column.combine_chunks()
    lists = lists if isinstance(lists, pa.Array) else pa.concat_arrays(lists.chunks)
    return lists.flatten(), np.asarray(pc.list_parent_indices(lists), np.int64)


def _ordered(every: Mapping[str, Passages]) -> list[str]:
    """The captures in the order in which data passed them: by the median delay of the segments that two have."""
    sent = {}
    for name, one in every.items():
        first = (one.size > 0) & (one.mark == 0)
        seq, at = np.unique(one.seq[first], return_index=True)
        sent[name] = (seq, one.t_ns[first][at])
    base = max(sent, key=lambda name: len(sent[name][0]))
    delay = {}
    for name, (seq, t) in sent.items():
        _, mine, its = np.intersect1d(seq, sent[base][0], return_indices=True)
        delay[name] = float(np.median(t[mine] - sent[base][1][its])) if len(mine) else np.inf
    return sorted(every, key=lambda name: (delay[name], name))


def _series(one: Passages, panel: int, most: int) -> list[Series]:
    """Segments, retransmissions by trigger, failed transmissions and ACKs of one point."""
    data = one.size >= 0
    again, failed = data & (one.mark >= RETRANSMISSION) & (one.mark != _FAILED), data & (one.mark == _FAILED)
    plain = np.flatnonzero(data & ~again & ~failed)
    acks = np.flatnonzero(~data & (one.mark != _FAILED))
    acks = acks[thinned(len(acks), most)]
    out = [
        Series("ACK", one.t_ns[acks] / 1e9, one.seq[acks], LINES["ack"], kind="steps", panel=panel),
        _ticks("data segment", one, plain[thinned(len(plain), most)], LINES["data"], panel),
    ]
    if failed.any():
        out.append(_ticks("failed 802.11 transmission", one, np.flatnonzero(failed), LINES["retry"], panel, 2.0))
    for name, look in TRIGGERS.items():
        codes = [mark for mark in np.unique(one.mark[again]).tolist() if mark_name(mark)[0] == name]
        if codes:
            at = np.flatnonzero(again & np.isin(one.mark, codes))
            out.append(_ticks(f"retransmission: {look.title}", one, at, (look.light, look.dark), panel, 3.0))
    return out


def _ticks(name: str, one: Passages, at: Array, colours: tuple[str, str], panel: int, width: float = 1.5) -> Series:
    seq, size = one.seq[at], one.size[at]
    return Series(name, one.t_ns[at] / 1e9, seq, colours, kind="ticks", panel=panel, y_end=seq + size, width=width)
