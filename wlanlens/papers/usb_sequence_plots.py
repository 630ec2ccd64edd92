from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wlanlens.papers._air import Packets, answers, data_frames, lost, payload, sequence_figure
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment
from wlanlens.simulation.simulate import Run

#: Time shown before a hold and after its end, s.
_BEFORE_S, _AFTER_S = 0.05, 0.1
#: Time shown around the end of a hold in the zooms, s.
_ZOOM_S = (0.02, 0.06)


@dataclass(frozen=True)
class Views:
    """One hold at the sender, the receiver, on the air and on the bus: packets, and the longest time without an ACK, s."""

    shown: list[Packets]
    gaps_s: list[float]
    lost: int


@dataclass(frozen=True)
class Zooms:
    """The ends of the first and second hold at the tap, and of the first as TCP sent it; retransmissions after each."""

    first: Packets
    second: Packets
    as_sent: Packets
    resent: tuple[int, int]


def _holds(run: Run) -> list[tuple[float, float]]:
    """Begin and end of each hold, s."""
    events = run.facts.events.to_pylist()
    ends = [(e["t_ns"], e["rto_ns"]) for e in events if e["what"] == "hold_ended"]
    return [((t - length) / 1e9, t / 1e9) for t, length in ends]


def _cut(data: tuple[Any, Any, Any], acks: tuple[Any, Any], start_s: float, end_s: float) -> Packets:
    """Data (time s, byte, copy) and ACKs (time s, byte) between two times, in order of time."""
    t, byte, copy = data
    here = (t >= start_s) & (t < end_s)
    ack_t, ack = acks
    order = np.argsort(ack_t, kind="stable")
    order = order[(ack_t[order] >= start_s) & (ack_t[order] < end_s)]
    return Packets(t[here], byte[here], copy[here], ack_t[order], ack[order])


def _views(run: Run) -> Views | None:
    """The first hold at the sender, the receiver, on the air and on the bus; None if the run has none."""
    facts, holds = run.facts, _holds(run)
    if not holds:
        return None
    begin, end = holds[0]
    data, acks = payload(run), answers(run)
    byte, copy = np.asarray(data["rel_seq"]), np.asarray(data["copy"])
    ack = np.asarray(acks["rel_ack"])
    # Times on the air and on the bus, by packet.
    frames = data_frames(run)
    on_air = dict(zip(frames["packet"].to_pylist(), np.asarray(frames["t_start_ns"]) / 1e9, strict=True))
    urbs = facts.urbs
    on_bus = dict(zip(urbs["packet"].to_pylist(), np.asarray(urbs["t_complete_ns"]) / 1e9, strict=True))

    def times(table: Any, of: dict[int, float]) -> Any:
        return np.array([of.get(packet, np.nan) for packet in table["id"].to_pylist()])

    made, came = (np.asarray(acks[name]) / 1e9 for name in ("t_made_ns", "t_end_ns"))
    places = (
        (np.asarray(data["t_tap_ns"]) / 1e9, came),
        (np.asarray(data["t_end_ns"]) / 1e9, made),
        (times(data, on_air), times(acks, on_air)),
        (times(data, on_bus), times(acks, on_bus)),
    )
    start, stop = begin - _BEFORE_S, end + _AFTER_S
    shown = [_cut((t, byte, copy), (ack_t, ack), start, stop) for t, ack_t in places]
    # How long no ACK passed while data arrived; at the sender and on the bus this is the hold.
    gaps = [float(np.diff(p.ack_s[p.ack_s < end + 0.01]).max()) for p in shown]
    return Views(shown, gaps, int(lost(facts.packets).sum()))


def _zooms(run: Run) -> Zooms:
    data, acks = payload(run), answers(run)
    byte, copy = np.asarray(data["rel_seq"]), np.asarray(data["copy"])
    made, tap = (np.asarray(data[name]) / 1e9 for name in ("t_made_ns", "t_tap_ns"))
    came = (np.asarray(acks["t_end_ns"]) / 1e9, np.asarray(acks["rel_ack"]))
    ends = [end for _, end in _holds(run)[:2]]

    def zoom(times: Any, end: float) -> Packets:
        return _cut((times, byte, copy), came, end - _ZOOM_S[0], end + _ZOOM_S[1])

    resent = [int(((copy > 0) & (made >= end) & (made < end + 1)).sum()) for end in ends]
    return Zooms(zoom(tap, ends[0]), zoom(tap, ends[1]), zoom(made, ends[0]), (resent[0], resent[1]))


@experiment("usb_sequence_plots", study="usb_adapter", source="figures 2, 3 and 4")
def usb_sequence_plots(lab: Lab) -> Result:
    """A hold of ACKs at four capture points, and the retransmissions after it: the study's sequence plots.

    At the receiver and on the air the ACKs are on time. On the bus, as at the sender, none passes until the adapter releases
    them. After the first hold the sender retransmits what was acknowledged, after the second it does not.
    """
    # Holds begin at random times: in one run of thirty none does within 6 s.
    views = [v for v in lab.measure("ack_holding_over_usb", _views, seeds=5, duration_s=6.0) if v is not None]
    zooms = lab.measure("held_acks_timestamp_defect", _zooms, seeds=5)
    sender, receiver, air, usb = (np.array([v.gaps_s[i] for v in views]) for i in range(4))
    rows = (
        Row("packets lost", "none, figures 2(b) and 2(c)", "S", sum(v.lost for v in views),
            holds=not any(v.lost for v in views), because="ACKs are held, nothing is lost"),
        Row("longest time without an ACK, sender and receiver (ms)", "figures 2(a) and 2(b)", "S",
            f"{1e3 * sender.mean():.0f}, {1e3 * receiver.mean():.0f}", holds=bool((receiver < 0.9 * sender).all()),
            because="the receiver acknowledged in time; it waits only for data, which the sender's window stops"),
        Row("longest time without an ACK, air and receiver (ms)", "figure 2(c)", "S",
            f"{1e3 * air.mean():.0f}, {1e3 * receiver.mean():.0f}", holds=bool((np.abs(air - receiver) < 0.05).all()),
            because="ACKs reach the adapter without delay"),
        Row("longest time without an ACK, bus and sender (ms)", "figure 2(d): the same gap", "S",
            f"{1e3 * usb.mean():.0f}, {1e3 * sender.mean():.0f}", holds=bool((np.abs(usb - sender) < 0.003).all()),
            because="the adapter gives no completion while it holds ACKs"),
        Row("segments retransmitted within 1 s of the first and second hold", "figures 3(a) and 3(b)", "S",
            f"{zooms[0].resent[0]}, {zooms[0].resent[1]}", holds=all(z.resent[0] > 3 * max(1, z.resent[1]) for z in zooms),
            because="the first spurious timeout is not detected: slow start"),
    )  # fmt: skip
    zoom = zooms[0]
    titles = (
        "Figure 2(a): at the sender",
        "Figure 2(b): at the receiver",
        "Figure 2(c): on the air",
        "Figure 2(d): completions of the bus",
    )
    figures = (
        *zip(titles, views[0].shown, strict=True),
        ("Figure 3(a): after the first hold, at the sender's tap", zoom.first),
        ("Figure 3(b): after the second hold", zoom.second),
        ("Figure 4: after the first hold, as TCP sent it, before the device queue", zoom.as_sent),
    )
    return Result(rows, tuple((title, sequence_figure(p, "")) for title, p in figures))
