"""Queue disciplines of a node or a wired link, in the simulator's format."""

from __future__ import annotations

from typing import Any


def tail_drop() -> dict[str, Any]:
    """Queue discipline: drop packets that arrive at a full queue."""
    return {"kind": "tail_drop"}


def red(
    min_packets: float = 0.0,
    max_packets: float = 0.0,
    *,
    weight: float = 0.0,
    most_share: float = 0.1,
    gentle: bool = True,
    wait: bool = True,
    mean_packet_bytes: int = 500,
) -> dict[str, Any]:
    """Queue discipline: random early detection (Floyd and Jacobson 1993); 0 for ns-2's automatic values."""
    return {
        "kind": "red",
        "min_packets": min_packets,
        "max_packets": max_packets,
        "weight": weight,
        "most_share": most_share,
        "gentle": gentle,
        "wait": wait,
        "mean_packet_bytes": mean_packet_bytes,
    }


def dual_threshold(soft_packets: int, again_packets: int = 0) -> dict[str, Any]:
    """Queue discipline: drop one packet when the queue reaches the soft limit, and all at the hard limit."""
    return {"kind": "dual_threshold", "soft_packets": soft_packets, "again_packets": again_packets}
