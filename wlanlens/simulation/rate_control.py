"""Rate control of a station, in the simulator's format."""

from __future__ import annotations

from typing import Any

#: 802.11b rates, Mb/s, from the lowest.
DSSS_MBPS = (1.0, 2.0, 5.5, 11.0)

#: 802.11b and 802.11g rates, Mb/s (IEEE 802.11-2020 clauses 15, 16 and 18): a PLCP header can signal no other.
RATES_MBPS = (1.0, 2.0, 5.5, 6.0, 9.0, 11.0, 12.0, 18.0, 24.0, 36.0, 48.0, 54.0)


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
