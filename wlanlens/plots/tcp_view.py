"""TCP's view against the tap's view: when TCP sent each segment, and when it passed the tap below TCP's queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from wlanlens.detection.toolkit.ack_timestamps import SETTLED_NS, TICKS_NS, ticks_between
from wlanlens.plots._chart import Chart, Panel, Series, drawn, need, nothing, spans, thinned
from wlanlens.plots._figure import TIME
from wlanlens.plots._palette import LINES, STAGES
from wlanlens.plots._rows import FlowKey, of_flow
from wlanlens.registry import plot
from wlanlens.tables.columns import Array, coded, integers, known

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from wlanlens.detection.finding import Finding
    from wlanlens.trace import Trace

_NAME = "tcp_view"
_BLOCK_NS = 5_000_000_000
"""Time over which the clock of the timestamps may drift: 20 ppm make 0.1 ms."""
_MARGIN = 0.2
"""Time before and after the queue that is drawn by default, as a share of its length."""
_AFTER_ACK = ("#b84a00", "#ff8a4d")


@dataclass(frozen=True)
class SentData:
    """Data segments of one direction, in order of the capture.

    Attributes
    ----------
    t_ns : array
        When each passed the tap.
    made_ns : array
        The latest time at which TCP can have sent it: in the tick of its timestamp (RFC 7323), before it passed the tap,
        before the segments behind it in the queue, and before the ACK of its bytes, unless that came before the tick.
    seq, size : array
        First byte and payload.
    acked : array of bool
        An ACK of all its bytes had passed the tap before.
    ack_t_ns, ack : array
        The ACKs: time and highest acknowledged byte.
    tick_ns : int
        Tick of the timestamps: `made_ns` may be late by as much.
    """

    t_ns: Array
    made_ns: Array
    seq: Array
    size: Array
    acked: Array
    ack_t_ns: Array
    ack: Array
    tick_ns: int


@plot(_NAME, needs=("segments",))
def tcp_view(
    trace: Trace,
    findings: Sequence[Finding] = (),
    *,
    capture: str | None = None,
    flow: int = 0,
    direction: str = "a2b",
    window_s: tuple[float, float] | None = None,
    most_marks: int = 3000,
) -> Figure:
    """Sequence numbers as TCP sent them (by their timestamps), as the tap saw them, and the time between the two.

    The tap is below the queue of the network device, so a segment that TCP sent before an ACK arrived can pass the tap
    after it: it looks as if acknowledged data were retransmitted. `window_s` (from, to, in seconds) is by default the
    time around the longest queue. `most_marks`: segments drawn (3000); of more, every k-th.
    """
    return drawn(
        chart(
            trace, findings, capture=capture, flow=flow, direction=direction, window_s=window_s, most_marks=most_marks
        )
    )


def chart(
    trace: Trace,
    findings: Sequence[Finding] = (),
    *,
    capture: str | None = None,
    flow: int = 0,
    direction: str = "a2b",
    window_s: tuple[float, float] | None = None,
    most_marks: int = 3000,
) -> Chart:
    """The figure as data.

    Raises
    ------
    NothingToDraw
        The tap is not at the sender, or its segments have no timestamps whose tick can be measured.
    """
    need(trace, _NAME, "segments")
    key = FlowKey.of(trace, capture, flow, direction)
    sent = sent_data(trace, key)
    queued = sent.t_ns - sent.made_ns
    start, end = window_s or _longest_queue(sent)
    mine = np.flatnonzero((sent.t_ns >= start * 1e9) & (sent.t_ns <= end * 1e9))
    if not len(mine):
        raise nothing(
            trace, f"no data segment from {start:g} s to {end:g} s", "give window_s=(from, to) within the connection"
        )
    mine = mine[thinned(len(mine), most_marks)]
    acks = np.flatnonzero((sent.ack_t_ns >= start * 1e9) & (sent.ack_t_ns <= end * 1e9))
    acks = acks[thinned(len(acks), most_marks)]
    after = mine[sent.acked[mine]]
    usual = mine[~sent.acked[mine]]
    series = []
    for panel, t in ((0, sent.made_ns), (1, sent.t_ns)):
        series += [
            Series("ACK", sent.ack_t_ns[acks] / 1e9, sent.ack[acks], LINES["ack"], "steps", panel),
            Series("data segment", t[usual] / 1e9, sent.seq[usual], LINES["data"], "ticks", panel, (sent.seq + sent.size)[usual]),
            Series("data segment, acknowledged before it passed the tap", t[after] / 1e9, sent.seq[after], _AFTER_ACK, "ticks",
                   panel, (sent.seq + sent.size)[after], width=2.5),
        ]  # fmt: skip
    look = STAGES["queue"]
    zero = np.zeros(len(mine))
    series.append(
        Series(
            "time in the queue", sent.t_ns[mine] / 1e9, zero, (look.light, look.dark), "ticks", 2, queued[mine] / 1e6
        )
    )
    shaded = spans(findings, flow=flow, direction=direction)
    window, y = (start, end), "sequence number (bytes)"
    low, high = float(sent.seq[mine].min()), float((sent.seq + sent.size)[mine].max())
    y_range = (low - 0.04 * (high - low), high + 0.04 * (high - low))
    tick = f"{sent.tick_ns / 1e6:g} ms"
    return Chart(
        f"{trace.subject(flow, direction)}: what TCP sent and what the tap saw",
        f"Above, each segment at the time when TCP sent it by its timestamp (to {tick}); below, when it passed the tap. "
        f"{np.count_nonzero(sent.acked)} segments passed the tap after the ACK of their bytes; the longest queue between the two "
        f"was at least {queued.max() / 1e6:.3g} ms.",
        (
            Panel(TIME, y, "TCP's view", x_range=window, y_range=y_range, spans=shaded, x_labels=False, share=1.5),
            Panel(TIME, y, "The tap's view", x_range=window, y_range=y_range, spans=shaded, x_labels=False, share=1.5),
            Panel(TIME, "queue (ms)", x_range=window, spans=shaded, share=0.8),
        ),
        tuple(s for s in series if len(s.x)),
        same="x",
    )


def sent_data(trace: Trace, key: FlowKey) -> SentData:
    """When TCP sent each data segment, and when it passed the tap."""
    table = trace.table("segments")
    subject = trace.subject(key.flow, key.direction)
    rows = of_flow(table, key)
    if "tsval" not in table.column_names or _far_from_sender(trace, key):
        raise nothing(
            trace,
            f"not captured at the sender of {subject}",
            "capture on the host that sends the data",
        )
    ours = coded(rows["direction"], (key.direction,)) == 0
    sent = coded(rows["transmission"], ("first", "retransmission", "reordered")) >= 0
    data = (
        ours & sent & (integers(rows["len"]) > 0) & known(rows["rel_seq"]) & known(rows["t_ns"]) & known(rows["tsval"])
    )
    answers = ~ours & known(rows["rel_ack"]) & known(rows["t_ns"])
    t, seq, size = (integers(rows[name]) for name in ("t_ns", "rel_seq", "len"))
    # 64 bits and no wraps: counted from the first timestamp.
    stamp = ticks_between(integers(rows["tsval"])[data][:1], integers(rows["tsval"])[data])
    tick = _tick_ns(t[data], stamp)
    if not tick:
        raise nothing(
            trace,
            f"{subject} has no TCP timestamps whose tick can be measured",
            "enable TCP timestamps on the sender (Linux: sysctl net.ipv4.tcp_timestamps=1) and capture at least 0.2 s",
        )
    ack = np.maximum.accumulate(integers(rows["rel_ack"])[answers]) if answers.any() else np.zeros(0, np.int64)
    at = np.searchsorted(t[answers], t[data], side="left") - 1
    acked = (at >= 0) & (np.append(ack, 0)[at] >= (seq + size)[data])
    made = _made_ns(t[data], stamp, tick)
    if acked.any():
        # TCP sends no bytes that it knows to be acknowledged; half a tick for the error of the clock.
        covered = t[answers][np.searchsorted(ack, (seq + size)[data][acked])]
        made[acked] = np.where(covered >= made[acked] - 3 * tick // 2, np.minimum(made[acked], covered), made[acked])
    made = np.minimum.accumulate(made[::-1])[::-1]
    return SentData(t[data], made, seq[data], size[data], acked, t[answers], ack, tick)


def _far_from_sender(trace: Trace, key: FlowKey) -> bool:
    """Whether the tap is known to be away from the sender."""
    if not trace.has("flows"):
        return False
    flows = of_flow(trace.table("flows"), key)
    taps = flows.filter(pc.equal(flows["direction"], key.direction))["tap"].to_pylist()
    return bool(taps) and taps[0] not in ("near_sender", None)


def _tick_ns(t: Array, stamp: Array) -> int:
    """The tick of a sender's timestamps: the usual one nearest to the median over four intervals; 0: not measurable."""
    ends = [(len(t) - 1) * n // 4 for n in (1, 2, 3, 4)] if len(t) else []
    measured = [(t[i] - t[0]) / stamp[i] for i in ends if t[i] - t[0] >= SETTLED_NS and stamp[i] > 0]
    if not measured:
        return 0
    distance = np.abs(np.log(TICKS_NS) - np.log(np.median(measured)))
    return int(TICKS_NS[distance.argmin()]) if distance.min() < np.log(1.5) else 0


def _made_ns(t: Array, stamp: Array, tick: int) -> Array:
    """The latest time at which each segment can have been made: the end of its tick, or the tap.

    The clock of the timestamps is placed by the segments that passed the tap soonest in the blocks of time around each: a
    queue that never empties for that long is not seen. A clock that steps may put packets before the first one, or years apart.
    """
    late = t - stamp * tick
    _, block = np.unique(t // _BLOCK_NS, return_inverse=True)
    least = np.full(int(block.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, block, late)
    around = np.minimum(least, np.minimum(np.append(least[1:], least[-1]), np.append(least[0], least[:-1])))
    made: Array = np.minimum(t, stamp * tick + around[block] + tick)
    return made


def _longest_queue(sent: SentData) -> tuple[float, float]:
    """The time around the longest queue, from TCP's first segment in it to the last that passed the tap.

    Segments that passed the tap after their ACK are the reason to look; if there are any, it is the queue that held most.
    """
    queued = sent.t_ns - sent.made_ns
    inside = queued > 0
    if not inside.any():
        return float(sent.t_ns[0]) / 1e9, float(max(sent.t_ns[-1], sent.t_ns[0] + 1)) / 1e9
    run = np.cumsum(np.diff(inside, prepend=False))
    wanted = np.where(sent.acked, queued, 0) if (sent.acked & inside).any() else queued
    mine = np.flatnonzero(run == run[wanted.argmax()])
    start, end = int(sent.made_ns[mine].min()), int(sent.t_ns[mine].max())
    margin = max(int(_MARGIN * (end - start)), sent.tick_ns // 2)
    return max(0, start - margin) / 1e9, (end + margin) / 1e9
