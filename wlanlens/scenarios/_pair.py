"""Two stations in ad hoc mode: the setup of the USB study and the idle-time study."""

from __future__ import annotations

from typing import Any

from wlanlens.simulation.config import Cell, Flow, Node, RadioPath, Station, World


def pair(stations: tuple[Station, Station], *flows: Flow, both: dict[str, Any] | None = None, **cell: Any) -> World:
    """A sender and a receiver alone on a channel. `both`: errors of both radio paths; `cell`: further fields of the cell."""
    paths = (RadioPath(0, 1, **both), RadioPath(1, 0, **both)) if both else ()
    return World(
        nodes=(Node("sender"), Node("receiver")),
        cell=Cell(stations, ad_hoc=True, beacons=False, **{"paths": paths, **cell}),
        flows=flows,
    )


def alike(**settings: Any) -> tuple[Station, Station]:
    """Two stations with the same settings, of nodes 0 and 1."""
    return Station(node=0, **settings), Station(node=1, **settings)
