"""Two hosts joined by a LAN, a router and a line: what disturbs TCP alone, without a radio between."""

from __future__ import annotations

from typing import Any

from wlanlens.simulation.config import Flow, Node, Wire, World

#: The line's rate and delay each way where a scenario does not say otherwise: those of the kernel's captures.
RATE_BPS, DELAY_S = 5e6, 0.01


def line(*flows: Flow, sender: Node | None = None, receiver: Node | None = None, **wire: Any) -> World:
    """A sender behind a router, whose queue is behind the sender's tap, and a receiver; `wire`: fields of the line."""
    lan = Wire(0, 2, rate_bps=100e6, delay_s=0.0001)
    slow = Wire(2, 1, **{"rate_bps": RATE_BPS, "delay_s": DELAY_S, **wire})
    nodes = (sender or Node("sender"), receiver or Node("receiver"), Node("router"))
    return World(nodes=nodes, wires=(lan, slow), flows=flows)
