"""A synthetic analysis for tests of the report: a bulk transfer with a held ACK burst, losses, SACK and a zero window.

Not a model of TCP: it makes any number of rows that resemble a real capture, always the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tests.rows import table as rows_of
from wlanlens import tables
from wlanlens.capture.capture import Capture
from wlanlens.detection.finding import Finding, frame_filter
from wlanlens.detection.findings import DetectorState
from wlanlens.trace import Trace

MSS = 1448
START_NS = 1_795_178_746_250_922_000
RTT_NS = 22_000_000
NAME = "made.sender.pcap"


@dataclass
class Made:
    """Arguments of `wlanlens.report.page.write`."""

    trace: Trace
    findings: list[Finding]
    ledger: pa.Table
    states: list[DetectorState]


def rows_of_flow(
    flow: int, packets: int, first_packet: int, t0_ns: int, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Segments of one flow: bursts of 20 segments per round trip, one ACK for two, and an incident every 40 bursts."""
    rows: list[dict[str, Any]] = []
    t, seq, acked = t0_ns, 1, 1
    base = {"flow": flow, "rto_ns": 223_000_000, "srtt_ns": RTT_NS}

    def add(direction: str, kind: str, at: int, **more: Any) -> None:
        rows.append({"direction": direction, "kind": kind, "t_ns": int(at), **base, **more})

    add("a2b", "syn", t, rel_seq=0, len=0)
    add("b2a", "synack", t + RTT_NS, rel_seq=0, rel_ack=1, len=0)
    add("a2b", "ack", t + RTT_NS + 40_000, rel_seq=1, rel_ack=1, len=0)
    t += RTT_NS + 100_000
    burst = 0
    window = 400_000
    while len(rows) < packets:
        burst += 1
        size = min(20, 2 + burst)
        lost = set(rng.choice(size, 2, replace=False).tolist()) if burst % 40 == 17 and size > 8 else set()
        held = burst % 40 == 30
        sent = []
        for i in range(size):
            at = t + i * 60_000
            sent.append((at, seq))
            add("a2b", "data", at, rel_seq=seq, len=MSS, flight_bytes=seq + MSS - acked, peer_window_bytes=window)
            seq += MSS
        arrive = t + RTT_NS + (450_000_000 if held else 0)
        if held:
            at = t + 223_000_000
            add(
                "a2b",
                "data",
                at,
                rel_seq=sent[0][1],
                len=MSS,
                transmission="retransmission",
                trigger="rto",
                spurious=True,
                spurious_evidence="timestamp",
                copy=1,
                flight_bytes=seq - acked,
                peer_window_bytes=window,
            )
            base["rto_ns"] = 446_000_000
        hole = min((sent[i][1] for i in lost), default=None)
        for i, (at, start) in enumerate(sent):
            if i in lost or (i % 2 == 0 and not lost):
                continue
            got = arrive + i * 60_000 + int(rng.integers(0, 3_000_000)) * (not held)
            if hole is not None and start > hole:
                add(
                    "b2a",
                    "dupack",
                    got,
                    rel_ack=hole,
                    len=0,
                    dupacks=1,
                    peer_window_bytes=window,
                    flight_bytes=seq - hole,
                    sack=[(hole + MSS, start + MSS)],
                )
            else:
                acked = start + MSS
                add(
                    "b2a",
                    "ack",
                    got,
                    rel_ack=acked,
                    len=0,
                    rtt_ns=got - at,
                    flight_bytes=seq - acked,
                    peer_window_bytes=0 if burst % 160 == 100 and i == size - 1 else window,
                )
        t = arrive + 5_000_000
        if held:
            base["rto_ns"] = 223_000_000
            for i in range(1, 4):
                add(
                    "a2b",
                    "data",
                    t + i * 60_000,
                    rel_seq=sent[i][1],
                    len=MSS,
                    transmission="retransmission",
                    trigger="go_back_n",
                    spurious=True,
                    copy=1,
                    flight_bytes=MSS,
                    peer_window_bytes=window,
                )
            t += 10_000_000
        for n, i in enumerate(sorted(lost)):
            add(
                "a2b",
                "data",
                t + n * 2_000_000,
                rel_seq=sent[i][1],
                len=MSS,
                transmission="retransmission",
                trigger="fast" if n == 0 else "sack",
                spurious=False if n == 0 else None,
                copy=1,
                flight_bytes=seq - acked,
                peer_window_bytes=window,
            )
        if lost:
            t += RTT_NS
            acked = seq
            add("b2a", "ack", t, rel_ack=acked, len=0, flight_bytes=0, peer_window_bytes=window)
            t += 1_000_000
    add("a2b", "fin", t, rel_seq=seq, len=0)
    add("b2a", "ack", t + RTT_NS, rel_ack=seq + 1, len=0, peer_window_bytes=window)
    rows.sort(key=lambda r: r["t_ns"])
    for i, row in enumerate(rows):
        row["packet"] = first_packet + i
    return rows


