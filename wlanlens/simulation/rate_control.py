"""Rate control of a station, as the simulator reads it."""

from __future__ import annotations

from typing import Any

#: 802.11b rates, Mb/s, from the lowest.
DSSS_MBPS = (1.0, 2.0, 5.5, 11.0)


def fixed(rate_mbps: float) -> dict[str, Any]:
    """Rate control: always this rate."""
    return {"kind": "fixed", "rate_mbps": rate_mbps}


def automatic(kind: str, rates_mbps: tuple[float, ...] = DSSS_MBPS) -> dict[str, Any]:
    """Rate control: "arf", "aarf" or "minstrel"."""
    return {"kind": kind, "rates_mbps": list(rates_mbps)}


def multiplicative(ladder: tuple[tuple[float, int], ...], low_mbps: float, up_after: int) -> dict[str, Any]:
    """The defective rate control of early Prism firmware: `ladder` are rates and attempts at each after a raise."""
    return {
        "kind": "multiplicative",
        "ladder": [list(step) for step in ladder],
        "low_mbps": low_mbps,
        "up_after": up_after,
    }
