"""Rate control of a station, in the simulator's format."""

from __future__ import annotations

from typing import Any

#: 802.11b rates, Mb/s, from the lowest.
DSSS_MBPS = (1.0, 2.0, 5.5, 11.0)


def fixed(rate_mbps: float) -> dict[str, Any]:
    """Rate control: a constant rate."""
    return {"kind": "fixed", "rate_mbps": rate_mbps}


def automatic(kind: str, rates_mbps: tuple[float, ...] = DSSS_MBPS) -> dict[str, Any]:
    """Rate control: "arf", "aarf" or "minstrel"."""
    return {"kind": kind, "rates_mbps": list(rates_mbps)}


def multiplicative(ladder: tuple[tuple[float, int], ...], low_mbps: float, up_after: int) -> dict[str, Any]:
    """The defective rate control of early Prism firmware; `ladder`: (rate, transmissions) tried after an increase."""
    return {
        "kind": "multiplicative",
        "ladder": [list(step) for step in ladder],
        "low_mbps": low_mbps,
        "up_after": up_after,
    }
