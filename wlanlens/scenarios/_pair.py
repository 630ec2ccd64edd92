"""Two stations in ad hoc mode and what flows between them: the setup of the USB and the idle-time study."""

from __future__ import annotations

from typing import Any

from wlanlens.simulation.config import Cell, Flow, Node, RadioPath, Station, World


def pair(stations: tuple[Station, Station], *flows: Flow, both: dict[str, Any] | None = None, **cell: Any) -> World:
    """A sender and a receiver alone on a channel. `both`: what disturbs the ways between them, alike; `cell`: more of it."""
    paths = (RadioPath(0, 1, **both), RadioPath(1, 0, **both)) if both else ()
    return World(
        nodes=(Node("sender"), Node("receiver")),
        cell=Cell(stations, ad_hoc=True, beacons=False, **{"paths": paths, **cell}),
        flows=flows,
    )


def alike(**settings: Any) -> tuple[Station, Station]:
    """Two stations, of the nodes 0 and 1, set alike."""
    return Station(node=0, **settings), Station(node=1, **settings)
