"""Two hosts connected by a LAN, a router and a wired link: TCP without a radio."""

from __future__ import annotations

from typing import Any

from wlanlens.simulation.config import Flow, Node, Wire, World

#: Default rate and one-way delay of the link: those of the kernel captures.
RATE_BPS, DELAY_S = 5e6, 0.01


def line(*flows: Flow, sender: Node | None = None, receiver: Node | None = None, **wire: Any) -> World:
    """A sender, a router whose queue is after the sender's tap, and a receiver; `wire`: fields of the link."""
    lan = Wire(0, 2, rate_bps=100e6, delay_s=0.0001)
    slow = Wire(2, 1, **{"rate_bps": RATE_BPS, "delay_s": DELAY_S, **wire})
    nodes = (sender or Node("sender"), receiver or Node("receiver"), Node("router"))
    return World(nodes=nodes, wires=(lan, slow), flows=flows)