def table(name: str, rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Rows as a table of the schema, all of one capture."""
    known = set(tables.schema(name).names)
    return rows_of(name, [{"capture": NAME, **{k: v for k, v in row.items() if k in known}} for row in rows])


def sack_packets(segments: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of `packets` of segments with SACK blocks."""
    return [
        {
            "packet": r["packet"],
            "flow": r["flow"],
            "direction": r["direction"],
            "t_ns": r["t_ns"],
            "tcp_ack": _wire(r["rel_ack"]),
            "tcp_sack": [{"left": _wire(a), "right": _wire(b)} for a, b in r["sack"]],
        }
        for r in segments
        if r.get("sack")
    ]


def _wire(relative: int) -> int:
    """The number on the wire, for a connection whose sequence numbers soon wrap."""
    return (relative + 4_294_000_000) % 2**32


def intervals(segments: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A ledger without gaps: pauses above 100 ms are rto_wait, the rest is path."""
    times = [r["t_ns"] for r in segments]
    out: list[dict[str, Any]] = []

    def put(category: str, start: int, end: int) -> None:
        if end > start:
            out.append(
                {
                    "flow": segments[0]["flow"],
                    "direction": "a2b",
                    "category": category,
                    "t_start_ns": start,
                    "t_end_ns": end,
                }
            )

    put("handshake", times[0], times[2])
    since = times[2]
    for a, b in pairwise(times[2:]):
        if b - a > 100_000_000:
            put("path", since, a)
            put("rto_wait", a, b)
            since = b
    put("path", since, times[-1])
    return out


def finding(segments: Sequence[dict[str, Any]], index: int, code: str, cost_s: float, **more: Any) -> Finding:
    """A finding about the rows around one row."""
    around = segments[index : index + 6]
    packets = tuple(r["packet"] for r in around)
    defaults: dict[str, Any] = {
        "subject": "10.0.0.1:40000 > 10.0.0.2:5001",
        "severity": "serious" if cost_s > 0.2 else "warning",
        "confidence": 0.95,
        "sentence": f"The timer fired {cost_s:.3g} s after the last segment although nothing had been lost.",
        "display_filter": frame_filter(packets),
        "capture": NAME,
    }
    return Finding(
        code=code,
        t_start_ns=around[0]["t_ns"],
        t_end_ns=around[-1]["t_ns"],
        cost_s=cost_s,
        evidence=(("segments", NAME, packets),),
        flow=segments[0]["flow"],
        direction="a2b",
        **(defaults | more),
    )


def make(packets: int = 3000, flows: int = 1, **hostile: Any) -> Made:
    """An analysis with about `packets` rows per flow. `hostile`: replaces name, note, subject, sentence or filter."""
    rng = np.random.default_rng(7)
    every: list[dict[str, Any]] = []
    ledger: list[dict[str, Any]] = []
    findings: list[Finding] = []
    for flow in range(flows):
        rows = rows_of_flow(flow, packets // (1 + flow), len(every) + 1, flow * 300_000_000, rng)
        every += rows
        ledger += intervals(rows)
        found = [i for i, r in enumerate(rows) if r.get("trigger") in ("rto", "fast")]
        for i in found[:12]:
            rto = rows[i]["trigger"] == "rto"
            findings.append(
                finding(
                    rows,
                    max(0, i - 2),
                    "spurious_timeout" if rto else "missing_fast_retransmit",
                    0.45 if rto else 0.024,
                )
            )
    if hostile:
        findings[0] = finding(
            every,
            5,
            "spurious_timeout",
            9.0,
            **{k: v for k, v in hostile.items() if k in ("subject", "sentence", "display_filter")},
        )
    findings.sort(key=lambda f: -f.cost_s)
    endpoints = {f: ("10.0.0.1", 40000 + f, "10.0.0.2", 5001) for f in range(flows)}
    held = {
        "segments": table("segments", every),
        "packets": table("packets", sack_packets(every)),
        "ledger": table("ledger", ledger),
        "quality": table(
            "quality", [{"format": "pcap", "point": "sender", "records": len(every), "tcp_segments": len(every)}]
        ),
    }
    name = hostile.get("name", NAME)
    note = {
        "name": "file_truncated",
        "severity": "loss",
        "count": 1,
        "first_packet": len(every),
        "first_offset": 123456,
        "sentence": hostile.get("note", "The file ends inside a record; what came before was kept."),
    }
    capture = Capture.described(
        {"name": name, "path": name, "point": "sender", "format": "pcap", "records": len(every), "notes": [note]}
    )
    duration = max(r["t_ns"] for r in every)
    trace = Trace([capture], held, start_ns=START_NS, duration_ns=duration, endpoints=endpoints)
    states = [
        DetectorState("spurious_timeout", "An RTO that nothing lost had caused.", "found", "", len(findings)),
        DetectorState("missing_fast_retransmit", "Duplicate ACKs without a fast retransmit.", "found", "", 3),
        DetectorState("tail_loss", "The end of a transfer lost.", "fine"),
        DetectorState("window_limited", "Flight pinned at the window.", "fine"),
        DetectorState(
            "ack_holding", "ACKs kept and let go in a burst.", "undecided", "3 bursts without timestamps.", 0, 3
        ),
        DetectorState("usb_bottleneck", "The bus limits.", "not_run", "needs urbs"),
        DetectorState("overbuffering", "A standing queue.", "failed", "ZeroDivisionError: division by zero"),
    ]
    return Made(trace, findings, held["ledger"], states)


def many(packets: int) -> Made:
    """An analysis of one long flow: 20 000 rows, repeated with increasing time, packet and sequence numbers."""
    made = make(20_000)
    segments, ledger = made.trace.table("segments"), made.ledger
    times = -(-packets // segments.num_rows)
    lasted, data = made.trace.duration_ns + 1_000_000, pc.max(segments["rel_seq"]).as_py()

    def moved(table: pa.Table, by: dict[str, int]) -> pa.Table:
        parts = []
        for i in range(times):
            part = table
            for name, step in by.items():
                at = part.schema.get_field_index(name)
                shifted = pc.add(part[name], pa.scalar(i * step, part[name].type)).cast(part[name].type)
                part = part.set_column(at, part.schema.field(name), shifted)
            parts.append(part)
        return pa.concat_tables(parts)

    held = {
        "segments": moved(segments, {"t_ns": lasted, "packet": segments.num_rows, "rel_seq": data, "rel_ack": data}),
        "ledger": moved(ledger, {"t_start_ns": lasted, "t_end_ns": lasted}),
        "quality": made.trace.table("quality"),
    }
    trace = Trace(
        made.trace.captures,
        held,
        start_ns=START_NS,
        duration_ns=times * lasted,
        endpoints={0: ("10.0.0.1", 40000, "10.0.0.2", 5001)},
    )
    return Made(trace, made.findings, held["ledger"], made.states)


def nothing() -> Made:
    """An analysis of a capture without a TCP connection."""
    capture = Capture.described(
        {"name": NAME, "path": NAME, "point": "unknown", "format": "pcap", "records": 0, "notes": []}
    )
    held = {name: tables.empty(name) for name in ("segments", "packets", "ledger", "quality")}
    return Made(Trace([capture], held, start_ns=START_NS, duration_ns=0), [], held["ledger"], [])
