"""The retransmission timer of the idle-time study's sender."""

from __future__ import annotations

from wlanlens.models.rto import Rto


def linux22_timer(srtt_ms: float, mdev_ms: float, cwnd: int, backoff: int, least_s: float = 0.2) -> Rto:
    """Linux 2.2's timer (equation 1) with estimates in ms."""
    return Rto(
        flavour="linux22",
        srtt_s=srtt_ms / 1e3,
        deviation_s=mdev_ms / 1e3,
        cwnd_segments=cwnd,
        backoff=backoff,
        least_s=least_s,
    )
