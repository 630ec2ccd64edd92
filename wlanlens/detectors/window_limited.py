from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.remedy import Remedy
from wlanlens.detection.toolkit import (
    MAY_BE_LIMITED,
    NULL,
    Array,
    Cases,
    Description,
    Facts,
    Finding,
    Rows,
    Undecided,
    acked_with_pauses,
    bit_rate,
    cwnd_may_limit,
    duration,
    evenly_paced,
    has_no_room,
    key_groups,
    main_stretches,
    may_be_busy,
    mean_by_length,
    mostly_full,
    on_full_path,
    several_acks,
    shown_by_links,
)
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace

CODE = "window_limited"

#: Where the ledger has the waits for a window without room.
WAITS = ("receiver_window", "delayed_ack")

_BUSY = (
    "the round trip is so short, or so much longer than the least, that a link may have been busy all the time; with a capture of "
    "the air or the bus the ledger shows it."
)
_REDUCED = (
    "its congestion window may have been as small: the initial one, or a loss had reduced it a round trip before; a longer time without "
    "losses would show it."
)


@detector(
    CODE,
    needs=("intervals", "segments", "recoveries", "flows"),
    explains=WAITS,
    saving="window",
    remedy=Remedy(
        "Receiver: a larger receive buffer and window scaling on (Linux: third value of `net.ipv4.tcp_rmem`, "
        "no small SO_RCVBUF; Windows: autotuning normal): at least rate times round trip. If the window "
        "closes: let the application read faster, or in its own thread.",
        "capture at the sender again: the flight stays below the advertised window.",
    ),
)
def window_limited(
    trace: Trace,
    *,
    min_share_percent: float = 5.0,
    min_time_ms: float = 50.0,
    edge_share: float = 0.2,
    min_flow_bytes: int = 64 * 1024,
    access_ms: float = 5.0,
    own_share: float = 0.1,
    full_rtts: float = 4.0,
    min_paced_acks: int = 4,
    pause_share: float = 0.05,
) -> Iterator[Finding | Undecided]:
    """The receiver's window, not the network, limited the throughput.

    What it finds
    -------------
    Time in which a sender had filled the receiver's window and could send no more, and time in which the window was
    closed. The cost is that time: throughput is at most window / round trip.

    Why it happens
    --------------
    The receiving application reads slowly, its buffer is small, or window scaling was not agreed: a long path has 64 KiB
    at most. A closed window is opened by an ACK, or after probes (RFC 9293 section 3.8.6.1).

    How it decides
    --------------
    From the states `zero_window` and `window_limited` of `intervals`, and `delayed_ack` where the window had no room for the
    second segment. `window_limited` leaves out time in which the window keeps the path full: a larger one would only
    lengthen the queue. Where the ACKs come with pauses in such time, it is undecided: a link may be idle meanwhile.
    So is time in which a queue fills again after a pause: a flow has more time on a full path than limited by the window.
    After a loss the halved congestion window may equal the receiver's (a sender limited by its receiver has grown it to twice
    that). It grows by one segment a round trip (RFC 5681 section 3.1); until all of that window is acknowledged, time does not
    count either, and where most of it is such time, undecided. A sender that sees by timestamps that its fast recovery was spurious
    restores its window (RFC 4015). Nor does time before the first ACK of data: the initial window may be as large.
    `min_share_percent` and `min_time_ms`: less of the lifetime is a transfer's last window or a normal delay; 50 ms is the
    shortest delayed ACK with its round trip.
    `edge_share`: stretches at either end with less of the time than this are left out.
    A receiver's window below two segments always limits: a congestion window is never below one.
    `min_flow_bytes`: a smaller flow without a known window is no more than a first window.
    `access_ms`: a full frame takes up to 5 ms on a wireless link of 5.5 Mbit/s with a retry. Where the least round trip is no longer
    than this, and the window's no longer than that for each of its segments, those of other connections on the path, and the ACK,
    the link may be busy all the time: undecided. With one packet in flight it is idle while the ACK comes back, and so where one ACK
    answers the whole window. Captures of the air or the bus decide: the ledger tells.
    `own_share`: unless the window adds less than this share to the least round trip, which then is a distance.
    `full_rtts`: a round trip of two segments or more that is this many times the least is a queue, or a delayed ACK:
    undecided. A queue of one round trip doubles it, and each of three other flows with the same window adds as much.
    The least is that of all connections between the host and the same network: one alone may never have seen the path empty.
    `min_paced_acks`, `pause_share`: a window that does not fill the path is answered by a train of ACKs and a pause in each round
    trip. With this many ACKs in a round trip, and pauses for less than this share of the time, a link was busy all the
    time: a larger window gains no more than that.

    What fools it
    -------------
    A queue filled by other flows looks like its own. A congestion window or the sender's buffer keeps the flight below the receiver's
    window: no finding. Without the handshake the window's scale is unknown: undecided.

    References
    ----------
    RFC 9293 section 3.8.6, RFC 7323 section 2 (window scaling), RFC 1122 section 4.2.2.17.
    """
    facts = Facts.of(trace)
    spans = facts.rows(
        "intervals",
        [
            "t_start_ns", "t_end_ns", "state", "first_packet", "last_packet", "acked_bytes", "flight_bytes",
            "window_bytes", "rtt_ns", "rtt_min_ns",
        ],
        where={"state": MAY_BE_LIMITED},
    )  # fmt: skip
    spans = spans.take(np.isin(spans["state"], ("zero_window", "window_limited")) | has_no_room(facts, spans))
    spans = spans.take(~evenly_paced(facts, spans, min_paced_acks, pause_share))
    mostly = mostly_full(spans)
    # Of all that was acknowledged in one interval, each ACK shows the pace.
    path = on_full_path(spans) | ((spans["state"] == "window_limited") & several_acks(facts, spans))
    path[path] = ~acked_with_pauses(facts, spans.take(path), min_paced_acks, pause_share)
    shown, limited = shown_by_links(facts, spans, WAITS)
    kept = ~path & (~shown | limited)
    spans, mostly, shown = spans.take(kept), mostly[kept], shown[kept]
    if len(spans):
        segment = np.maximum(facts.flow_values("segment_max_bytes", spans.key), 1)
        one = (spans["window_bytes"] != NULL) & (spans["window_bytes"] < 2 * segment)
        full = cwnd_may_limit(facts, spans) & ~one
        busy = may_be_busy(facts, spans, segment, int(access_ms * 1e6), own_share, full_rtts)
        busy |= on_full_path(spans) | (mostly & (spans["state"] == "window_limited"))
        busy &= ~shown
        share, least_ns = min_share_percent / 100, int(min_time_ms * 1e6)
        found = list(_findings(facts, spans.take(~busy), full[~busy], edge_share, share, least_ns))
        yield from found
        subjects = {f.subject for f in found}
        for others, open_, why in ((full, busy, _BUSY), (busy & ~full, full, _REDUCED)):
            yield from _undecided(facts, spans.take(~others), open_[~others], subjects, why, share, least_ns)
    yield from facts.undecided_without_acks(CODE)
    keys = facts.complete_data_keys(min_flow_bytes)
    unscaled = (facts.flow_values("packets", keys ^ 1) > 0) & (facts.flow_values("peer_window_max_bytes", keys) == 0)
    if unscaled.any():
        yield facts.undecided(
            CODE,
            keys[unscaled],
            "The handshake was not captured, so the scale of the receiver's window is unknown.",
        )


