"""Two hosts on a line: what disturbs TCP alone, without a radio between."""

from __future__ import annotations

from typing import Any

from wlanlens.world import Flow, Node, Wire, World

#: The line's rate and delay each way where a scenario does not say otherwise: those of the kernel's captures.
RATE_BPS, DELAY_S = 5e6, 0.01


def line(*flows: Flow, sender: Node | None = None, receiver: Node | None = None, **wire: Any) -> World:
    """A sender and a receiver joined by one line; `wire`: its fields."""
    values = {"rate_bps": RATE_BPS, "delay_s": DELAY_S, **wire}
    return World(
        nodes=(sender or Node("sender"), receiver or Node("receiver")), wires=(Wire(0, 1, **values),), flows=flows
    )
