"""Hand-made facts of one connection, 10.0.0.1:40000 > 10.0.0.2:5001, for tests of detectors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.rows import table
from wlanlens.detection.finding import Finding, Undecided
from wlanlens.registry import units
from wlanlens.trace import Trace

MS = 1_000_000
S = 1_000_000_000
MSS = 1448

#: The connection lasts 10 s; tapped beside the sender, timestamps and SACK agreed.
A = {"ip_src": "10.0.0.1", "ip_dst": "10.0.0.2", "src_port": 40000, "dst_port": 5001, "tap": "near_sender"}
B = {"ip_src": "10.0.0.2", "ip_dst": "10.0.0.1", "src_port": 5001, "dst_port": 40000, "tap": "near_receiver"}
BOTH = {
    "t_start_ns": 0, "t_end_ns": 10 * S, "packets": 1000, "sack_agreed": True, "timestamps_agreed": True,
    "handshake_rtt_ns": 20 * MS, "throughput_bps": 1e6, "sack_packets": 1, "tap_rtt_mean_ns": 40.0 * MS, "flight_max_bytes": 10 * MSS,
}  # fmt: skip


def flows(**changes: Any) -> list[dict[str, Any]]:
    """Both directions; `changes` apply to the data's."""
    a = {**BOTH, **A, "direction": "a2b", "payload_bytes": 1_000_000, "peer_window_max_bytes": 65535, **changes}
    return [a, {**BOTH, **B, "direction": "b2a"}]


def trace(flow_rows: list[dict[str, Any]] | None = None, **tables: Iterable[dict[str, Any]]) -> Trace:
    """A trace of these rows; tables that are not named are empty."""
    held = {
        name: table(name, list(tables.get(name, ()))) for name in ("segments", "timeouts", "recoveries", "intervals")
    }
    held["flows"] = table("flows", flow_rows if flow_rows is not None else flows())
    return Trace.of_tables(held, duration_ns=10 * S)


def run(code: str, made: Trace, **thresholds: Any) -> tuple[list[Finding], list[Undecided]]:
    """What a detector finds, and what it leaves open."""
    out = list(units("detectors")[code](made, **thresholds))
    return [x for x in out if isinstance(x, Finding)], [x for x in out if isinstance(x, Undecided)]


def data(packet: int, t_ms: float, seq: int, length: int = MSS, **more: Any) -> dict[str, Any]:
    """A segment of the sender's."""
    row = {"packet": packet, "t_ns": int(t_ms * MS), "kind": "data", "rel_seq": seq, "rel_ack": 1, "len": length}
    return {**row, "transmission": "first", **more}


def again(packet: int, t_ms: float, seq: int, **more: Any) -> dict[str, Any]:
    """A retransmission."""
    return data(packet, t_ms, seq, **{"transmission": "retransmission", "trigger": "go_back_n", **more})


def ack(packet: int, t_ms: float, number: int, **more: Any) -> dict[str, Any]:
    """A pure ACK of the receiver's; its timestamp ticks in ms and is that of the moment, unless told."""
    row = {"packet": packet, "t_ns": int(t_ms * MS), "direction": "b2a", "kind": "ack", "rel_seq": 1, "rel_ack": number}
    return {**row, "transmission": "first", "tsval": 5000 + int(t_ms), "flight_bytes": 10 * MSS, **more}


def timeout(packet: int, t_ms: float, **more: Any) -> dict[str, Any]:
    """A timer expiry after 200 ms of silence, answered after 20 ms."""
    row = {"packet": packet, "t_ns": int(t_ms * MS), "rel_seq": 1449, "len": MSS, "kind": "genuine"}
    row |= {"fresh_rto_ns": 200 * MS, "rto_ns": 200 * MS, "waited_ns": 200 * MS, "flight_bytes": 10 * MSS}
    row |= {
        "silent_from_ns": int((t_ms - 200) * MS),
        "progress_ns": int((t_ms + 20) * MS),
        "progress_packet": packet + 1,
    }
    return {**row, **more}


def interval(state: str, start_ms: float, end_ms: float, **more: Any) -> dict[str, Any]:
    """A stretch of the data direction's life."""
    row = {"state": state, "t_start_ns": int(start_ms * MS), "t_end_ns": int(end_ms * MS), "first_packet": 1}
    return {**row, "last_packet": 2, "rtt_ns": 20 * MS, "rtt_min_ns": 20 * MS, **more}