def _undecided(
    facts: Facts, spans: Rows, open_: Array, found: set[str], why: str, min_share: float, min_ns: int
) -> Iterator[Undecided]:
    """Flows that would have a finding, or a longer one, with the time that is open."""
    if not open_.any():
        return
    first, _ = key_groups(spans.key)
    key, span_ns = spans.key[first], spans["t_end_ns"] - spans["t_start_ns"]
    whole, left = (np.add.reduceat(time_ns, first) for time_ns in (span_ns, np.where(open_, span_ns, 0)))
    much = (left > 0) & (whole >= min_ns) & (whole >= min_share * facts.lifetime_s(key) * 1e9)
    much &= (2 * left > whole) | [facts.subject(k) not in found for k in key.tolist()]
    if much.any():
        yield facts.undecided(
            CODE,
            key[much],
            f"The sender filled the receiver's window, but {why}",
            t_start_ns=np.maximum(facts.flow_values("t_start_ns", key[much]), 0),
            t_end_ns=facts.last_packet_ns(key[much]),
        )


def _findings(
    facts: Facts, spans: Rows, full: Array, edge_share: float, min_share: float, min_ns: int
) -> Iterator[Finding]:
    if not len(spans):
        return
    whole = main_stretches(facts, spans, ~full, edge_share)
    first, length = key_groups(spans.key)
    key, closed, start, end = spans.key[first], spans["state"] == "zero_window", spans["t_start_ns"], spans["t_end_ns"]
    span_ns = end - start
    lifetime_s = facts.lifetime_s(key)
    limited_ns, closed_ns, full_ns = (
        np.add.reduceat(np.where(mask, span_ns, 0), first) for mask in (~full & ~closed, ~full & closed, full)
    )
    spent = limited_ns + closed_ns
    which = np.flatnonzero((spent >= min_ns) & (spent >= min_share * lifetime_s * 1e9))
    if not len(which):
        return

    def describe(i: int) -> Description:
        n = int(which[i])
        part = np.arange(first[n], first[n] + length[n])
        part = part[~full[part]]
        limited = part[~closed[part]]
        limited_s, closed_s, lifetime = int(limited_ns[n]) / 1e9, int(closed_ns[n]) / 1e9, float(lifetime_s[n])
        # At an interval's end the window may have just closed: it was never smaller than the flight.
        window = mean_by_length(np.maximum(spans["window_bytes"], spans["flight_bytes"]), span_ns, limited)
        rtt = mean_by_length(spans["rtt_ns"], span_ns, limited)
        values: dict[str, float | int | str] = {
            "window_limited_s": limited_s,
            "zero_window_s": closed_s,
            "share_percent": 100 * (limited_s + closed_s) / lifetime if lifetime else 0.0,
            "congestion_window_s": int(full_ns[n]) / 1e9,
            "intervals_count": len(part),
        }
        parts = [f"the window was closed for {duration(closed_s)}"] if closed_s > 0 else []
        if limited_s > 0:
            text = f"the sender had filled it for {duration(limited_s)}"
            if window and rtt:
                limit = window * 8 / (rtt / 1e9)
                values |= {"window_bytes": int(window), "rtt_ms": rtt / 1e6, "window_per_rtt_bps": limit}
                text += f" ({int(window)} bytes per {duration(rtt / 1e9)} round trip: at most {bit_rate(limit)})"
            if (acked := float(spans["acked_bytes"][limited].sum())) > 0:
                values["throughput_bps"] = acked * 8 / limited_s
            parts.append(text)
        return Description(
            f"the receiver's window limited the flow: {' and '.join(parts)}.",
            values,
            evidence={"segments": [*spans["first_packet"][part], *spans["last_packet"][part]]},
            confidence=0.9,
        )

    cases = Cases(
        facts,
        CODE,
        key[which],
        np.minimum.reduceat(np.where(whole, start, np.iinfo(np.int64).max), first)[which],
        np.maximum.reduceat(np.where(whole, end, 0), first)[which],
        (limited_ns / 1e9 + closed_ns / 1e9)[which],
        spans["first_packet"][first[which]],
    )
    yield from cases.findings(describe, what="a limiting receiver's window")
